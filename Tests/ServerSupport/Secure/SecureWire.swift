// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Glibc

/// The server's side of TLS over a socket (SSL_new(3)). OpenSSL only reads and writes memory
/// buffers. This class reads and writes the socket, so that closing the server ends all waits and no write raises
/// SIGPIPE. Only one thread can
/// use a wire.
@safe
final class SecureWire: Wire {
    /// A TLS failure that ends the connection.
    struct Failure: Error {
        let reason: String
    }

    private let socket: ServerSocket
    private let context: SecureContext
    private let ssl: OpaquePointer
    /// Memory buffers for bytes from the peer and to the peer. The SSL object owns them.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private var packetLimit: Int?
    private var sealer: RecordSealer?
    private var hasSentCloseNotify = false

    /// - Parameter received: bytes that were already read from the socket.
    init(_ socket: ServerSocket, _ context: SecureContext, received: [UInt8] = []) throws {
        guard let ssl = unsafe SSL_new(context.context) else { throw ServerError(openSSL: "SSL_new") }
        guard let incoming = unsafe BIO_new(BIO_s_mem()), let outgoing = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(ssl)
            throw ServerError(openSSL: "BIO_new")
        }
        unsafe SSL_set_bio(ssl, incoming, outgoing)
        unsafe SSL_set_accept_state(ssl)
        self.socket = socket
        self.context = context
        unsafe self.ssl = ssl
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        if !received.isEmpty { unsafe BIO_write(incoming, received, Int32(received.count)) }
        packetLimit = context.settings.packetLimit
        if packetLimit != nil { try SystemCalls.disableNagle(socket.descriptor) }
        unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if let limit = context.settings.recordLimit { try limitRecords(limit) }
    }

    deinit { unsafe SSL_free(ssl) }

    /// The wire that belongs to `ssl`.
    static func wire(of ssl: OpaquePointer) -> SecureWire? {
        guard let pointer = unsafe SSL_get_ex_data(ssl, 0) else { return nil }
        return unsafe Unmanaged<SecureWire>.fromOpaque(pointer).takeUnretainedValue()
    }

    // MARK: Handshake and its results

    func handshake() throws {
        guard try unsafe repeatCall({ unsafe SSL_do_handshake($0) }) > 0 else { throw ScriptEnd.peerEndedSending }
        packetLimit = nil
    }

    var isResumed: Bool { unsafe SSL_session_reused(ssl) != 0 }

    var serverName: String? {
        guard let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else { return nil }
        return unsafe String(cString: name)
    }

    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>? = nil
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// The common name of the client's certificate.
    var clientName: String? {
        guard let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return nil }
        defer { unsafe X509_free(certificate) }
        var text = [CChar](repeating: 0, count: 256)
        let length = unsafe X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
        return length < 0 ? nil : String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Bytes

    func receive() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16384)
        let count = try unsafe repeatCall { ssl in unsafe SSL_read(ssl, &bytes, Int32(bytes.count)) }
        return Array(bytes.prefix(Int(count)))
    }

    func send(_ bytes: ArraySlice<UInt8>) throws {
        guard !bytes.isEmpty else { return }
        _ = try unsafe repeatCall { ssl in unsafe bytes.withUnsafeBytes { unsafe SSL_write(ssl, $0.baseAddress, Int32($0.count)) } }
    }

    func endSending() throws {
        if context.settings.sendsCloseNotify { try closeNotify() }
        socket.endSending()
    }

    /// Sends close_notify if the socket accepts the bytes without blocking. Called while the server closes.
    func sendCloseNotifyWithoutBlocking() {
        guard context.settings.sendsCloseNotify, !hasSentCloseNotify else { return }
        hasSentCloseNotify = true
        _ = unsafe SSL_shutdown(ssl)
        _ = try? SystemCalls.send(readOutgoing()[...], to: socket.descriptor)
    }

    private func closeNotify() throws {
        guard !hasSentCloseNotify else { return }
        hasSentCloseNotify = true
        _ = unsafe SSL_shutdown(ssl)
        try flush()
    }

    /// Repeats an OpenSSL call until OpenSSL needs no more bytes from the peer.
    ///
    /// - Returns: the result of the call; 0 if the peer has ended sending.
    private func repeatCall(_ call: (OpaquePointer) -> Int32) throws -> Int32 {
        while true {
            ERR_clear_error()
            let result = unsafe call(ssl)
            let error = unsafe SSL_get_error(ssl, result)
            if error == SSL_ERROR_SSL {
                let failure = Failure(reason: OpenSSLErrors.takeReason() ?? "unknown")
                // Sends the alert. `try?` because the reason of the failure is already known.
                try? flush()
                throw failure
            }
            try flush()
            switch error {
            case SSL_ERROR_NONE: return result
            case SSL_ERROR_WANT_READ: guard try receiveRecords() else { return 0 }
            case SSL_ERROR_ZERO_RETURN: return 0
            default: throw Failure(reason: "SSL_get_error \(error)")
            }
        }
    }

    /// - Returns: `false` if the peer has ended sending.
    private func receiveRecords() throws -> Bool {
        let bytes = try socket.receive()
        _ = unsafe bytes.withUnsafeBytes { unsafe BIO_write(incoming, $0.baseAddress, Int32($0.count)) }
        return !bytes.isEmpty
    }

    private func flush() throws {
        var unsentBytes = readOutgoing()[...]
        while !unsentBytes.isEmpty {
            let packet = unsentBytes.prefix(packetLimit ?? unsentBytes.count)
            try socket.send(packet)
            unsentBytes = unsentBytes.dropFirst(packet.count)
        }
    }

    private func readOutgoing() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(unsafe BIO_ctrl_pending(outgoing)))
        guard !bytes.isEmpty else { return [] }
        let count = unsafe BIO_read(outgoing, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(count, 0))))
    }

    // MARK: TLS steps

    func perform(_ step: ScriptedServer.TLSStep) throws {
        switch step {
        case .closeNotify: try closeNotify()
        case .updateKeys(let isRequested):
            try check("a KeyUpdate", unsafe SSL_key_update(ssl, isRequested ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED))
            _ = try unsafe repeatCall { unsafe SSL_do_handshake($0) }
        case .renegotiate:
            try check("a HelloRequest", unsafe SSL_renegotiate(ssl))
            _ = try unsafe repeatCall { unsafe SSL_do_handshake($0) }
        case .sendTickets(let count):
            for _ in 0..<count {
                try check("a NewSessionTicket", unsafe SSL_new_session_ticket(ssl))
                _ = try unsafe repeatCall { unsafe SSL_do_handshake($0) }
            }
        case .limitRecords(let limit): try limitRecords(limit)
        case .limitPackets(let limit):
            packetLimit = limit
            try SystemCalls.disableNagle(socket.descriptor)
        case .sendInClear(let bytes): try socket.send(bytes[...])
        case .sendSealed(let records):
            guard sealer != nil else { throw ServerError("sendSealed needs TLS 1.3") }
            for record in records { try socket.send(sealer?.seal(record)[...] ?? []) }
        }
    }

    /// Makes the sealer if `line` contains the server's traffic secret. SSL_CTX_set_keylog_callback(3):
    /// `SERVER_TRAFFIC_SECRET_0 <random> <secret>`.
    func readKeyLogLine(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count == 3, words[0] == "SERVER_TRAFFIC_SECRET_0" else { return }
        let digits = words[2].utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        let secret = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        sealer = RecordSealer(secret: secret)
    }

    private func limitRecords(_ limit: Int) throws {
        try check("\(limit) bytes as the limit of a record", unsafe portolan_SSL_set_max_send_fragment(ssl, limit))
    }

    private func check(_ setting: String, _ result: Int32) throws {
        guard result > 0 else { throw ServerError(openSSL: setting) }
    }
}
