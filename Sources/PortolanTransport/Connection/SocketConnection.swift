// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connected socket of a ``SocketEventLoop``, in clear text or with TLS. Use it on that event loop only.
package final class SocketConnection: ByteConnection, PolledSocket {
    private let socketLoop: SocketEventLoop
    let socket: Socket
    private let readSize: Int
    private var receiver: (any ByteConnectionReceiver)?
    /// Identifies the socket for the poller.
    private(set) var pollID: UInt64 = 0

    /// The TLS sessions. The first one, with the proxy or the server, sends its records over the socket. The second
    /// one, with the server, sends its records over the first.
    private var sessions: [TLSSession] = []
    /// The current handshake.
    private var handshake: (any TLSHandshakeDriver)?
    /// The session of a handshake that starts after all unsent bytes were sent.
    private var nextSession: TLSSession?
    /// Bytes that a receiver has returned, with ``unread(_:)``.
    private var returnedBytes: [UInt8] = []
    /// Bytes that were written, but that the socket has not accepted.
    private var unsentBytes = ByteBuffer()
    /// Whether the socket can't accept more bytes now.
    private var isFull = false
    /// Whether OpenSSL can have buffered bytes that were not delivered. The poller does not report such bytes.
    private var hasUnreadBytes = false
    /// Who waits for events of the socket.
    private var watcher = Watcher.none
    /// The thread that waits for events of the socket, and whether it also waits until the socket is writable.
    private var waitingThread: (waiter: LoadWaiter, isWriting: Bool)?
    private var isPaused = false
    private var isClosed = false
    /// Whether bytes can still be written after the peer has closed its sending direction. Otherwise, the connection is
    /// closed then.
    package var isWrittenAfterEnd = false
    /// Whether the peer has closed its sending direction, but the connection is still written.
    private var isInputEnded = false
    private var isFailureReported = false
    /// The number of written bytes that the socket has not accepted.
    package var unsentByteCount: Int { unsentBytes.count }
    /// Whether the sending direction is not closed yet, although ``finishWriting()`` was called: the socket has not
    /// accepted all bytes, or not the close_notify of TLS.
    package var isEndingWriting: Bool { writeState == .ending }
    private var writeState = WriteState.open
    /// The reason why no more bytes can be written. Bytes from the peer are still read.
    private var failure: SocketError?

    private enum WriteState {
        case open
        /// Sends the unsent bytes, and then ends.
        case ending
        case ended
    }

    private enum Watcher: Equatable {
        case none
        case poller(SocketPoller.Interest)
        /// A thread will call ``drive(for:while:)``, and will wait for events in that call.
        case promised
        /// A thread inside ``drive(for:while:)``. It waits in poll(2), or runs on the event loop.
        case thread
    }

    /// The maximum size of one read with TLS, in bytes. It is small, so that decrypted bytes are still in the
    /// processor's cache when they are delivered.
    private static let secureReadSize = 128 << 10
    /// The maximum size of a TLS record, in bytes. Small writes with `hasMore` are combined up to this size.
    private static let recordSize = 16 << 10

    /// - Parameters:
    ///   - socket: a connected socket.
    ///   - readSize: the maximum number of bytes for one read.
    init(_ socket: Socket, on loop: SocketEventLoop, readSize: Int) {
        self.socket = socket
        self.readSize = max(1, readSize)
        socketLoop = loop
    }

    /// Starts the connection. `receiver` receives all events, and is retained until the last one.
    func start(for receiver: any ByteConnectionReceiver) {
        self.receiver = receiver
        pollID = socketLoop.add(self)
    }

    /// Replaces the receiver, and reads from the socket again.
    package func setReceiver(_ receiver: any ByteConnectionReceiver) {
        self.receiver = receiver
        handshake = nil
        isPaused = false
        if !sessions.isEmpty || !returnedBytes.isEmpty { scheduleRead() }
        updatePollInterest()
    }

    package var loop: any EventLoop { socketLoop }

    // MARK: Reading

    package var isWatched: Bool { if case .poller = watcher { !isClosed } else { false } }

    package var isAlive: Bool {
        guard !isClosed else { return false }
        switch socket.peek() {
        case .nothing: return true
        case .end, .failure: return false
        case .bytes:
            // With TLS the bytes can be a session ticket. Then the connection is still usable.
            guard !sessions.isEmpty, !hasUnreadBytes else { return false }
            read(atMost: Self.recordSize)
            return !isClosed && socket.peek() == .nothing
        }
    }

    package func pause() { isPaused = true }

    package func resume() {
        isPaused = false
        returnToPoller()
        if hasUnreadBytes { scheduleRead() }
        updatePollInterest()
    }

    /// Handles events of the socket. The poller reports them, or the thread that waits for the socket.
    func handle(_ events: SocketPoller.Interest) {
        // The poller can report an event that happened before the socket was removed from the poller. The promised
        // thread will see the event again.
        guard !isClosed, watcher != .promised else { return }
        if handshake != nil { return handleHandshake(events) }
        if events.contains(.write) {
            if isFull {
                flush()
                if isWritable { receiver?.transportIsWritable() }
                didWrite()
            }
            // A socket with nothing to send is always writable. Remove the interest to avoid a busy loop.
            updatePollInterest()
        }
        guard !isClosed, !events.isDisjoint(with: [.read, .hangUp, .error]) else { return }
        if isInputEnded { return end(failure) }
        // The poller reports an end until the interest is removed.
        if isPaused { return updatePollInterest() }
        read(atMost: .max)
    }

    private func read(atMost limit: Int) {
        if !returnedBytes.isEmpty { return deliverReturnedBytes() }
        if let session = sessions.last { return readSecure(session, atMost: min(readSize, Self.secureReadSize, limit)) }
        switch unsafe socketLoop.receive(atMost: min(readSize, limit), { unsafe socket.receive($0) }, { receiver?.didReceive($0) }) {
        case .moved, .wouldBlock: break
        case .end: endInput()
        case .failed(let error): end(failure ?? error)
        }
    }

    private func deliverReturnedBytes() {
        let bytes = returnedBytes
        returnedBytes = []
        hasUnreadBytes = false
        receiver?.didReceive(unsafe bytes.span.bytes)
        if !sessions.isEmpty, !isClosed { scheduleRead() }
    }

    /// The peer has closed its sending direction.
    private func endInput() {
        guard isWrittenAfterEnd, failure == nil, writeState != .ended, !isInputEnded else { return end(failure) }
        isInputEnded = true
        receiver?.transportDidEndInput()
        updatePollInterest()
    }

    /// After a write: closes the connection when both directions have ended, and reports that writing has failed.
    private func didWrite() {
        guard isWrittenAfterEnd, !isClosed else { return }
        if isInputEnded, failure != nil || writeState == .ended { return end(failure) }
        guard let failure, !isFailureReported else { return }
        isFailureReported = true
        receiver?.transportDidFailWriting(failure)
    }

    private func readSecure(_ session: TLSSession, atMost size: Int) {
        var lastResult = TLSSession.ReadResult.wantsRead
        hasUnreadBytes = false
        session.beginIteration()
        _ = unsafe socketLoop.receive(atMost: size) { buffer in
            var count = 0
            while count < buffer.count {
                lastResult = unsafe session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
                guard case .bytes(let readCount) = lastResult else { break }
                count += readCount
                // Another system call would only confirm that the socket is empty.
                if session.isDrained { break }
            }
            switch lastResult {
            case .bytes: hasUnreadBytes = !session.isDrained
            case .paused: hasUnreadBytes = true
            case .wantsRead, .wantsWrite, .end, .failed: break
            }
            return count > 0 ? .moved(count) : .wouldBlock
        } _: {
            receiver?.didReceive($0)
        }
        guard !isClosed else { return }
        switch lastResult {
        case .bytes, .paused: if hasUnreadBytes, !isPaused { scheduleRead() }
        case .wantsRead: break
        case .wantsWrite:
            isFull = true
            updatePollInterest()
        case .end: endInput()
        case .failed(let error): end(error.isAlert ? error : failure ?? error)
        }
    }

    /// Schedules another read after other work on the event loop, because OpenSSL can have more bytes, which the poller
    /// does not report.
    private func scheduleRead() {
        hasUnreadBytes = true
        guard watcher != .thread else { return }
        let bound = LoopBound(self)
        socketLoop.execute { bound.value.readUnreadBytes() }
    }

    private func readUnreadBytes() {
        guard hasUnreadBytes, !isClosed, !isPaused, handshake == nil, watcher != .thread, watcher != .promised else { return }
        read(atMost: .max)
    }

    private func end(_ failure: SocketError?) {
        self.failure = failure
        close()
    }

    // MARK: Writing

    package var isWritable: Bool { !isFull && failure == nil && !isClosed && writeState == .open }

    package func write(_ bytes: borrowing RawSpan, hasMore: Bool) {
        guard failure == nil, !isClosed, writeState == .open else { return }
        if sessions.isEmpty || unsentBytes.isEmpty && !hasMore {
            let count = unsentBytes.isEmpty ? writeDirectly(bytes, hasMore: hasMore) : 0
            if failure == nil, count < bytes.byteCount { unsentBytes.append(bytes.extracting(count...)) }
            if count == 0, !isFull { flush(hasMore: hasMore) }
        } else {
            unsentBytes.append(bytes)
            if !isFull, !hasMore || unsentBytes.count >= Self.recordSize { flush() }
        }
        updatePollInterest()
        didWrite()
    }

    package func write(file: CInt, from offset: Int64, atMost count: Int) -> FileSendResult {
        guard sessions.isEmpty else { return .unable }
        guard !isClosed, failure == nil, writeState == .open else { return .full }
        flush(hasMore: true)
        defer { updatePollInterest() }
        guard unsentBytes.isEmpty, !isFull, failure == nil else { return .full }
        let sentCount = socket.send(file: file, from: offset, atMost: count)
        if sentCount > 0 { return .sent(sentCount) }
        // After any other error, and at the end of the file, the caller reads the file itself. That read reports the
        // error or the end.
        guard sentCount == -Int(EAGAIN) else { return .unable }
        isFull = true
        return .full
    }

    private func flush(hasMore: Bool = false) {
        isFull = false
        if !unsentBytes.isEmpty {
            let count = unsentBytes.withBytes { writeDirectly($0, hasMore: hasMore) }
            if failure == nil { unsentBytes.removeFirst(count) } else { unsentBytes.removeAll() }
        }
        if writeState == .ending, unsentBytes.isEmpty { endWriting() }
    }

    package func finishWriting() {
        guard writeState == .open, !isClosed else { return }
        writeState = .ending
        if !isFull, handshake == nil { flush() }
        updatePollInterest()
        didWrite()
    }

    private func endWriting() {
        guard failure == nil else { return }
        for session in sessions.reversed() where !session.shutDown() {
            isFull = true
            return
        }
        socket.shutDownWriting()
        writeState = .ended
    }

    /// Writes bytes to the socket, or to the TLS session, without buffering them.
    ///
    /// - Returns: the number of accepted bytes. If it is smaller than the number of bytes, the socket is full, or the
    ///   connection has failed.
    private func writeDirectly(_ bytes: borrowing RawSpan, hasMore: Bool) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var sentCount = 0
            while sentCount < bytes.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[sentCount...])
                switch sessions.last.map({ unsafe $0.write(rest) }) ?? (unsafe socket.send(rest, hasMore: hasMore)) {
                case .moved(let count): sentCount += count
                case .wouldBlock, .end:
                    isFull = true
                    return sentCount
                case .failed(let error):
                    failure = error
                    return sentCount
                }
            }
            return sentCount
        }
    }

    // MARK: Interest

    /// Sets the events that the poller watches for. If a thread waits for the socket instead, wakes that thread when it
    /// must also wait until the socket is writable.
    private func updatePollInterest() {
        if watcher == .thread, isFull, waitingThread?.isWriting == false { waitingThread?.waiter.wake() }
        guard !isClosed, watcher != .promised, watcher != .thread, handshake == nil else { return }
        var interest: SocketPoller.Interest = isPaused || isInputEnded ? [] : .read
        if isFull { interest.insert(.write) }
        watch(for: interest)
    }

    private func watch(for interest: SocketPoller.Interest) {
        switch watcher {
        case .poller(interest): return
        case .none where interest.isEmpty: return
        case .poller where interest.isEmpty:
            // An empty interest is not enough, because epoll(7) always reports a hang-up.
            socketLoop.poller.stopWatching(socket.descriptor)
            watcher = .none
            return
        case .poller:
            if socketLoop.poller.changeInterest(socket.descriptor, for: interest, pollID: pollID) { watcher = .poller(interest) }
            return
        case .none, .promised, .thread:
            guard socketLoop.poller.watch(socket.descriptor, for: interest, pollID: pollID) else {
                return end(.system(errno))
            }
            watcher = .poller(interest)
        }
    }

    // MARK: The end

    /// Closes the connection because bytes are missing: the peer sees a reset, and the receiver an error.
    package func abort() {
        guard !isClosed else { return }
        failure = failure ?? .system(ECONNABORTED)
        socket.resetOnClose()
        close()
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        unsentBytes.removeAll()
        if failure == nil { for session in sessions.reversed() { session.shutDown() } }
        socketLoop.remove(self)
        switch watcher {
        case .poller: socketLoop.poller.stopWatching(socket.descriptor)
        case .none, .promised, .thread: break
        }
        if watcher == .thread {
            // The thread can still wait for this descriptor. Until it stops, no other file must get the same number.
            socket.shutDown()
        } else {
            socket.close()
        }
        let end = LoopBound((receiver: receiver, handshake: handshake, failure: failure))
        (receiver, handshake) = (nil, nil)
        socketLoop.execute {
            end.value.handshake?.connectionClosed()
            end.value.receiver?.transportDidEnd(end.value.failure)
        }
    }
}

