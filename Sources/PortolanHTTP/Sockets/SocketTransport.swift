// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connected socket of a ``SocketLoop``. In its turns only.
final class SocketTransport: ByteTransport {
    private let sockets: SocketLoop
    private let descriptor: CInt
    private let readSize: Int
    private var receiver: (any ByteReceiver)?
    private(set) var mark: UInt64 = 0

    private var outgoing = CircularBuffer<ByteBuffer>()
    /// Whether the socket took less than there was.
    private var isFull = false
    /// Who is told of what happens to the socket.
    private var watch = Watch.none
    /// The thread that sees to the socket, and whether it knows that there is something to write.
    private var carrier: (waiter: LoadWaiter, isWriting: Bool)?
    private var moments = Moments()
    private var isPaused = false
    private var isClosed = false
    /// Why nothing can be written any more; what the peer has sent is read all the same.
    private var failure: IOError?

    private enum Watch: Equatable {
        case none
        case poller(SocketPoller.Interest)
        /// A thread that waits for its load is going to be told.
        case promised
        /// It waits in poll(2) just now, or has the turn, or has left and the turn in which that is said is to come.
        case thread
    }

    /// - Parameters:
    ///   - descriptor: of a connected, non-blocking stream socket; the transport's from now on.
    ///   - readSize: how many bytes are asked for at once.
    init(_ descriptor: CInt, on loop: SocketLoop, readSize: Int) {
        self.descriptor = descriptor
        self.readSize = max(1, readSize)
        sockets = loop
    }

    deinit {
        if !isClosed { shut(descriptor) }
    }

    /// From now on `receiver` hears of everything. It is kept until the end.
    func start(for receiver: any ByteReceiver) {
        self.receiver = receiver
        mark = sockets.add(self)
    }

    var loop: any SerialLoop { sockets }

    // MARK: Reading

    var isWatched: Bool { if case .poller = watch { !isClosed } else { false } }

