// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connected socket of a ``SocketEventLoop``, in clear or with TLS. In its turns only.
package final class SocketConnection: ByteConnection, PolledSocket {
    private let sockets: SocketEventLoop
    private let socket: Socket
    private let readSize: Int
    private var receiver: (any ByteConnectionReceiver)?
    private(set) var mark: UInt64 = 0

    /// TLS sessions, each carried by the one before it; the first by the socket.
    private var sessions: [TLSSession] = []
    /// While a handshake is under way.
    private var handshake: (any TLSHandshakeDriver)?
    /// The session of a handshake that begins when everything that was written before has left.
    private var nextSession: TLSSession?
    /// What was written and not taken yet.
    private var outgoing = ByteBuffer()
    /// Whether the socket took less than there was.
    private var isFull = false
    /// Whether bytes may have been read from the socket that TLS has not given yet: the poller does not tell of them.
    private var hasUnread = false
    /// Who watches the socket.
    private var watch = Watch.none
    /// The thread that reads and writes the socket, and whether it knows that there is something to write.
    private var waiting: (waiter: LoadWaiter, isWriting: Bool)?
    private var isPaused = false
    private var isClosed = false
    private var writing = Writing.open
    /// Why nothing can be written any more; what the peer has sent is read all the same.
    private var failure: SocketError?

    private enum Writing {
        case open
        /// Ends when everything that was written has left.
        case ending
        case ended
    }

    private enum Watch: Equatable {
        case none
        case poller(SocketPoller.Interest)
        /// A thread that waits for its load is going to be told.
        case promised
        /// It waits in poll(2), or has the turn, or has left and the turn in which that is said is to come.
        case thread
    }

    /// With TLS, more than this is not read at once: what was decrypted is still in the processor's cache when it is delivered.
    private static let secureReadSize = 128 << 10
    /// Small pieces with more to come are put together into one TLS record, up to its size.
    private static let recordSize = 16 << 10

    /// - Parameters:
    ///   - socket: connected.
    ///   - readSize: how many bytes are asked for at once.
    init(_ socket: Socket, on loop: SocketEventLoop, readSize: Int) {
        self.socket = socket
        self.readSize = max(1, readSize)
        sockets = loop
    }

    /// From now on `receiver` hears of everything. It is kept until the end.
    func start(for receiver: any ByteConnectionReceiver) {
        self.receiver = receiver
        mark = sockets.add(self)
    }

    /// From now on `receiver` hears of everything in the place of the last one.
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
            // Of TLS it may be a ticket, which says nothing of the next response.
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

    /// What the poller says, or the thread that waits.
    func handle(_ happened: SocketPoller.Interest) {
        // What the poller had seen before the socket was taken from it is seen again, by the thread that was promised.
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
        guard let session = sessions.last else { return readPlain(atMost: min(readSize, limit)) }
        readSecure(session, atMost: min(readSize, Self.secureReadSize, limit))
    }

    private func readPlain(atMost size: Int) {
        switch unsafe sockets.receive(atMost: size, { unsafe socket.receive($0) }, { receiver?.didReceive($0) }) {
        case .moved, .wouldBlock: break
        case .end: end(failure)
        case .failed(let error): end(failure ?? error)
        }
    }

    private func readSecure(_ session: TLSSession, atMost size: Int) {
        var last = TLSSession.Reading.wantsRead
        hasUnread = false
        session.beginTurn()
        _ = unsafe sockets.receive(atMost: size) { buffer in
            var count = 0
            while count < buffer.count {
                last = unsafe session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
                guard case .bytes(let read) = last else { break }
                count += read
                // One more call of the system would only say so.
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

    /// TLS may have more than the poller knows of. Others have their turn before.
    private func readAgainSoon() {
        hasUnread = true
        guard watch != .thread else { return }
        let bound = TurnBound(self)
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
        // Of anything else what is at fault shows when the file is read, and its bytes are sent: also that it has ended.
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

    /// - Returns: how many bytes were taken; where that are not all, the socket is full, or nothing can be written any more.
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

    /// Has the poller watch for what is wanted now, unless a thread watches the socket itself.
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
            // It may wait for this very descriptor, whose number must not become another file's meanwhile.
            socket.shutDown()
        } else {
            socket.close()
        }
        let last = TurnBound((receiver: receiver, handshake: handshake, failure: failure))
        (receiver, handshake) = (nil, nil)
        sockets.execute {
            last.value.handshake?.connectionClosed()
            last.value.receiver?.transportDidEnd(last.value.failure)
        }
    }
}

// MARK: TLS

extension SocketConnection {
    /// What carries a further TLS session.
    var carrier: any TLSRecordTransport { sessions.last ?? socket }

    /// Whether TLS is on.
    var isSecure: Bool { !sessions.isEmpty }

    /// Begins a handshake, when everything that was written before has left; ``hand(to:)`` comes behind it.
    func start(_ session: TLSSession, for handshake: any TLSHandshakeDriver) {
        guard !isClosed else { return handshake.connectionClosed() }
        nextSession = session
        self.handshake = handshake
        continueHandshake()
    }

    /// An answer has come, or the socket is ready.
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
        // Without .read, for what the server sends is not for now; its end is.
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
    /// The thread that has the turn is going to ``carryOn(for:while:)``, so that the poller needs not know of the socket.
    ///
    /// Not where another one still waits for the socket, which its own load has left: that one watches it, and then the poller.
    package func promiseCarrier() {
        guard watch != .thread, !isClosed else { return }
        if case .poller = watch { sockets.poller.forget(socket.descriptor) }
        watch = .promised
    }

    /// The promise is not kept.
    private func leaveToPoller() {
        guard watch == .promised else { return }
        watch = .none
        if hasUnread { readAgainSoon() }
        attend()
    }

    /// Does in this thread what the socket's loop would do, and sleeps in between. In a turn, which it gives away meanwhile.
    ///
    /// - Parameter isNeeded: asked in a turn: whether the waiter's load still waits for this socket.
    /// - Returns: `false` where nothing can be done here.
    package func carryOn(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool {
        guard !isClosed, !isPaused, watch != .thread, handshake == nil else {
            leaveToPoller()
            return false
        }
        promiseCarrier()
        watch = .thread
        var canWait = true
        while !isClosed, !isPaused, !waiter.isOver, isNeeded() {
            if hasUnread {
                read(atMost: .max)
                guard hasUnread else { continue }
                // Others have their turn between two reads, as they have where the thread waits.
                sockets.leave()
                sched_yield()
                sockets.enterInTime()
                continue
            }
            let isWriting = isFull
            waiting = (waiter, isWriting)
            sockets.leave()
            let happened = try? waiter.wait(for: socket.descriptor, isWriting: isWriting)  // `try?`: the poller goes on
            sockets.enterInTime()
            guard let happened else {
                canWait = false
                break
            }
            handle(SocketPoller.Interest(happened))
        }
        endCarrying()
        return canWait
    }

    /// The thread has left the socket.
    private func endCarrying() {
        // The poller watches it where a handshake began in the thread's turn.
        if watch == .thread { watch = .none }
        waiting = nil
        if isClosed {
            socket.close()
        } else if receiver?.isIdle != true {
            // Nothing watches an idle one: it is looked at before it is used again.
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