// MARK: TLS

extension SocketConnection {
    /// The transport for the records of another TLS session.
    var recordTransport: any TLSRecordTransport {
        let transport: any TLSRecordTransport = sessions.last ?? socket
        return returnedBytes.isEmpty ? transport : PrefixedRecordTransport(returnedBytes, before: transport)
    }

    /// Returns bytes that were received. The next TLS session reads them first, or the next receiver receives them
    /// first.
    func unread(_ bytes: [UInt8]) { returnedBytes = bytes }

    /// Whether a TLS handshake has started or completed.
    var usesTLS: Bool { !sessions.isEmpty }

    /// Starts a handshake after all unsent bytes were sent. Call ``setReceiver(_:)`` after the handshake.
    func start(_ session: TLSSession, for handshake: any TLSHandshakeDriver) {
        guard !isClosed else { return handshake.connectionClosed() }
        returnedBytes = []
        nextSession = session
        self.handshake = handshake
        continueHandshake()
    }

    /// Continues the handshake after the answer to a challenge, or when the socket is ready.
    func continueHandshake() {
        guard let handshake, !isClosed else { return }
        if let session = nextSession {
            flush()
            guard unsentBytes.isEmpty else { return watch(for: .write) }
            sessions.append(session)
            nextSession = nil
        }
        let wait = handshake.proceed()
        guard self.handshake === handshake, !isClosed else { return }
        switch wait {
        case .reading: watch(for: .read)
        case .writing: watch(for: .write)
        // Only the end of the connection matters now. Bytes from the server stay in the socket.
        case .nothing: watch(for: .readHangUp)
        }
    }

