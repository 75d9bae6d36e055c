// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// Makes the decisions of a handshake.
protocol TLSSessionDelegate: AnyObject {
    /// The peer showed its certificates.
    ///
    /// - Parameter chainError: the reason why OpenSSL does not trust the chain; `nil` if OpenSSL trusts it.
    /// - Returns: whether to continue; `nil` to decide later. After the decision, call ``TLSSession/decideTrust(_:)``
    ///   and ``TLSSession/handshake()``.
    func session(_ session: TLSSession, didReceive chain: [[UInt8]], _ chainError: ChainError?) -> Bool?
    /// The peer needs this side's certificate. A client may have none.
    ///
    /// - Parameter issuers: the issuers that the peer accepts, as names in DER; empty if it accepts any.
    /// - Returns: the choice; `nil` to decide later. After the decision, call ``TLSSession/handshake()``.
    func session(_ session: TLSSession, identityFor issuers: [[UInt8]]) -> ClientIdentityChoice?
}

enum ClientIdentityChoice {
    case none
    case show(LoadedIdentity)
}

/// The reason why a chain was not verified: `X509_verify_cert(3)`.
struct ChainError: Hashable, Sendable {
    let code: CInt
    /// The depth of the certificate at fault; 0 is the leaf.
    let depth: Int

    var phrase: String { unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) } ?? "error \(code)" }
}

/// One side of a TLS connection. It reads and writes records through its transport, and never waits. Use it
/// on its event loop only.
///
/// OpenSSL calls back inside ``handshake()``, ``read(into:)`` and ``write(_:)``, with an unretained pointer to this
/// object. This object owns the `SSL`, and outlives it.
@safe
final class TLSSession {
    enum HandshakeProgress {
        case done
        case wantsRead, wantsWrite
        /// The delegate decides later.
        case awaitsDelegate
        case failed(SocketError)
    }

    enum ReadResult {
        case bytes(Int)
        case wantsRead, wantsWrite
        /// The session has read ``iterationLimit`` bytes from the transport, and there can be more. Read again later on
        /// the event loop.
        case paused
        /// The peer has ended TLS (close_notify).
        case end
        case failed(SocketError)
    }

    enum Role {
        /// - Parameters:
        ///   - serverName: the server chooses its certificate by this name (RFC 6066 §3).
        ///   - ticket: a ticket of an earlier session with the same server.
        case client(serverName: String?, ticket: TLSTicket?)
        case server
    }

    private let ssl: OpaquePointer
    private let context: TLSContext
    private let recordTransport: any TLSRecordTransport
    private weak var delegate: (any TLSSessionDelegate)?
    /// The error of the transport.
    private var transportFailure: SocketError?
    private var transportHasEnded = false
    /// Whether the last read returned all bytes of the transport.
    private var transportIsDrained = false
    private var trustDecision: Bool?
    private var hasShownIdentity = false
    /// Whether the server has requested a client certificate, and the client has sent none.
    private var lacksIdentity = false
    /// Whether an operation has failed, so that close_notify must not be sent.
    private var isBroken = false
    /// The number of bytes received from the transport since ``beginIteration()``.
    private var bytesInIteration = 0
    private var hasReachedIterationLimit = false
    /// The number of all bytes received from the transport.
    private var receivedByteCount = 0
    /// The number of decrypted bytes of data that were read.
    private var dataByteCount = 0
    private var ticketCount = 0
    private var isFlooded = false
    private var hasSentCloseNotify = false

    /// Tickets that arrived before the server was trusted.
    private var earlyTickets: [CachedTLSSession] = []
    /// The server for which tickets are stored, and its evaluation. `nil` until the server is trusted.
    private var ticketTarget: (peer: TLSPeer, evaluation: ServerTrustEvaluation)?
    private var storesTickets = true

    /// - Throws: ``LoadError/Code/noResources``
    init(
        _ context: TLSContext, over recordTransport: any TLSRecordTransport, as role: Role, delegate: any TLSSessionDelegate
    ) throws(LoadError) {
        guard let ssl = unsafe SSL_new(context.context), let bio = unsafe BIO_new(Self.method) else {
            throw LoadError(.noResources, message: "OpenSSL can't make a session: \(TLSError.takeFromQueue()?.phrase ?? "no reason given")")
        }
        unsafe self.ssl = ssl
        self.context = context
        self.recordTransport = recordTransport
        self.delegate = delegate
        let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe BIO_set_data(bio, pointer)
        unsafe BIO_set_init(bio, 1)
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe SSL_set_ex_data(ssl, 0, pointer)
        switch role {
        case .client(let serverName, let ticket):
            unsafe SSL_set_connect_state(ssl)
            if let serverName { unsafe portolan_SSL_set_server_name(ssl, serverName) }
            // OpenSSL takes a reference.
            if let copy = ticket?.session.copy() { unsafe SSL_set_session(ssl, copy.session) }
        case .server: unsafe SSL_set_accept_state(ssl)
        }
        ERR_clear_error()
    }

