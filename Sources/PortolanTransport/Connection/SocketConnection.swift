// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connected socket of a ``SocketEventLoop``, in clear text or with TLS. Use it on that event loop only.
package final class SocketConnection: ByteConnection, PolledSocket {
    private let sockets: SocketEventLoop
    private let socket: Socket
    private let readSize: Int
    private var receiver: (any ByteConnectionReceiver)?
    private(set) var mark: UInt64 = 0

    /// TLS sessions. The socket carries the first one, and each session carries the next.
    private var sessions: [TLSSession] = []
    /// The handshake that is under way.
    private var handshake: (any TLSHandshakeDriver)?
    /// The session of a handshake that begins after all earlier bytes were sent.
    private var nextSession: TLSSession?
    /// Bytes that were written and not accepted yet.
    private var outgoing = ByteBuffer()
    /// Whether the socket accepted fewer bytes than there were.
    private var isFull = false
    /// Whether TLS may have read bytes from the socket that it has not returned yet. The poller does not report those
    /// bytes.
    private var hasUnread = false
    /// The watcher of the socket.
    private var watch = Watch.none
    /// The thread that reads and writes the socket, and whether it knows that there are bytes to write.
    private var waiting: (waiter: LoadWaiter, isWriting: Bool)?
    private var isPaused = false
    private var isClosed = false
    private var writing = Writing.open
    /// The reason why nothing can be written any more. Bytes that the peer has sent are still read.
    private var failure: SocketError?

    private enum Writing {
        case open
        /// Ends after all written bytes were sent.
        case ending
        case ended
    }

    private enum Watch: Equatable {
        case none
        case poller(SocketPoller.Interest)
        /// A thread that waits for its load will watch the socket.
        case promised
        /// The thread waits in poll(2) or runs on the event loop. Or it has left poll(2) and reports that on the event
        /// loop soon.
        case thread
    }

    /// The maximum size of one read with TLS. With this size, decrypted bytes are still in the processor's cache when
    /// they are delivered.
    private static let secureReadSize = 128 << 10
    /// Small pieces that more bytes follow are combined into one TLS record, up to its size.
    private static let recordSize = 16 << 10

    /// - Parameters:
    ///   - socket: a connected socket.
    ///   - readSize: the maximum number of bytes for one read.
    init(_ socket: Socket, on loop: SocketEventLoop, readSize: Int) {
        self.socket = socket
        self.readSize = max(1, readSize)
        sockets = loop
    }

    /// From now on `receiver` receives all events. It is retained until the end.
    func start(for receiver: any ByteConnectionReceiver) {
        self.receiver = receiver
        mark = sockets.add(self)
    }

    /// From now on `receiver` receives all events, in place of the previous receiver.
    package func hand(to receiver: any ByteConnectionReceiver) {
        self.receiver = receiver
        handshake = nil
        isPaused = false
        if !sessions.isEmpty { readAgainSoon() }
        attend()
    }

    package var loop: any EventLoop { sockets }

    // MARK: Reading

    package var isWatched: Bool { if case .poller = watch { !isClosed } else { false } }

    package var isAlive: Bool {
        guard !isClosed else { return false }
        switch socket.sight {
        case .nothing: return true
        case .end, .failure: return false
        case .bytes:
            // With TLS the bytes may be a ticket, which says nothing about the next response.
            guard !sessions.isEmpty, !hasUnread else { return false }
            read(atMost: Self.recordSize)
            return !isClosed && socket.sight == .nothing
        }
    }

    package func pause() { isPaused = true }

    package func resume() {
        isPaused = false
        leaveToPoller()
        if hasUnread { readAgainSoon() }
        attend()
    }

    /// Handles events from the poller, or from the thread that waits.
    func handle(_ happened: SocketPoller.Interest) {
        // The poller may have seen this event before the socket was removed from it. The promised thread will see the
        // event again.
        guard !isClosed, watch != .promised else { return }
        if handshake != nil { return handleHandshake(happened) }
        if happened.contains(.write) {
            if isFull {
                sendKept()
                if isWritable { receiver?.transportIsWritable() }
            }
            // Always writable: remove the interest to avoid spinning.
            attend()
        }
        guard !isClosed, !happened.isDisjoint(with: [.read, .hangUp, .error]) else { return }
        // The poller reports an end again and again.
        if isPaused { return attend() }
        read(atMost: .max)
    }

    private func read(atMost limit: Int) {
        if let session = sessions.last { return readSecure(session, atMost: min(readSize, Self.secureReadSize, limit)) }
        switch unsafe sockets.receive(atMost: min(readSize, limit), { unsafe socket.receive($0) }, { receiver?.didReceive($0) }) {
        case .moved, .wouldBlock: break
        case .end: end(failure)
        case .failed(let error): end(failure ?? error)
        }
    }

    private func readSecure(_ session: TLSSession, atMost size: Int) {
        var last = TLSSession.Reading.wantsRead
        hasUnread = false
        session.beginIteration()
        _ = unsafe sockets.receive(atMost: size) { buffer in
            var count = 0
            while count < buffer.count {
                last = unsafe session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
                guard case .bytes(let read) = last else { break }
                count += read
                // Another system call would only confirm that the carrier is empty.
                if session.isDrained { break }
            }
            switch last {
            case .bytes: hasUnread = !session.isDrained
            case .paused: hasUnread = true
            case .wantsRead, .wantsWrite, .end, .failed: break
            }
            return count > 0 ? .moved(count) : .wouldBlock
        } _: {
            receiver?.didReceive($0)
        }
        guard !isClosed else { return }
        switch last {
        case .bytes, .paused: if hasUnread, !isPaused { readAgainSoon() }
        case .wantsRead: break
        case .wantsWrite:
            isFull = true
            attend()
        case .end: end(failure)
        case .failed(let error): end(error.isAlert ? error : failure ?? error)
        }
    }

    /// TLS may have more bytes than the poller knows of. Other work on the event loop runs first.
    private func readAgainSoon() {
        hasUnread = true
        guard watch != .thread else { return }
        let bound = LoopBound(self)
        sockets.execute { bound.value.readUnread() }
    }

    private func readUnread() {
        guard hasUnread, !isClosed, !isPaused, handshake == nil, watch != .thread, watch != .promised else { return }
        read(atMost: .max)
    }

    private func end(_ failure: SocketError?) {
        self.failure = failure
        close()
    }

    // MARK: Writing

    package var isWritable: Bool { !isFull && failure == nil && !isClosed && writing == .open }

    package func write(_ bytes: borrowing RawSpan, hasMore: Bool) {
        guard failure == nil, !isClosed, writing == .open else { return }
        if sessions.isEmpty || outgoing.isEmpty && !hasMore {
            let count = outgoing.isEmpty ? put(bytes, hasMore: hasMore) : 0
            if failure == nil, count < bytes.byteCount { outgoing.append(bytes.extracting(count...)) }
            if count == 0, !isFull { sendKept(hasMore: hasMore) }
        } else {
            outgoing.append(bytes)
            if !isFull, !hasMore || outgoing.count >= Self.recordSize { sendKept() }
        }
        attend()
    }

    package func write(file: CInt, from offset: Int64, atMost count: Int) -> FileTransfer {
        guard sessions.isEmpty else { return .unable }
        guard !isClosed, failure == nil, writing == .open else { return .full }
        sendKept(hasMore: true)
        defer { attend() }
        guard outgoing.isEmpty, !isFull, failure == nil else { return .full }
        let taken = socket.send(file: file, from: offset, atMost: count)
        if taken > 0 { return .took(taken) }
        // Any other error shows when the file is read and its bytes are sent. The end of the file does, too.
        guard taken == -Int(EAGAIN) else { return .unable }
        isFull = true
        return .full
    }

    private func sendKept(hasMore: Bool = false) {
        isFull = false
        if !outgoing.isEmpty {
            let count = outgoing.withBytes { put($0, hasMore: hasMore) }
            if failure == nil { outgoing.removeFirst(count) } else { outgoing.removeAll() }
        }
        if writing == .ending, outgoing.isEmpty { endWriting() }
    }

    package func finishWriting() {
        guard writing == .open, !isClosed else { return }
        writing = .ending
        if !isFull, handshake == nil { sendKept() }
        attend()
    }

    private func endWriting() {
        guard failure == nil else { return }
        for session in sessions.reversed() where !session.shutDown() {
            isFull = true
            return
        }
        socket.shutDownWriting()
        writing = .ended
    }

    /// - Returns: the number of accepted bytes. If some are left, the socket is full, or nothing can be written any
    ///   more.
    private func put(_ bytes: borrowing RawSpan, hasMore: Bool) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var taken = 0
            while taken < bytes.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken...])
                switch sessions.last.map({ unsafe $0.write(rest) }) ?? (unsafe socket.send(rest, hasMore: hasMore)) {
                case .moved(let count): taken += count
                case .wouldBlock, .end:
                    isFull = true
                    return taken
                case .failed(let error):
                    failure = error
                    return taken
                }
            }
            return taken
        }
    }

    // MARK: Interest

    /// Makes the poller watch for the events that are needed now, unless a thread watches the socket itself.
    private func attend() {
        if watch == .thread, isFull, waiting?.isWriting == false { waiting?.waiter.wake() }
        guard !isClosed, watch != .promised, watch != .thread, handshake == nil else { return }
        var wanted: SocketPoller.Interest = isPaused ? [] : .read
        if isFull { wanted.insert(.write) }
        watch(for: wanted)
    }

    private func watch(for wanted: SocketPoller.Interest) {
        switch watch {
        case .poller(wanted): return
        case .none where wanted.isEmpty: return
        case .poller where wanted.isEmpty:
            // An empty interest is not enough: epoll(7) reports a hang-up even then.
            sockets.poller.forget(socket.descriptor)
            watch = .none
            return
        case .poller:
            if sockets.poller.watchAgain(socket.descriptor, for: wanted, mark: mark) { watch = .poller(wanted) }
            return
        case .none, .promised, .thread:
            guard sockets.poller.watch(socket.descriptor, for: wanted, mark: mark) else {
                return end(.system(errno))
            }
            watch = .poller(wanted)
        }
    }

    // MARK: The end

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        outgoing.removeAll()
        if failure == nil { for session in sessions.reversed() { session.shutDown() } }
        sockets.remove(self)
        switch watch {
        case .poller: sockets.poller.forget(socket.descriptor)
        case .none, .promised, .thread: break
        }
        if watch == .thread {
            // The thread may wait for this descriptor. Another file must not get its number meanwhile.
            socket.shutDown()
        } else {
            socket.close()
        }
        let last = LoopBound((receiver: receiver, handshake: handshake, failure: failure))
        (receiver, handshake) = (nil, nil)
        sockets.execute {
            last.value.handshake?.connectionClosed()
            last.value.receiver?.transportDidEnd(last.value.failure)
        }
    }
}