    private func handleHandshake(_ events: SocketPoller.Interest) {
        guard case .poller(.readHangUp) = watcher else { return continueHandshake() }
        // The poller reports the end until the interest is removed.
        watch(for: [])
        handshake?.peerClosed()
    }
}

// MARK: A thread that waits

extension SocketConnection {
    /// Announces that the current thread will call ``drive(for:while:)``, so the poller need not watch the socket.
    ///
    /// Has no effect while another thread still waits for the socket, after its load has ended. When that thread stops
    /// waiting, the poller watches the socket.
    package func promiseDriver() {
        guard watcher != .thread, !isClosed else { return }
        if case .poller = watcher { socketLoop.poller.stopWatching(socket.descriptor) }
        watcher = .promised
    }

    /// Lets the poller watch the socket again, because the promised thread does not call ``drive(for:while:)``.
    private func returnToPoller() {
        guard watcher == .promised else { return }
        watcher = .none
        if hasUnreadBytes { scheduleRead() }
        updatePollInterest()
    }

    /// Waits for the socket's events in the calling thread, and handles them. Call it on the event loop. The thread
    /// leaves the loop while it waits.
    ///
    /// - Parameter isNeeded: called on the event loop. Returns whether the waiter's load still uses this socket.
    /// - Returns: `false` if the thread can't wait for the socket, for example during a TLS handshake.
    package func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool {
        guard !isClosed, !isPaused, watcher != .thread, handshake == nil else {
            returnToPoller()
            return false
        }
        promiseDriver()
        watcher = .thread
        var canWait = true
        while !isClosed, !isPaused, !waiter.isOver, isNeeded() {
            if hasUnreadBytes {
                read(atMost: .max)
                guard hasUnreadBytes else { continue }
                // Let other work run on the event loop between two reads.
                socketLoop.leave()
                sched_yield()
                socketLoop.enterWhenFree()
                continue
            }
            let isWriting = isFull
            waitingThread = (waiter, isWriting)
            socketLoop.leave()
            let events = try? waiter.wait(for: socket.descriptor, isWriting: isWriting)  // `try?` because the poller takes over
            socketLoop.enterWhenFree()
            guard let events else {
                canWait = false
                break
            }
            handle(SocketPoller.Interest(events))
        }
        endDriving()
        return canWait
    }

    /// Ends ``drive(for:while:)``.
    private func endDriving() {
        // If a handshake has started in the meantime, the poller already watches the socket.
        if watcher == .thread { watcher = .none }
        waitingThread = nil
        if isClosed {
            socket.close()
        } else if receiver?.isIdle != true {
            // An idle connection is not watched, because the pool checks it before the connection is used again.
            if hasUnreadBytes { scheduleRead() }
            updatePollInterest()
        }
    }
}

extension SocketPoller.Interest {
    fileprivate init(_ events: (canRead: Bool, canWrite: Bool)) {
        self = events.canRead ? .read : []
        if events.canWrite { insert(.write) }
    }
}