    deinit { unsafe SSL_free(ssl) }

    // MARK: The handshake

    /// Continues the handshake. Reads up to about ``iterationLimit`` bytes from the transport.
    func handshake() -> HandshakeProgress {
        beginIteration()
        ERR_clear_error()
        let status = unsafe SSL_do_handshake(ssl)
        if status == 1 { return .done }
        switch unsafe SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_WANT_X509_LOOKUP, SSL_ERROR_WANT_RETRY_VERIFY: return .awaitsDelegate
        default: return .failed(fail())
        }
    }

    var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// The protocol that ALPN chose.
    var negotiatedProtocol: String? {
        var (name, count): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name = unsafe name, count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The version, written as by IANA and OpenSSL: `TLSv1.3`.
    var version: String? { unsafe SSL_get_version(ssl).map { unsafe String(cString: $0) } }

    // MARK: Limits

    /// The maximum number of bytes to read from the transport before other work runs on the event loop. Without a
    /// limit, a peer could block the event loop with messages without data.
    static let iterationLimit = 256 << 10
    /// How many bytes other than data a peer can send: a fixed number, and a number for each byte of data. A record
    /// with one byte of data has up to 85 bytes in TLS 1.2.
    static let (allowedOverhead, allowedOverheadPerByte) = (1 << 20, 256)
    /// How many tickets a peer can send: this number, and one for each KiB of data. Each ticket costs processor time.
    static let maximumTicketCount = 64

    /// Resets the count for ``iterationLimit``. Call it once in each event-loop iteration.
    func beginIteration() {
        bytesInIteration = 0
        recordTransport.beginIteration()
    }

    private func countReceived(_ count: Int) {
        bytesInIteration += count
        receivedByteCount += count
        if receivedByteCount > Self.allowedOverhead + dataByteCount * Self.allowedOverheadPerByte { isFlooded = true }
    }

    // MARK: Tickets

    /// Stores the tickets of this session for the next connection to `peer`.
    func storeTickets(for peer: TLSPeer, _ evaluation: ServerTrustEvaluation) {
        ticketTarget = (peer, evaluation)
        for session in earlyTickets { context.tickets.add(TLSTicket(session: session, evaluation: evaluation), for: peer) }
        earlyTickets = []
    }

    /// Stores no tickets of this session.
    func dropTickets() {
        storesTickets = false
        earlyTickets = []
    }

    private func didReceive(ticket: OpaquePointer) {
        ticketCount += 1
        if ticketCount > Self.maximumTicketCount + dataByteCount >> 10 { isFlooded = true }
        guard !isFlooded else { return }
        guard storesTickets, earlyTickets.count < 4, let session = unsafe CachedTLSSession(copying: ticket) else { return }
        if let (peer, evaluation) = ticketTarget {
            context.tickets.add(TLSTicket(session: session, evaluation: evaluation), for: peer)
        } else {
            earlyTickets.append(session)
        }
    }

    // MARK: Bytes

    /// - Parameter target: memory for at least one byte.
    func read(into target: UnsafeMutableRawBufferPointer) -> ReadResult {
        ERR_clear_error()
        hasReachedIterationLimit = false
        var count = 0
        let status = unsafe SSL_read_ex(ssl, target.baseAddress, target.count, &count)
        if isFlooded { return .failed(fail()) }
        if status == 1 {
            dataByteCount += count
            return .bytes(count)
        }
        switch unsafe SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ: return hasReachedIterationLimit ? .paused : .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .end
        default: return .failed(fail())
        }
    }

    /// Whether OpenSSL buffers received bytes that ``read(into:)`` has not returned. They can be a part of a record.
    var hasPending: Bool { unsafe SSL_has_pending(ssl) == 1 }

    /// Whether another ``read(into:)`` would return nothing: OpenSSL buffers no bytes, and the transport had fewer
    /// bytes than requested. The poller reports later bytes.
    var isDrained: Bool { transportIsDrained && !hasPending }
    var isDrainedByShortRead: Bool { isDrained }

    /// Encrypts and sends bytes. If the result is smaller than the number of bytes, the next call must begin with the
    /// remaining bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> TransferResult {
        ERR_clear_error()
        var count = 0
        let status = unsafe SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
        if status == 1 { return .moved(count) }
        switch unsafe SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
        default: return .failed(fail())
        }
    }

    /// Ends TLS in this side's direction (close_notify). Bytes from the peer can still be read.
    ///
    /// - Returns: `false` if the transport is full. Then call this method again when the transport is writable.
    @discardableResult func shutDown() -> Bool {
        guard !isBroken, !hasSentCloseNotify, unsafe SSL_is_init_finished(ssl) == 1 else { return true }
        ERR_clear_error()
        defer { ERR_clear_error() }
        let status = unsafe SSL_shutdown(ssl)
        // OpenSSL sets SSL_SENT_SHUTDOWN although the transport accepted nothing.
        hasSentCloseNotify = unsafe status >= 0 || SSL_get_error(ssl, status) != SSL_ERROR_WANT_WRITE
        return hasSentCloseNotify
    }

    /// Marks the session as broken, and returns the reason.
    private func fail() -> SocketError {
        isBroken = true
        if isFlooded { return failRemovingTickets(.flooded) }
        var error = TLSError.takeFromQueue()
        error?.lacksClientCertificate = lacksIdentity
        if let error, error.isAlert { return failWithAlert(error) }
        if let transportFailure { return transportFailure }
        if transportHasEnded, error?.isUnexpectedEnd ?? true { return .closedWithoutNotice }
        return error.map { failWithAlert($0) } ?? .closedWithoutNotice
    }

    /// Removes the tickets, because a session that ends with a fatal alert, from either side, is not resumed (RFC 5246
    /// §7.2.2).
    private func failWithAlert(_ error: TLSError) -> SocketError {
        failRemovingTickets(.tls(error))
    }

    private func failRemovingTickets(_ error: SocketError) -> SocketError {
        dropTickets()
        if let peer = ticketTarget?.peer { context.tickets.removeAll(for: peer) }
        return error
    }
}