// MARK: TLS

extension SocketConnection {
    /// The carrier of a further TLS session.
    var recordTransport: any TLSRecordTransport { sessions.last ?? socket }

    /// Whether TLS is on.
    var isSecure: Bool { !sessions.isEmpty }

    /// Begins a handshake after all earlier bytes were sent. ``hand(to:)`` follows it.
    func start(_ session: TLSSession, for handshake: any TLSHandshakeDriver) {
        guard !isClosed else { return handshake.connectionClosed() }
        nextSession = session
        self.handshake = handshake
        continueHandshake()
    }

    /// Continues the handshake when an answer has come, or when the socket is ready.
    func continueHandshake() {
        guard let handshake, !isClosed else { return }
        if let session = nextSession {
            sendKept()
            guard outgoing.isEmpty else { return watch(for: .write) }
            sessions.append(session)
            nextSession = nil
        }
        let wait = handshake.proceed()
        guard self.handshake === handshake, !isClosed else { return }
        switch wait {
        case .reading: watch(for: .read)
        case .writing: watch(for: .write)
        // Without .read, because bytes from the server are not needed yet. The end of the connection is.
        case .nothing: watch(for: .readHangUp)
        }
    }

    private func handleHandshake(_ happened: SocketPoller.Interest) {
        guard case .poller(.readHangUp) = watch else { return continueHandshake() }
        // The poller would report the end again and again.
        watch(for: [])
        handshake?.peerClosed()
    }
}