    var isAlive: Bool {
        guard !isClosed else { return false }
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) < 0 && (errno == EAGAIN || errno == EINTR)
    }

    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        leaveToPoller()
        attend()
    }

    /// What the poller says, or the thread that waits.
    ///
    /// - Parameter limit: how many bytes are read.
    func handle(_ happened: SocketPoller.Interest, readingAtMost limit: Int = .max) {
        // What the poller had seen before the socket was taken from it is seen again, by the thread that was promised.
        guard !isClosed, watch != .promised else { return }
        if happened.contains(.write) {
            if isFull {
                send()
                if !isFull { receiver?.transportIsWritable() }
            }
            // A socket that takes everything would be told of for ever.
            attend()
        }
        guard !isClosed, !happened.isDisjoint(with: [.read, .hangUp, .error]) else { return }
        // Who is paused hears of nothing; and an end is told again and again.
        if isPaused { return attend() }
        let count = sockets.receive(from: descriptor, atMost: min(readSize, limit)) { receiver?.didReceive($0) }
        if count == 0 {
            end(failure)
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            end(failure ?? IOError(errnoCode: errno, reason: "recv"))
        }
    }

    private func end(_ failure: IOError?) {
        self.failure = failure
        close()
    }

    // MARK: Writing

    var isWritable: Bool { !isFull && failure == nil && !isClosed }

    func write(_ bytes: ByteBuffer) {
        if failure == nil, !isClosed { outgoing.append(bytes) }
    }

    func flush() {
        guard !isClosed else { return }
        send()
        attend()
    }

    func send(_ bytes: ByteBuffer) {
        guard outgoing.isEmpty, failure == nil, !isClosed else {
            write(bytes)
            return flush()
        }
        let count = put(bytes, isMoreToCome: false)
        if count < bytes.readableBytes, failure == nil {
            var rest = bytes
            rest.moveReaderIndex(forwardBy: count)
            outgoing.append(rest)
        }
        attend()
    }

    /// Has the kernel send bytes of a file, after all that was written (`sendfile(2)`).
    func send(file: CInt, from offset: Int64, atMost count: Int) -> FileTransfer {
        guard !isClosed, failure == nil else { return .full }
        send(isMoreToCome: true)
        defer { attend() }
        guard outgoing.isEmpty, !isFull, failure == nil else { return .full }
        let (taken, error) = withoutBrokenPipeSignal { systemSendFile(descriptor, file, offset, count) }
        if taken > 0 { return .took(taken) }
        // Of anything else what is at fault shows when the file is read, and its bytes are sent: also that it has ended.
        guard taken < 0, error == EAGAIN else { return .unable }
        isFull = true
        return .full
    }

    private func send(isMoreToCome: Bool = false) {
        isFull = false
        while let next = outgoing.first {
            let count = put(next, isMoreToCome: isMoreToCome || outgoing.count > 1)
            if failure != nil { return outgoing.removeAll() }
            guard count == next.readableBytes else {
                outgoing[outgoing.startIndex].moveReaderIndex(forwardBy: count)
                return
            }
            outgoing.removeFirst()
        }
    }

    /// - Returns: how many bytes the socket took; where that are not all, it is full, or nothing can be written any more.
    private func put(_ bytes: ByteBuffer, isMoreToCome: Bool) -> Int {
        let flags = CInt(MSG_NOSIGNAL | (isMoreToCome ? MSG_MORE : 0))
        return unsafe bytes.withUnsafeReadableBytes { bytes in
            var taken = 0
            while taken < bytes.count {
                let count = unsafe systemSend(descriptor, bytes.baseAddress.map { unsafe $0 + taken }, bytes.count - taken, flags)
                if count >= 0 {
                    taken += count
                } else if errno != EINTR {
                    if errno == EAGAIN { isFull = true } else { failure = IOError(errnoCode: errno, reason: "send") }
                    break
                }
            }
            return taken
        }
    }

    // MARK: Who is told

    /// Sees to it that the poller tells of what is wanted now, unless somebody else does.
    private func attend() {
        if watch == .thread, isFull, carrier?.isWriting == false { carrier?.waiter.wake() }
        guard !isClosed, watch != .promised, watch != .thread else { return }
        var wanted: SocketPoller.Interest = isPaused ? [] : .read
        if isFull { wanted.insert(.write) }
        watch(for: wanted)
    }

    private func watch(for wanted: SocketPoller.Interest) {
        switch watch {
        case .poller(wanted): return
        case .none where wanted.isEmpty: return
        case .poller where wanted.isEmpty:
            // Not only an empty interest: a hang-up is told even then.
            sockets.poller.forget(descriptor)
            watch = .none
            return
        case .poller:
            if sockets.poller.watchAgain(descriptor, for: wanted, mark: mark) { watch = .poller(wanted) }
            return
        case .none, .promised, .thread:
            guard sockets.poller.watch(descriptor, for: wanted, mark: mark) else {
                return end(IOError(errnoCode: errno, reason: "epoll_ctl"))
            }
            watch = .poller(wanted)
        }
    }

    // MARK: The end

    func close() {
        guard !isClosed else { return }
        isClosed = true
        outgoing.removeAll()
        sockets.remove(self)
        switch watch {
        case .poller: sockets.poller.forget(descriptor)
        case .none, .promised, .thread: break
        }
        if watch == .thread {
            // It may wait for this very descriptor, whose number must not become another file's meanwhile.
            shutdown(descriptor, CInt(SHUT_RDWR))
        } else {
            shut(descriptor)
        }
        let last = TurnBound((receiver, failure))
        receiver = nil
        sockets.execute { last.value.0?.transportDidEnd(last.value.1) }
    }
}

// MARK: A thread that waits

extension SocketTransport {
    /// The thread that has the turn is going to ``carryOn(for:while:)``, so that the poller needs not know of the socket.
    ///
    /// Not where another one still waits for the socket, which its own load has left: that one sees to it, and then the poller.
    func promiseCarrier() {
        guard watch != .thread else { return }
        if case .poller = watch { sockets.poller.forget(descriptor) }
        watch = .promised
    }

    /// The promise is not kept.
    func leaveToPoller() {
        guard watch == .promised else { return }
        watch = .none
        attend()
    }