// The TLS session with a proxy transports the records of the TLS session with the origin.
extension TLSSession: TLSRecordTransport {
    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult {
        switch unsafe read(into: target) {
        case .bytes(let count): .moved(count)
        case .wantsRead, .wantsWrite, .paused: .wouldBlock
        case .end: .end
        case .failed(let error): .failed(error)
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult { unsafe write(bytes) }
}

// MARK: From OpenSSL

extension TLSSession {
    /// Returns the object to which the user data of an `SSL` or a `BIO` points.
    private static func session(_ pointer: UnsafeMutableRawPointer?) -> TLSSession? {
        unsafe pointer.map { unsafe Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Sets OpenSSL's callbacks. Each one finds its session through the user data, and calls one method.
    static func setCallbacks(of context: OpaquePointer) {
        unsafe SSL_CTX_set_cert_verify_callback(
            context,
            { store, _ in
                let ssl = unsafe store.flatMap { unsafe X509_STORE_CTX_get_ex_data($0, SSL_get_ex_data_X509_STORE_CTX_idx()) }
                guard let ssl = unsafe ssl.map({ OpaquePointer($0) }), let store = unsafe store else { return 0 }
                return unsafe TLSSession.session(SSL_get_ex_data(ssl, 0))?.verify(store) ?? 0
            }, nil)
        unsafe SSL_CTX_set_cert_cb(
            context,
            { ssl, _ in
                guard let ssl = unsafe ssl else { return 0 }
                return unsafe TLSSession.session(SSL_get_ex_data(ssl, 0))?.chooseIdentity() ?? 0
            }, nil)
        unsafe SSL_CTX_sess_set_new_cb(context) { ssl, ticket in
            guard let ssl = unsafe ssl, let ticket = unsafe ticket else { return 0 }
            unsafe TLSSession.session(SSL_get_ex_data(ssl, 0))?.didReceive(ticket: ticket)
            // OpenSSL keeps the reference: SSL_CTX_sess_set_new_cb(3).
            return 0
        }
    }

    /// Decides about the peer's chain, or asks OpenSSL to call again later (`SSL_set_retry_verify`).
    ///
    /// - Returns: 1 to continue or to be called again; 0 to fail. See SSL_CTX_set_cert_verify_callback(3).
    private func verify(_ store: OpaquePointer) -> CInt {
        guard let trustDecision = unsafe trustDecision ?? evaluate(store) else {
            return unsafe portolan_SSL_set_retry_verify(ssl) == 1 ? 1 : 0
        }
        self.trustDecision = trustDecision
        if trustDecision {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
        } else if unsafe X509_STORE_CTX_get_error(store) == X509_V_OK {
            unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
        }
        return trustDecision ? 1 : 0
    }

    private func evaluate(_ store: OpaquePointer) -> Bool? {
        let isVerified = unsafe X509_verify_cert(store) == 1
        let chainError =
            unsafe isVerified
            ? nil : ChainError(code: X509_STORE_CTX_get_error(store), depth: Int(X509_STORE_CTX_get_error_depth(store)))
        ERR_clear_error()
        var chain: [[UInt8]] = []
        if let certificates = unsafe X509_STORE_CTX_get0_untrusted(store) {
            for index in 0..<(unsafe portolan_X509_count(certificates)) {
                if let next = unsafe portolan_X509_at(certificates, index) { chain.append(unsafe Certificate(sharing: next).der) }
            }
        }
        return delegate?.session(self, didReceive: chain, chainError) ?? (delegate == nil ? false : nil)
    }

    /// Sets the delegate's decision about the chain.
    func decideTrust(_ isTrusted: Bool) { trustDecision = isTrusted }

    /// - Returns: 1 to continue; 0 to fail; -1 to decide later.
    private func chooseIdentity() -> CInt {
        guard !hasShownIdentity else { return 1 }
        guard let choice = delegate?.session(self, identityFor: acceptedIssuers) else { return delegate == nil ? 0 : -1 }
        hasShownIdentity = true
        guard case .show(let identity) = choice, let leaf = identity.chain.first else {
            lacksIdentity = true
            return 1
        }
        unsafe SSL_use_certificate(ssl, leaf.x509)
        unsafe SSL_use_PrivateKey(ssl, identity.key.key)
        for next in identity.chain.dropFirst() { unsafe portolan_SSL_add1_chain_cert(ssl, next.x509) }
        ERR_clear_error()
        return 1
    }

    /// The names that the server sent with its request for a certificate.
    private var acceptedIssuers: [[UInt8]] {
        guard let names = unsafe SSL_get0_peer_CA_list(ssl) else { return [] }
        return (0..<(unsafe portolan_X509_NAME_count(names))).compactMap { index in
            unsafe portolan_X509_NAME_at(names, index).map { name in unsafe DER.bytes { unsafe i2d_X509_NAME(name, &$0) } }
        }
    }

    // MARK: The transport as a BIO

    nonisolated(unsafe) private static let method: OpaquePointer? = {  // … because it is made once and never changed
        guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "portolan") else { return nil }
        unsafe BIO_meth_set_read(method) { bio, target, count in
            guard let bio = unsafe bio, let session = unsafe TLSSession.session(BIO_get_data(bio)) else { return -1 }
            return unsafe session.read(for: bio, UnsafeMutableRawBufferPointer(start: target, count: Int(max(0, count))))
        }
        unsafe BIO_meth_set_write(method) { bio, bytes, count in
            guard let bio = unsafe bio, let session = unsafe TLSSession.session(BIO_get_data(bio)) else { return -1 }
            return unsafe session.write(for: bio, UnsafeRawBufferPointer(start: bytes, count: Int(max(0, count))))
        }
        unsafe BIO_meth_set_ctrl(method) { bio, command, _, _ in
            switch command {
            case BIO_CTRL_FLUSH: 1
            case BIO_CTRL_EOF: unsafe bio.flatMap { unsafe TLSSession.session(BIO_get_data($0)) }?.transportHasEnded == true ? 1 : 0
            default: 0
            }
        }
        return unsafe method
    }()

    private func read(for bio: OpaquePointer, _ target: UnsafeMutableRawBufferPointer) -> CInt {
        unsafe portolan_BIO_clear_retry(bio)
        guard unsafe !target.isEmpty else { return 0 }
        transportIsDrained = false
        guard !isFlooded else { return -1 }
        guard bytesInIteration < Self.iterationLimit else {
            hasReachedIterationLimit = true
            unsafe portolan_BIO_set_retry_read(bio)
            return -1
        }
        switch unsafe recordTransport.receive(target) {
        case .moved(let count):
            countReceived(count)
            transportIsDrained = count < target.count && recordTransport.isDrainedByShortRead
            return CInt(count)
        case .wouldBlock:
            unsafe portolan_BIO_set_retry_read(bio)
            return -1
        case .end:
            transportHasEnded = true
            return 0
        case .failed(let error):
            transportFailure = error
            return -1
        }
    }

    private func write(for bio: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> CInt {
        unsafe portolan_BIO_clear_retry(bio)
        guard unsafe !bytes.isEmpty else { return 0 }
        switch unsafe recordTransport.send(bytes) {
        case .moved(let count): return CInt(count)
        case .wouldBlock:
            unsafe portolan_BIO_set_retry_write(bio)
            return -1
        case .end: return -1
        case .failed(let error):
            transportFailure = error
            return -1
        }
    }
}