// MARK: A thread that waits

extension SocketConnection {
    /// Announces that the thread on the event loop will call ``drive(for:while:)``, so the poller need not watch the
    /// socket.
    ///
    /// Has no effect while another thread still waits for the socket, although its own load has left the socket. That
    /// thread watches the socket, and then the poller does.
    package func promiseDriver() {
        guard watch != .thread, !isClosed else { return }
        if case .poller = watch { sockets.poller.forget(socket.descriptor) }
        watch = .promised
    }

    /// Lets the poller watch the socket again, because the promised thread does not.
    private func leaveToPoller() {
        guard watch == .promised else { return }
        watch = .none
        if hasUnread { readAgainSoon() }
        attend()
    }

    /// Does the work of the socket's event loop in this thread, and sleeps in between. Call it on the event loop. The
    /// thread leaves the loop while it sleeps.
    ///
    /// - Parameter isNeeded: called on the event loop. Returns whether the waiter's load still waits for this socket.
    /// - Returns: `false` if nothing can be done here.
    package func drive(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool {
        guard !isClosed, !isPaused, watch != .thread, handshake == nil else {
            leaveToPoller()
            return false
        }
        promiseDriver()
        watch = .thread
        var canWait = true
        while !isClosed, !isPaused, !waiter.isOver, isNeeded() {
            if hasUnread {
                read(atMost: .max)
                guard hasUnread else { continue }
                // Other work runs on the event loop between two reads, as it does while the thread waits.
                sockets.leave()
                sched_yield()
                sockets.enterInTime()
                continue
            }
            let isWriting = isFull
            waiting = (waiter, isWriting)
            sockets.leave()
            let happened = try? waiter.wait(for: socket.descriptor, isWriting: isWriting)  // `try?` because the poller goes on
            sockets.enterInTime()
            guard let happened else {
                canWait = false
                break
            }
            handle(SocketPoller.Interest(happened))
        }
        endDriving()
        return canWait
    }

    /// Ends the work of a thread that has left the socket.
    private func endDriving() {
        // If a handshake began meanwhile, the poller watches the socket.
        if watch == .thread { watch = .none }
        waiting = nil
        if isClosed {
            socket.close()
        } else if receiver?.isIdle != true {
            // Nothing watches an idle connection. It is checked before it is used again.
            if hasUnread { readAgainSoon() }
            attend()
        }
    }
}

extension SocketPoller.Interest {
    fileprivate init(_ happened: (canRead: Bool, canWrite: Bool)) {
        self = happened.canRead ? .read : []
        if happened.canWrite { insert(.write) }
    }
}