    /// Does in this thread what the socket's loop would do, and sleeps in between. In a turn, which it gives away meanwhile.
    ///
    /// - Parameter isNeeded: asked in a turn: whether the waiter's load still waits for this socket.
    /// - Returns: `false` where nothing can be done here.
    func carryOn(for waiter: LoadWaiter, while isNeeded: () -> Bool) -> Bool {
        guard !isClosed, !isPaused, watch != .thread else {
            leaveToPoller()
            return false
        }
        promiseCarrier()
        watch = .thread
        var canWait = true
        while !isClosed, !isPaused, !waiter.isOver, isNeeded() {
            let isWriting = isFull
            carrier = (waiter, isWriting)
            sockets.leave()
            let happened = try? waiter.wait(for: descriptor, isWriting: isWriting)  // `try?`: the poller goes on
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

    /// As ``promiseCarrier()``, for ``carryOnForMoment(while:)``.
    ///
    /// - Returns: `false` where the peer's answers have taken longer.
    func promiseMoment() -> Bool {
        guard watch != .thread, moments.takeNext() else { return false }
        promiseCarrier()
        return true
    }

    /// As ``carryOn(for:while:)``, for a moment or two: the thread sleeps no longer, waits for no turn, and reads little. Ends the turn.
    func carryOnForMoment(while isNeeded: () -> Bool) {
        guard watch == .promised, !isClosed, !isPaused else {
            leaveToPoller()
            return sockets.leave()
        }
        watch = .thread
        var count = 0
        while count < Moments.mostForLoad, !isClosed, !isPaused, isNeeded() {
            count += 1
            let isWriting = isFull
            sockets.leave()
            let happened = LoadWaiter.waitForMoment(for: descriptor, isWriting: isWriting)
            guard sockets.enter() else {
                let bound = TurnBound(self)
                return sockets.execute {
                    bound.value.moments.note(isSuccess: false)
                    bound.value.endCarrying()
                }
            }
            guard let happened else { break }
            handle(SocketPoller.Interest(happened), readingAtMost: Moments.mostBytes)
        }
        moments.note(isSuccess: !isNeeded())
        endCarrying()
        sockets.leave()
    }

    /// The thread has left the socket.
    private func endCarrying() {
        watch = .none
        carrier = nil
        if isClosed {
            shut(descriptor)
        } else if receiver?.isIdle != true {
            // Nobody is told of an idle one: it is looked at before it is used again.
            attend()
        }
    }
}

/// Whether it is worth while to wait for a peer's answer for a moment: not for some time after one that took longer, then for longer and longer.
private struct Moments {
    /// Head and body often come apart; what comes in more pieces is for the loop.
    static let mostForLoad = 2
    /// Of each piece: to decode them is the thread's work, too.
    static let mostBytes = 32 << 10
    private static let shortestRest = 16
    private static let longestRest = 1024

    private var rest = 0
    /// How many loads still go without.
    private var left = 0

    /// Whether the next load gets one.
    mutating func takeNext() -> Bool {
        guard left > 0 else { return true }
        left -= 1
        return false
    }

    mutating func note(isSuccess: Bool) {
        rest = isSuccess ? 0 : min(max(Self.shortestRest, rest * 2), Self.longestRest)
        left = rest
    }
}

extension SocketPoller.Interest {
    fileprivate init(_ happened: (canRead: Bool, canWrite: Bool)) {
        self = happened.canRead ? .read : []
        if happened.canWrite { insert(.write) }
    }
}

// Out here, for inside the class the names are its own.

private func shut(_ descriptor: CInt) { _ = close(descriptor) }

private func systemSend(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: CInt) -> Int {
    unsafe send(descriptor, bytes, count, flags)
}

/// - Returns: how many bytes were taken, and, where that is negative, errno.
private func systemSendFile(_ descriptor: CInt, _ file: CInt, _ offset: Int64, _ count: Int) -> (Int, CInt) {
    while true {
        var place = off_t(offset)
        let taken = unsafe sendfile(descriptor, file, &place, count)
        if taken >= 0 || errno != EINTR { return (taken, errno) }
    }
}
