// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport
import Synchronization

/// A byte connection between its event loop and the streams that use it.
///
/// The event loop fills `received`, and takes the bytes of `unsent`. Both have a limit: a full `received` pauses the
/// connection, and a full `unsent` makes the writer wait.
final class SocketLink: Sendable {
    private enum Opening {
        case notStarted
        case started([@Sendable (LoadError?) -> Void])
        case open
        case failed(LoadError)
    }

    private enum WriterEnding {
        /// The sending direction is closed after the last byte.
        case finished
        /// The output stream was released before it was closed.
        case aborted
        /// The output stream was never opened.
        case unused
    }

    /// What the TLS handshake has negotiated.
    struct Security: Sendable {
        let version: String?
        let applicationProtocol: String?
        let certificates: [ServerCertificate]

        init(_ security: ConnectionSecurity) {
            (version, applicationProtocol) = (security.version, security.applicationProtocol)
            certificates = security.trust.evaluation.chain.compactMap(ServerCertificate.init(der:))
        }
    }

    private struct State {
        var opening = Opening.notStarted
        var security: Security?

        var received: ArraySlice<UInt8> = []
        var isPaused = false
        var inputEnd: Result<Void, LoadError>?
        var readerWaiter: (@Sendable () -> Void)?
        var isReaderClosed = false

        var unsent: [UInt8] = []
        var isFlushing = false
        var writeError: LoadError?
        var writerWaiter: (@Sendable () -> Void)?
        var writerEnding: WriterEnding?
        /// The number of unsent bytes when the closed connection was looked at last, and how often it had not changed.
        var lingering = (count: Int.max, stallCount: 0)

        /// Whether neither stream uses the connection any more.
        var isOver: Bool { isReaderClosed && writerEnding != nil }
    }

    /// Used on the event loop only.
    private final class Loop {
        var attempt: ByteConnectionAttempt?
        var connection: SocketConnection?
        var challengeHandler: ClosureChallengeHandler?
        var lingerTimer: ScheduledTimer?
    }

    let host: String
    let port: Int
    private let configuration: SocketConfiguration
    private let state = Mutex(State())
    private let bound = LoopBound(Loop())

    init(host: String, port: Int, _ configuration: SocketConfiguration) {
        (self.host, self.port, self.configuration) = (host, port, configuration)
    }

    private var limit: Int { max(configuration.bufferSize, 1) }
    /// How long a closed connection waits for the end of the server after all bytes were sent.
    private static let lingerTime = Duration.seconds(1)
    /// For how many of these times the server may accept no bytes.
    private static let stallLimit = 30
    private let loop = SocketEventLoop.next

    var security: Security? { state.withLock { $0.security } }

    // MARK: Opening

