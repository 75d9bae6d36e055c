// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

/// A byte connection with a buffer in each direction. Any thread can read and write it, and no call waits.
///
/// The connection's event loop fills `received`, and takes the bytes of `unsent`. Both have a limit: too many received
/// bytes pause the connection, and a full `unsent` makes the writer wait.
///
/// A reader and a writer share it. It is closed when both have closed it.
package final class BufferedConnection: Sendable {
    private enum Opening {
        case notStarted
        case started([@Sendable (LoadError?) -> Void])
        case open
        case failed(LoadError)
    }

    private enum WriterEnding {
        /// The sending direction is closed after the last byte.
        case finished
        /// The writer was released before it was closed.
        case aborted
        /// The writer was never opened.
        case unused
    }

    private struct State {
        var opening = Opening.notStarted
        var properties: TLSProperties?
        /// Whether a TLS handshake runs. Until it ends, written bytes wait, and received bytes are for the handshake.
        var isSecuring = false
        /// TLS that starts when the connection is open.
        var pendingTLS: (role: TLSRole, completion: @Sendable (LoadError?) -> Void)?

        var received = ReceiveBuffer()
        var isPaused = false
        var inputEnd: Result<Void, LoadError>?
        var readerWaiter: (@Sendable () -> Void)?
        var isReaderClosed = false

        var unsent: [UInt8] = []
        /// The bytes to send before a TLS handshake starts.
        var clearText: [UInt8] = []
        var isFlushing = false
        var writeError: LoadError?
        var writerWaiter: (@Sendable () -> Void)?
        var writerEnding: WriterEnding?
        /// The number of unsent bytes when the closed connection was looked at last, and how often it had not changed.
        var lingering = (count: Int.max, stallCount: 0)

        /// Whether neither side uses the connection any more.
        var isOver: Bool { isReaderClosed && writerEnding != nil }
        /// Whether the connection need not be opened: neither side uses it, and the peer expects no proper end.
        var isUnused: Bool { isOver && writerEnding != .finished }
    }

    /// Used on the event loop only.
    private final class Loop {
        var accepted: AcceptedSocket?
        var attempt: ByteConnectionAttempt?
        var connection: SocketConnection?
        var challengeHandler: ClosureChallengeHandler?
        var cancelHandshake: (() -> Void)?
        var handshakeTimer: ScheduledTimer?
        var lingerTimer: ScheduledTimer?
    }

    /// The name of the peer in a message.
    private let peerName: String
    private let limit: Int
    private let state = Mutex(State())
    private let bound = LoopBound(Loop())
    private let loop = SocketEventLoop.next
    /// Opens an accepted connection.
    private let acceptedTLS: TLSServerContext?
    private let isAccepted: Bool

    /// How long a closed connection waits for the end of the peer after all bytes were sent.
    private static let lingerTime = Duration.seconds(1)
    /// For how many of these times the peer may accept no bytes.
    private static let stallLimit = 30

    /// Makes a connection that is not open.
    ///
    /// - Parameters:
    ///   - peerName: the name of the peer in a message, such as `h port 80`.
    ///   - bufferSize: the size of each buffer in bytes, at least 1. At most twice as many bytes are received ahead.
    package init(to peerName: String, bufferSize: Int) {
        (self.peerName, limit) = (peerName, max(bufferSize, 1))
        (isAccepted, acceptedTLS) = (false, nil)
    }

    /// Makes a connection from an accepted socket.
    ///
    /// - Parameter tls: starts TLS, as the server, when the connection is opened. `nil` for clear text.
    package init(accepting socket: AcceptedSocket, tls: TLSServerContext?, bufferSize: Int) {
        (peerName, limit) = (socket.peerName, max(bufferSize, 1))
        (isAccepted, acceptedTLS) = (true, tls)
        bound.value.accepted = socket
    }

    /// What the last TLS handshake has negotiated; `nil` without TLS.
    package var tlsProperties: TLSProperties? { state.withLock { $0.properties } }

    // MARK: Opening

    /// Calls `completion`, on any thread, when the connection is open or has failed. The first call opens it.
    ///
    /// - Parameter route: called once, inside the first call, unless the connection was accepted.
    package func open(
        _ route: () throws(LoadError) -> Route?, completion: @escaping @Sendable (LoadError?) -> Void
    ) {
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
        case nil: if outcome.isFirst { start(route) }
        }
    }

    private func start(_ makeRoute: () throws(LoadError) -> Route?) {
        do throws(LoadError) {
            let loop = try loop.get()
            if isAccepted {
                loop.execute { [self] in startAccepted(on: loop) }
            } else if let route = try makeRoute() {
                loop.execute { [self] in connect(route, on: loop) }
            } else {
                throw LoadError(.cannotConnect, message: "there is no route to \(peerName)")
            }
        } catch {
            didOpen(error)
        }
    }

    private func connect(_ route: Route, on loop: SocketEventLoop) {
        guard !state.withLock({ $0.isOver }) else { return didOpen(closedError) }
        var configuration = route.configuration
        configuration.readSize = min(limit, configuration.readSize)
        let connector = ByteConnector(configuration, contexts: route.contexts, on: loop)
        bound.value.challengeHandler = route.onChallenge.map(ClosureChallengeHandler.init)
        let didReach: (LoadStep) -> Void = route.onStep.map { onStep in { onStep($0) } } ?? { _ in }
        let attempt = connector.attempt(to: route.endpoint, for: bound.value.challengeHandler, didReach: didReach) { [weak self] result in
            guard let self else {
                if case .success(let connection) = result { connection.transport.close() }
                return
            }
            bound.value.attempt = nil
            switch result {
            case .success(let opened): use(opened.transport, opened.security.map(TLSProperties.init))
            case .failure(let error): didOpen(error)
            }
        }
        bound.value.attempt = attempt
        attempt.start()
    }

    private func startAccepted(on loop: SocketEventLoop) {
        let isUnused = state.withLock { state in
            state.isSecuring = acceptedTLS != nil
            return state.isUnused
        }
        guard let accepted = bound.value.accepted.take(), !isUnused else { return didOpen(closedError) }
        let connection = SocketConnection(accepted.socket, on: loop, readSize: min(limit, TransportConfiguration().readSize))
        guard let acceptedTLS else {
            connection.start(for: BufferReceiver(self))
            return use(connection, nil)
        }
        connection.start(for: OpeningReceiver())
        bound.value.connection = connection
        handshake(.server(acceptedTLS), on: connection, loop) { [self] result in
            switch result {
            case .success(let properties): use(connection, properties)
            case .failure(let error): didOpen(error)
            }
        }
    }

    private func use(_ connection: SocketConnection, _ properties: TLSProperties?) {
        let isUnused = state.withLock { state in
            (state.properties, state.isSecuring) = (properties, false)
            return state.isUnused
        }
        guard !isUnused else {
            connection.close()
            return didOpen(closedError)
        }
        connection.isWrittenAfterEnd = true
        bound.value.connection = connection
        connection.setReceiver(BufferReceiver(self))
        didOpen(nil)
        // The output may already be closed.
        flush()
        if state.withLock({ $0.isOver }) { closeConnection() }
    }

    private var closedError: LoadError {
        LoadError(.cancelled, message: "the streams to \(peerName) were closed before the connection was open")
    }
    private var alreadySecureError: LoadError { LoadError(.badRequest, message: "the connection to \(peerName) already uses TLS") }

    private func didOpen(_ error: LoadError?) {
        let (completions, pending, refusal) = state.withLock { state in
            guard case .started(let completions) = state.opening else { return ([], nil, nil) as Opened }
            let pending = state.pendingTLS.take()
            let refusal = error ?? (state.properties == nil ? nil : alreadySecureError)
            state.opening = error.map { .failed($0) } ?? .open
            // Before any completion, because a completion can write.
            state.isSecuring = pending != nil && refusal == nil
            return (completions, pending, refusal)
        }
        if let pending {
            if let refusal { pending.completion(refusal) } else { secure(pending.role, pending.completion) }
        }
        for completion in completions { completion(error) }
    }

    private typealias Completion = @Sendable (LoadError?) -> Void
    private typealias Opened = ([Completion], pending: (role: TLSRole, completion: Completion)?, refusal: LoadError?)

    // MARK: TLS

    /// Starts TLS on the open connection, for protocols that agree on TLS in clear text (STARTTLS).
    ///
    /// Bytes that were written before are sent in clear text first. Bytes that were received, but not read, are the
    /// beginning of the peer's handshake: so clear text that an attacker has added makes the handshake fail, and can't
    /// be mistaken for bytes of the secure connection (RFC 3207 §6). Until the handshake ends, reads and writes wait.
    ///
    /// - Parameter completion: called once, on any thread. After an error of the handshake, the connection has failed.
    package func startTLS(_ role: TLSRole, completion: @escaping @Sendable (LoadError?) -> Void) {
        var isPending = false
        let refusal = state.withLock { state -> LoadError? in
            if case .started = state.opening {
                guard state.pendingTLS == nil else { return alreadySecureError }
                state.pendingTLS = (role, completion)
                isPending = true
                return nil
            }
            guard case .open = state.opening, state.writeError == nil, !state.isOver else {
                return LoadError(.connectionLost, message: "TLS can't start, because the connection to \(peerName) is not open")
            }
            guard !state.isSecuring, state.properties == nil else { return alreadySecureError }
            guard state.inputEnd == nil, state.writerEnding == nil else {
                return LoadError(
                    .connectionLost, message: "TLS can't start, because one direction of the connection to \(peerName) has ended")
            }
            state.isSecuring = true
            // What is written from now on is not for the clear text.
            (state.clearText, state.unsent) = (state.unsent, [])
            return nil
        }
        if let refusal { return completion(refusal) }
        if !isPending { onLoop { [self] _ in secure(role, completion) } }
    }

    /// Performs a handshake on the open connection.
    private func secure(_ role: TLSRole, _ completion: @escaping @Sendable (LoadError?) -> Void) {
        guard let connection = bound.value.connection, case .success(let loop) = loop else {
            return completion(state.withLock { $0.writeError })
        }
        let (clearText, unread) = state.withLock { state in
            defer { (state.clearText, state.isPaused) = ([], false) }
            return (state.clearText, state.received.removeAll())
        }
        connection.write(clearText)
        connection.pause()
        connection.isWrittenAfterEnd = false
        handshake(role, on: connection, loop, after: unread) { [self] result in
            switch result {
            case .success(let properties):
                state.withLock { ($0.properties, $0.isSecuring) = (properties, false) }
                connection.isWrittenAfterEnd = true
                connection.setReceiver(BufferReceiver(self))
                flush()
                completion(nil)
                if state.withLock({ $0.isOver }) { closeConnection() }
            case .failure(let error):
                fail(error)
                completion(error)
            }
        }
    }

    /// Performs a handshake on a connection, and closes the connection if it fails.
    ///
    /// - Parameter bytes: bytes of the peer that were already received.
    private func handshake(
        _ role: TLSRole, on connection: SocketConnection, _ loop: SocketEventLoop, after bytes: [UInt8] = [],
        _ completion: @escaping (Result<TLSProperties, LoadError>) -> Void
    ) {
        let finish: (Result<TLSProperties, LoadError>) -> Void = { [self] result in
            guard let timer = bound.value.handshakeTimer.take() else { return }
            timer.cancel()
            let cancelHandshake = bound.value.cancelHandshake.take()
            if case .failure = result {
                cancelHandshake?()
                connection.setReceiver(OpeningReceiver())
                connection.close()
                bound.value.connection = nil
            }
            completion(result)
        }
        let boundFinish = LoopBound(finish)
        let timeLimit = role.timeLimit
        bound.value.handshakeTimer = loop.schedule(after: timeLimit) { [peerName] in
            boundFinish.value(.failure(LoadError(.timedOut, message: "no TLS handshake with \(peerName) within \(timeLimit)")))
        }
        connection.unread(bytes)
        switch role {
        case .client(let peer, let contexts, let protocols, let onChallenge, _):
            bound.value.challengeHandler = onChallenge.map(ClosureChallengeHandler.init)
            let handshake = TLSHandshake(
                peer, contexts: contexts, offering: protocols, for: bound.value.challengeHandler, on: loop, didChangeChallenge: { _ in }
            ) { outcome in
                switch outcome {
                case .secured(let security): finish(.success(TLSProperties(security)))
                case .failed(let error), .refused(let error): finish(.failure(error))
                }
            }
            bound.value.cancelHandshake = { handshake.cancel() }
            handshake.start(on: connection)
        case .server(let context):
            let handshake = TLSServerHandshake(context, with: peerName, on: loop, completion: finish)
            bound.value.cancelHandshake = { handshake.cancel() }
            handshake.start(on: connection)
        }
    }

    // MARK: Reading

    /// Appends bytes to `buffer` without waiting.
    ///
    /// - Parameter whenReady: called once, on the event loop, after ``BodyRead/wait``, when the next read returns
    ///   something else.
    package func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let count = buffer.freeCapacity
        let (bytes, result) = state.withLock { state -> (ArraySlice<UInt8>, BodyRead) in
            let result = next(&state, whenReady)
            guard case .bytes = result else { return ([], result) }
            let bytes = state.received.next().prefix(count)
            state.received.removeFirst(bytes.count)
            return (bytes, .bytes)
        }
        unsafe bytes.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        if !bytes.isEmpty { resumeIfNeeded() }
        return result
    }

    /// Returns what the next read would return.
    package func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead { state.withLock { next(&$0, whenReady) } }

    private func next(_ state: inout State, _ whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        // Until TLS has started, nothing of what was received is for the reader.
        if !state.isSecuring, !state.received.isEmpty { return .bytes }
        switch state.inputEnd {
        case .success: return .end
        case .failure(let error): return .failed(error)
        case nil:
            state.readerWaiter = whenReady
            return .wait
        }
    }

    /// Calls `body` with the received bytes, in the memory of this object. Only one thread may read.
    ///
    /// - Parameter body: returns how many of the bytes it has used.
    /// - Returns: `false` if there are no bytes.
    package func withReceivedBytes(_ body: (borrowing RawSpan) -> Int) -> Bool {
        let bytes = state.withLock { $0.isSecuring ? [] : $0.received.next() }
        guard !bytes.isEmpty else { return false }
        let count = unsafe bytes.withUnsafeBytes { body(unsafe RawSpan(_unsafeBytes: $0)) }
        state.withLock { $0.received.removeFirst(min(max(count, 0), bytes.count)) }
        resumeIfNeeded()
        return true
    }

    private func resumeIfNeeded() {
        let mustResume = state.withLock { state in
            guard state.isPaused, state.received.count <= limit / 2 else { return false }
            state.isPaused = false
            return true
        }
        if mustResume { onLoop { $0.connection?.resume() } }
    }

    fileprivate func didReceive(_ bytes: borrowing RawSpan) {
        let (mustPause, waiter) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.isReaderClosed else { return (false, nil) }
            state.received.append(bytes)
            state.isPaused = state.received.count >= limit
            return (state.isPaused, state.isSecuring ? nil : state.readerWaiter.take())
        }
        if mustPause { bound.value.connection?.pause() }
        waiter?()
    }

    fileprivate func didEndInput() {
        state.withLock { state -> (@Sendable () -> Void)? in
            // The handshake reads the end, too, and fails.
            guard !state.isSecuring else { return nil }
            state.inputEnd = state.inputEnd ?? .success(())
            return state.readerWaiter.take()
        }?()
    }

    /// Discards what the peer has sent, and what it still sends.
    package func closeReading() {
        let isOver = state.withLock { state in
            (state.isReaderClosed, state.readerWaiter, state.received) = (true, nil, ReceiveBuffer())
            return state.isOver
        }
        onLoop { [self] loop in
            // The peer can end its work.
            if isOver { closeConnection() } else if !isSecuring { loop.connection?.resume() }
        }
    }

    private var isSecuring: Bool { state.withLock { $0.isSecuring } }

    // MARK: Writing

    /// Accepts as many of the bytes as the buffer has space for.
    ///
    /// - Parameter whenReady: called once, on the event loop, after ``Write/wait``, when the next write returns
    ///   something else.
    package func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> Write {
        let (result, mustFlush) = state.withLock { state -> (Write, Bool) in
            if let error = state.writeError { return (.failed(error), false) }
            let count = min(limit - state.unsent.count, bytes.byteCount)
            guard state.unsent.count < limit else {
                state.writerWaiter = whenReady
                return (.wait, false)
            }
            guard count > 0 else { return (.wrote(0), false) }
            unsafe bytes.extracting(first: count).withUnsafeBytes { unsafe state.unsent.append(contentsOf: $0) }
            // The end of the handshake flushes the buffer.
            guard !state.isSecuring else { return (.wrote(count), false) }
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
                guard !state.isSecuring else { return ([], nil) }
                defer { state.unsent = [] }
                state.isFlushing = !state.unsent.isEmpty
                return (state.unsent, state.writerWaiter.take())
            }
            if bytes.isEmpty {
                waiter?()
                break
            }
            connection.write(bytes)
            waiter?()
        }
        guard state.withLock({ $0.writerEnding == .finished && $0.unsent.isEmpty && !$0.isSecuring }) else { return }
        connection.finishWriting()
    }

    /// Closes the sending direction after the last byte. With TLS, close_notify is sent first.
    package func finishWriting() {
        state.withLock { $0.writerEnding = .finished }
        onLoop { [self] _ in flush() }
    }

    /// The writer no longer uses the connection.
    ///
    /// - Parameter wasOpen: whether the writer has opened it. If it was open, and ``finishWriting()`` was not called,
    ///   bytes may be missing, so the connection is reset.
    package func closeWriting(wasOpen: Bool) {
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
        fail(failure)
    }

    /// - Parameter failure: `nil` if the connection was closed properly.
    private func fail(_ failure: LoadError?) {
        let (reader, writer) = state.withLock { state in
            state.isSecuring = false
            state.inputEnd = state.inputEnd ?? failure.map { .failure($0) } ?? .success(())
            state.writeError = state.writeError ?? failure ?? LoadError(.connectionLost, message: "the connection to \(peerName) is closed")
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

    /// Closes the connection, or ends the attempt to make it. Bytes that wait to be sent are sent first if the writer
    /// has finished.
    private func closeConnection() {
        let (ending, isSecuring, mustWait) = state.withLock { state in
            // The handshake of an accepted connection, or one behind which bytes wait.
            let isOpen = if case .open = state.opening { true } else { false }
            return (state.writerEnding, state.isSecuring, state.writerEnding == .finished && (!isOpen || !state.unsent.isEmpty))
        }
        if let attempt = bound.value.attempt {
            didOpen(LoadError(.connectionLost, message: "the output stream to \(peerName) was released before it was closed"))
            attempt.cancel()
        }
        bound.value.accepted = nil
        guard let connection = bound.value.connection else { return }
        if isSecuring {
            if !mustWait { connection.abort() }
            return
        }
        switch ending {
        case .aborted: connection.abort()
        case .unused, nil: connection.close()
        case .finished:
            // The peer closes the connection when it has received the end. Until then, what it sends is discarded.
            connection.resume()
            if bound.value.lingerTimer == nil { linger(connection) }
        }
    }

    /// Closes the connection some time after all bytes were sent, or when the peer accepts none of them.
    private func linger(_ connection: SocketConnection) {
        guard case .success(let loop) = loop else { return }
        bound.value.lingerTimer = loop.schedule(after: Self.lingerTime) { [self] in
            guard let connection = bound.value.connection else { return }
            let (count, stallCount) = state.withLock { state in
                let count = state.unsent.count + connection.unsentByteCount + (connection.isEndingWriting ? 1 : 0)
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
        let peer = TLSPeer(host: peerName, port: 0, description: peerName)
        var error = LoadError.connectionLost(peer, failure, reportedBy: peer)
        if error.code == .connectionLost {
            error.message = "the connection to \(peerName) was lost\(failure.reason.map { ": \($0)" } ?? "")"
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
private final class BufferReceiver: ByteConnectionReceiver {
    private let connection: BufferedConnection
    let isIdle = false

    init(_ connection: BufferedConnection) { self.connection = connection }

    func didReceive(_ bytes: borrowing RawSpan) { connection.didReceive(bytes) }
    func transportIsWritable() { connection.flush() }
    func transportDidEndInput() { connection.didEndInput() }
    func transportDidFailWriting(_ failure: SocketError) { connection.transportDidFailWriting(failure) }
    func transportDidEnd(_ failure: SocketError?) { connection.transportDidEnd(failure) }
}