    /// Calls `completion` when the connection is open, or has failed. The first call makes it.
    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        let outcome: (isFirst: Bool, result: Result<Void, LoadError>?) = state.withLock { state in
            switch state.opening {
            case .notStarted:
                state.opening = .started([completion])
                return (true, nil)
            case .started(let completions):
                state.opening = .started(completions + [completion])
                return (false, nil)
            case .open: return (false, .success(()))
            case .failed(let error): return (false, .failure(error))
            }
        }
        switch outcome.result {
        case .success: completion(nil)
        case .failure(let error): completion(error)
        case nil: if outcome.isFirst { connect() }
        }
    }

    private func connect() {
        do throws(LoadError) {
            let (endpoint, loop) = (try endpoint(), try loop.get())
            loop.execute { [self] in connect(to: endpoint, on: loop) }
        } catch {
            didOpen(error)
        }
    }

    private func endpoint() throws(LoadError) -> Endpoint {
        guard 1...65535 ~= port else { throw LoadError(.badURL, message: "port \(port) is not in 1 to 65535") }
        let urlHost = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        // Parses the host as in a URL, so that nothing else gets into a proxy's request.
        let request = try Request("\(configuration.isSecure ? "https" : "http")://\(urlHost):\(port)/")
        guard let parsed = request.url.host, !host.contains(where: { "@/?#\\".contains($0) }) else {
            throw LoadError(.badURL, message: "'\(host)' is not a host")
        }
        let name = parsed.hasPrefix("[") ? String(parsed.dropFirst().dropLast()) : String(parsed)
        return Endpoint(
            TLSPeer(host: name, port: port, description: "\(urlHost):\(port)", protocolName: "tls"),
            through: try ProxySelection(configuration.proxy).proxy(for: request),
            applicationProtocols: configuration.isSecure ? configuration.applicationProtocols : nil)
    }

    private func connect(to endpoint: Endpoint, on loop: SocketEventLoop) {
        guard !state.withLock({ $0.isOver }) else { return }
        var transport = TransportConfiguration()
        transport.connectTimeout = configuration.connectTimeout
        transport.tls = configuration.tls
        transport.networkServiceType = configuration.networkServiceType
        transport.readSize = min(limit, transport.readSize)
        let connector = ByteConnector(transport, contexts: configuration.contexts, on: loop)
        bound.value.challengeHandler = configuration.onChallenge.map(ClosureChallengeHandler.init)
        let attempt = connector.attempt(to: endpoint, for: bound.value.challengeHandler) { [weak self] result in
            guard let self else {
                if case .success(let connection) = result { connection.transport.close() }
                return
            }
            bound.value.attempt = nil
            switch result {
            case .success(let connection): start(connection)
            case .failure(let error): didOpen(error)
            }
        }
        bound.value.attempt = attempt
        attempt.start()
    }

    private func start(_ opened: OpenConnection) {
        guard !state.withLock({ $0.isOver }) else { return opened.transport.close() }
        opened.transport.isWrittenAfterEnd = true
        bound.value.connection = opened.transport
        state.withLock { $0.security = opened.security.map(Security.init) }
        opened.transport.setReceiver(LinkReceiver(self))
        didOpen(nil)
        // The output may already be closed.
        flush()
    }

    private func didOpen(_ error: LoadError?) {
        let completions = state.withLock { state -> [@Sendable (LoadError?) -> Void] in
            guard case .started(let completions) = state.opening else { return [] }
            state.opening = error.map { .failed($0) } ?? .open
            return completions
        }
        for completion in completions { completion(error) }
    }

    // MARK: Reading

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let count = buffer.freeCapacity
        let (bytes, result, mustResume) = state.withLock { state -> (ArraySlice<UInt8>, BodyRead, Bool) in
            let bytes = state.received.prefix(count)
            guard !bytes.isEmpty else {
                switch state.inputEnd {
                case .success: return ([], .end, false)
                case .failure(let error): return ([], .failed(error), false)
                case nil:
                    state.readerWaiter = whenReady
                    return ([], .wait, false)
                }
            }
            state.received = state.received.dropFirst(bytes.count)
            let mustResume = state.isPaused && state.received.count <= limit / 2
            if mustResume { state.isPaused = false }
            return (bytes, .bytes, mustResume)
        }
        unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        if mustResume { onLoop { $0.connection?.resume() } }
        return result
    }

    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        state.withLock { state in
            guard state.received.isEmpty else { return .bytes }
            switch state.inputEnd {
            case .success: return .end
            case .failure(let error): return .failed(error)
            case nil:
                state.readerWaiter = whenReady
                return .wait
            }
        }
    }

    fileprivate func didReceive(_ bytes: borrowing RawSpan) {
        let (mustPause, waiter) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.isReaderClosed else { return (false, nil) }
            unsafe bytes.withUnsafeBytes { bytes in
                if state.received.isEmpty { state.received = unsafe ArraySlice(bytes) } else { unsafe state.received += bytes }
            }
            state.isPaused = state.received.count >= limit
            return (state.isPaused, state.readerWaiter.take())
        }
        if mustPause { bound.value.connection?.pause() }
        waiter?()
    }

    fileprivate func didEndInput() {
        state.withLock { state in
            state.inputEnd = state.inputEnd ?? .success(())
            return state.readerWaiter.take()
        }?()
    }

    func closeReading() {
        let isOver = state.withLock { state in
            (state.isReaderClosed, state.readerWaiter, state.received) = (true, nil, [])
            return state.isOver
        }
        onLoop { [self] loop in
            // The bytes of the server are discarded, so that it can end its work.
            if isOver { closeConnection() } else { loop.connection?.resume() }
        }
    }

    // MARK: Writing

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        let (result, mustFlush) = state.withLock { state -> (StreamWrite, Bool) in
            if let error = state.writeError { return (.failed(error), false) }
            let count = min(limit - state.unsent.count, bytes.byteCount)
            guard state.unsent.count < limit else {
                state.writerWaiter = whenReady
                return (.wait, false)
            }
            guard count > 0 else { return (.wrote(0), false) }
            unsafe bytes.extracting(first: count).withUnsafeBytes { unsafe state.unsent.append(contentsOf: $0) }
            defer { state.isFlushing = true }
            return (.wrote(count), !state.isFlushing)
        }
        if mustFlush { onLoop { [self] _ in flush() } }
        return result
    }

    /// Sends the unsent bytes, as far as the connection accepts them.
    fileprivate func flush() {
        guard let connection = bound.value.connection else { return }
        while connection.isWritable {
            let (bytes, waiter) = state.withLock { state -> ([UInt8], (@Sendable () -> Void)?) in
                defer { state.unsent = [] }
                if state.unsent.isEmpty { state.isFlushing = false }
                return (state.unsent, state.writerWaiter.take())
            }
            if bytes.isEmpty {
                waiter?()
                break
            }
            connection.write(bytes)
            waiter?()
        }
        guard state.withLock({ $0.writerEnding == .finished && $0.unsent.isEmpty }) else { return }
        connection.finishWriting()
    }

    /// Closes the sending direction after the last byte.
    func finishWriting() {
        state.withLock { $0.writerEnding = .finished }
        onLoop { [self] _ in flush() }
    }

    /// - Parameter wasOpen: whether the output stream was opened.
    func closeWriting(wasOpen: Bool) {
        let mustClose = state.withLock { state in
            state.writerEnding = state.writerEnding ?? (wasOpen ? .aborted : .unused)
            state.writerWaiter = nil
            return state.isOver || state.writerEnding == .aborted
        }
        if mustClose { onLoop { [self] _ in closeConnection() } }
    }

    // MARK: The end

    private func transportDidEnd(_ failure: LoadError?) {
        bound.value.connection = nil
        bound.value.lingerTimer?.cancel()
        let (reader, writer) = state.withLock { state in
            state.inputEnd = state.inputEnd ?? failure.map { .failure($0) } ?? .success(())
            state.writeError =
                state.writeError ?? failure ?? LoadError(.connectionLost, message: "the connection to \(host) port \(port) is closed")
            return (state.readerWaiter.take(), state.writerWaiter.take())
        }
        reader?()
        writer?()
    }

    fileprivate func transportDidFailWriting(_ failure: SocketError) {
        let error = lossError(failure)
        state.withLock { state in
            state.writeError = error
            return state.writerWaiter.take()
        }?()
    }

    /// Closes the connection, or ends the attempt to make it. Bytes that wait to be sent are sent first if the output
    /// was closed.
    private func closeConnection() {
        let ending = state.withLock { $0.writerEnding }
        if let attempt = bound.value.attempt {
            didOpen(LoadError(.connectionLost, message: "the output stream to \(host) port \(port) was released before it was closed"))
            attempt.cancel()
        }
        guard let connection = bound.value.connection else { return }
        switch ending {
        case .aborted: connection.abort()
        case .unused, nil: connection.close()
        case .finished:
            // The server closes the connection when it has received the end. Until then, what it sends is discarded.
            connection.resume()
            if bound.value.lingerTimer == nil { linger(connection) }
        }
    }

    /// Closes the connection some time after all bytes were sent, or when the server accepts none of them.
    private func linger(_ connection: SocketConnection) {
        guard case .success(let loop) = loop else { return }
        bound.value.lingerTimer = loop.schedule(after: Self.lingerTime) { [self] in
            guard let connection = bound.value.connection else { return }
            let (count, stallCount) = state.withLock { state in
                let count = state.unsent.count + connection.unsentByteCount
                state.lingering = (count, count < state.lingering.count ? 0 : state.lingering.stallCount + 1)
                return state.lingering
            }
            if count == 0 {
                connection.close()
            } else if stallCount < Self.stallLimit {
                linger(connection)
            } else {
                connection.abort()
            }
        }
    }

    fileprivate func transportDidEnd(_ failure: SocketError?) { transportDidEnd(failure.map(lossError)) }

    private func lossError(_ failure: SocketError) -> LoadError {
        let peer = TLSPeer(host: host, port: port, description: "\(host) port \(port)")
        var error = LoadError.connectionLost(peer, failure, reportedBy: peer)
        if error.code == .connectionLost {
            error.message = "the connection to \(peer) was lost\(failure.reason.map { ": \($0)" } ?? "")"
        }
        return error
    }

    private func onLoop(_ body: @escaping @Sendable (Loop) -> Void) {
        guard case .success(let loop) = loop else { return }
        guard loop.tryEnter() else { return loop.execute { [self] in body(bound.value) } }
        body(bound.value)
        loop.leave()
    }
}

/// Receives the events of the connection, which retains it until the end.
private final class LinkReceiver: ByteConnectionReceiver {
    private let link: SocketLink
    let isIdle = false

    init(_ link: SocketLink) { self.link = link }

    func didReceive(_ bytes: borrowing RawSpan) { link.didReceive(bytes) }
    func transportIsWritable() { link.flush() }
    func transportDidEndInput() { link.didEndInput() }
    func transportDidFailWriting(_ failure: SocketError) { link.transportDidFailWriting(failure) }
    func transportDidEnd(_ failure: SocketError?) { link.transportDidEnd(failure) }
}

private final class ClosureChallengeHandler: ChallengeHandler {
    private let handle: @Sendable (AuthenticationChallenge) -> Void

    init(_ handle: @escaping @Sendable (AuthenticationChallenge) -> Void) { self.handle = handle }

    func handleChallenge(_ challenge: AuthenticationChallenge) { handle(challenge) }
    func cancelChallenge(_ challenge: AuthenticationChallenge) {}
}

// MARK: The streams

extension SocketLink {
    fileprivate func property(_ name: String) -> (any Sendable)? {
        switch name {
        case StreamPropertyKey<String>.remoteHost.name: host
        case StreamPropertyKey<Int>.remotePort.name: port
        case StreamPropertyKey<String>.tlsVersion.name: security?.version
        case StreamPropertyKey<String>.applicationProtocol.name: security?.applicationProtocol
        case StreamPropertyKey<[ServerCertificate]>.serverCertificates.name: security?.certificates
        default: nil
        }
    }
}

final class SocketSource: ByteSource {
    private let link: SocketLink

    init(_ link: SocketLink) { self.link = link }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { link.open(completion) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        link.read(into: &buffer, whenReady: whenReady)
    }

    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? { link.peek(whenReady: whenReady) }
    func close() { link.closeReading() }
    func property(_ name: String) -> (any Sendable)? { link.property(name) }
}

final class SocketSink: ByteSink {
    private let link: SocketLink
    private let wasOpened = Atomic(false)

    init(_ link: SocketLink) { self.link = link }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        wasOpened.store(true, ordering: .relaxed)
        link.open(completion)
    }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        link.write(bytes, whenReady: whenReady)
    }

    func finish() -> LoadError? {
        // A stream that was never opened does not close the sending direction.
        if wasOpened.load(ordering: .relaxed) { link.finishWriting() }
        return nil
    }

    func close() { link.closeWriting(wasOpen: wasOpened.load(ordering: .relaxed)) }
    func property(_ name: String) -> (any Sendable)? { link.property(name) }
}
