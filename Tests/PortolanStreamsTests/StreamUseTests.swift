// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import PortolanCore
@testable import PortolanStreams
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

/// Calls of several threads and of handlers that meet in one stream.
@Suite(.blocking, .timeLimit(.minutes(2))) struct StreamUseTests {
    private let folder: StreamFixture

    init() throws { folder = try StreamFixture() }

    /// A source whose first read waits for the gate. Each read returns a byte.
    private func gatedSource(_ gate: SourceGate) -> ClosureSource {
        ClosureSource { buffer, _ in
            gate.pass()
            buffer.append(7 as UInt8)
            return .bytes
        }
    }

    // MARK: Queries

    @Test func laterHandlerReceivesEventsIfTheEarlierOneIsBeingServed() throws {
        let gate = SourceGate()
        let stream = ByteInputStream(gatedSource(gate))
        let (first, second) = (EventLog(), EventLog())
        try stream.schedule(on: .background) { _, event in first.record(event) }
        stream.open()
        gate.waitUntilEntered()
        try stream.schedule(on: .background) { _, event in second.record(event) }
        gate.open()
        second.wait { $0 == [.bytesAvailable] }
        #expect(first.events == [.openCompleted])
    }

    @Test func queryOfAnotherThreadHidesNoEvent() async throws {
        let gate = SourceGate()
        let stream = ByteInputStream(gatedSource(gate))
        stream.open()
        let isAvailable = try OwnThread { stream.hasBytesAvailable }
        gate.waitUntilEntered()
        let log = EventLog()
        try stream.schedule(on: .background) { _, event in log.record(event) }
        log.wait { $0 == [.openCompleted] }
        gate.open()
        log.wait { $0.count == 2 }
        #expect(try isAvailable.result())
        #expect(log.events.last == .bytesAvailable)
    }

    @Test func readWaitsForTheQueryOfAnotherThread() async throws {
        let gate = SourceGate()
        let stream = ByteInputStream(gatedSource(gate))
        stream.open()
        let isAvailable = try OwnThread { stream.hasBytesAvailable }
        gate.waitUntilEntered()
        let bytes = try OwnThread { try stream.read(atMost: 1) }
        gate.open()
        #expect(try isAvailable.result())
        #expect(try bytes.result() == [7])
    }

    @Test func threadsThatAskAndReadNeverConflict() async throws {
        let bytes = numberedBytes(20_000)
        let stream = ByteInputStream(path: try folder.write(bytes, to: "input"))
        stream.open()
        let isOver = Mutex(false)
        let queries = try OwnThread {
            var count = 0
            while !isOver.withLock({ $0 }) {
                _ = stream.hasBytesAvailable
                count += 1
            }
            return count
        }
        let all = try readAll(stream, atMost: 3)
        isOver.withLock { $0 = true }
        #expect(all == bytes)
        #expect(try queries.result() > 0)
    }

    @Test func scheduleUnscheduleAndReadFollowEachOther() throws {
        let stream = ByteInputStream(path: try folder.write(numberedBytes(3000), to: "input"))
        stream.open()
        var all: [UInt8] = []
        for _ in 0..<3000 {
            try stream.schedule(on: .background) { _, _ in }
            stream.unschedule()
            all += try stream.read(atMost: 1)
        }
        #expect(all == numberedBytes(3000))
    }

    // MARK: Properties

    @Test(arguments: [false, true])
    func sourceThatBecomesReadyDuringAChangeWakesTheReader(isChanged: Bool) async throws {
        let waiter = Mutex<(@Sendable () -> Void)?>(nil)
        let isReady = Mutex(false)
        let source = ClosureSource(set: {
            isReady.withLock { $0 = true }
            waiter.withLock { $0.take() }?()
            return isChanged
        }) { buffer, whenReady in
            if isReady.withLock({ $0 }) { return .end }
            waiter.withLock { $0 = whenReady }
            return .wait
        }
        let stream = ByteInputStream(source)
        stream.open()
        let bytes = try OwnThread { try stream.read(atMost: 1) }
        while waiter.withLock({ $0 == nil }) { sched_yield() }
        _ = try? stream.setProperty(0, for: .currentOffset)
        #expect(try bytes.result() == [])
    }

    @Test func taskWakesAfterTheOffsetWasSet() async throws {
        let isReady = Mutex(false)
        let source = ClosureSource(set: {
            isReady.withLock { $0 = true }; return true
        }) { _, _ in isReady.withLock { $0 } ? .end : .wait }
        let stream = ByteInputStream(source)
        stream.open()
        let task = Task { try await stream.chunks().reduce(0) { $0 + $1.count } }
        while !stream.core.isWaitedFor { await Task.yield() }
        try stream.setProperty(0, for: .currentOffset)
        #expect(try await task.value == 0)
    }

    // MARK: Handlers

    /// The last reference to the owner is in the handler, and the owner uses the stream when it is released.
    @Test(arguments: ["unschedule", "close", "replace"])
    func handlerMayReleaseAnOwnerOfTheStream(way: String) throws {
        final class Owner: Sendable {
            let stream: ByteInputStream
            let log: EventLog
            init(_ stream: ByteInputStream, _ log: EventLog) { (self.stream, self.log) = (stream, log) }
            deinit {
                stream.unschedule()
                log.record(.endEncountered)
            }
        }
        let stream = ByteInputStream([1])
        let log = EventLog()
        do {
            let owner = Owner(stream, log)
            try stream.schedule(on: .background) { _, event in owner.log.record(event) }
        }
        stream.open()
        log.wait { $0.count == 2 }
        switch way {
        case "unschedule": stream.unschedule()
        case "close": stream.close()
        default: try stream.schedule(on: .background) { _, _ in }
        }
        log.wait { $0.last == .endEncountered }
    }

    @Test func handlerMayScheduleAnotherOne() throws {
        let stream = ByteInputStream(numberedBytes(3))
        let jobs = Mutex(0)
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try stream.schedule(on: .background) { stream, event in
            guard event == .bytesAvailable else { return }
            try? stream.schedule(
                on: DeliveryQueue { job in
                    jobs.withLock { $0 += 1 }
                    queue.async(execute: job)
                }
            ) { stream, event in
                log.record(event) { if event == .bytesAvailable { _ = try? stream.read(atMost: 1) } }
            }
            _ = try? stream.read(atMost: 1)
            // Jobs of the other queue have time to run.
            for _ in 1...100 { queue.sync {} }
        }
        stream.open()
        log.waitForEnd()
        #expect(log.events == [.bytesAvailable, .bytesAvailable, .endEncountered])
        #expect(jobs.withLock { $0 } < 20)
    }

    /// Without recursion: the stack would overflow.
    @Test func immediateHandlersMayReplaceEachOther() throws {
        let stream = ByteInputStream(numberedBytes(50_000))
        let count = Mutex(0)
        @Sendable func handle(_ stream: ByteInputStream, _ event: StreamEvent) {
            guard event == .bytesAvailable else { return }
            let part = try? stream.read(atMost: 1)
            count.withLock { $0 += part?.count ?? 0 }
            try? stream.schedule(on: .immediate, handle)
        }
        try stream.schedule(on: .immediate, handle)
        stream.open()
        #expect(count.withLock { $0 } == 50_000)
        #expect(stream.status == .atEnd)
    }

    @Test(arguments: OutputKind.allCases)
    func handlerMayWriteWhenTheStreamIsOpen(kind: OutputKind) async throws {
        let (stream, finish) = try kind.make(in: folder)
        let isWritten = ConditionLock<LoadError??>(nil)
        try stream.schedule(on: .immediate) { stream, event in
            guard event == .openCompleted else { return }
            let result = Result { () throws(LoadError) in try stream.write([5 as UInt8].span) }
            let error: LoadError? = if case .failure(let error) = result { error } else { nil }
            isWritten.withLockBroadcasting { $0 = .some(error) }
        }
        stream.open()
        #expect(isWritten.wait { $0 } == nil as LoadError?)
        #expect(try await finish() == [5])
    }

    /// `open` of the source has not returned when it is open.
    @Test func readWaitsForTheEndOfOpening() async throws {
        let gate = SourceGate()
        let source = ClosureSource(open: { completion in
            completion(nil)
            gate.pass()
        }) { buffer, _ in
            buffer.append(3 as UInt8)
            return .bytes
        }
        let stream = ByteInputStream(source)
        let opening = try OwnThread { stream.open() }
        gate.waitUntilEntered()
        #expect(stream.status == .opening)
        let bytes = try OwnThread { try stream.read(atMost: 1) }
        gate.open()
        try opening.result()
        #expect(try bytes.result() == [3])
    }

    @Test func handlerThatUsesNoBytesIsNotCalledAgain() throws {
        let stream = ByteInputStream([1, 2])
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try stream.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { stream, event in
            log.record(event) { if event == .bytesAvailable { _ = try? stream.withAvailableBytes { _ in 0 } } }
        }
        stream.open()
        log.wait { $0.count == 2 }
        for _ in 1...100 { queue.sync {} }
        #expect(log.events.count == 2)
    }

    @Test func openWaitsForTheQueryOfAnotherThread() throws {
        let gate = SourceGate()
        let source = ClosureSource(set: {
            gate.pass()
            return true
        }) { _, _ in .end }
        let stream = ByteInputStream(source)
        let change = try OwnThread { try stream.setProperty(0, for: .currentOffset) }
        gate.waitUntilEntered()
        let opening = try OwnThread { stream.open() }
        gate.open()
        try change.result()
        try opening.result()
        #expect(try stream.read(atMost: 1) == [])
    }

    @Test func closedStreamCannotBeScheduled() throws {
        let stream = ByteInputStream([1])
        stream.close()
        #expect { try stream.schedule(on: .background) { _, _ in } } throws: { ($0 as? LoadError)?.code == .streamNotOpen }
    }

    // MARK: Sizes

    @Test func hugeSizesAreLimited() async throws {
        let stream = ByteInputStream([1, 2, 3])
        stream.open()
        #expect(try stream.read(atMost: .max) == [1, 2, 3])
        try stream.setProperty(0, for: .currentOffset)
        for try await chunk in stream.chunks(ofAtMost: .max) { #expect(chunk == [1, 2, 3]) }
        let (input, output) = ByteInputStream.boundPair(bufferSize: .max)
        output.open()
        try output.write(all: [4])
        output.close()
        #expect(try readAll(input) == [4])
    }

    // MARK: Writing

    @Test func cancelledTaskDoesNotEndTheBytes() async throws {
        let (input, output) = ByteInputStream.boundPair(bufferSize: 10)
        input.open()
        output.open()
        let task = Task { try await output.write(numberedBytes(1000)) }
        while !input.hasBytesAvailable { await Task.yield() }
        task.cancel()
        #expect(await task.result.isFailure)
        #expect { try readAll(input) } throws: { ($0 as? LoadError)?.code == .truncated }
    }

    @Test func queryDoesNotFailAFullBuffer() throws {
        let stream = ByteOutputStream.toBuffer(capacity: 2)
        stream.open()
        while stream.hasSpaceAvailable { try stream.write(all: [1]) }
        #expect(stream.status == .open && stream.error == nil)
        stream.close()
        #expect(stream.error == nil && stream.property(.writtenBytes) == [1, 1])
    }

    @Test func writeOfNoBytesIsNoResponse() throws {
        let (input, output) = ByteInputStream.boundPair(bufferSize: 1)
        #expect { try output.write(all: []) } throws: { ($0 as? LoadError)?.code == .streamNotOpen }
        input.open()
        output.open()
        try output.write(all: [1])
        // The pair is full.
        #expect(try output.write(Span()) == 0)
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try output.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { stream, event in
            log.record(event) { _ = try? stream.write(Span()) }
        }
        #expect(try input.read(atMost: 1) == [1])
        log.wait { $0 == [.openCompleted, .spaceAvailable] }
        for _ in 1...100 { queue.sync {} }
        #expect(log.events.count == 2)
    }

    @Test func outputThatIsClosedWithoutBytesEndsTheInput() throws {
        let (input, output) = ByteInputStream.boundPair()
        output.close()
        #expect(try readAll(input) == [])
    }

    @Test func offsetOfAppendedFileIncludesOtherWriters() throws {
        let streams = (0..<2).map { _ in ByteOutputStream(path: folder.path(of: "log"), at: .appending) }
        for stream in streams { stream.open() }
        try streams[0].write(all: [1, 2, 3])
        try streams[1].write(all: [4])
        #expect(streams[1].property(.currentOffset) == 4)
    }

    @Test func hugeOffsetOfAFileIsAnError() {
        let stream = ByteOutputStream(path: folder.path(of: "new"), at: .offset(.max))
        stream.open()
        #expect { try stream.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .ioFailed }
    }

    // MARK: Descriptors

    @Test func unreadBytesStayInThePipe() throws {
        let ends = try Descriptors.pipe(isNonBlocking: true)
        let output = ByteOutputStream(descriptor: ends.write)
        output.open()
        try output.write(all: Array("HEADrest".utf8))
        let input = ByteInputStream.opened(descriptor: ends.read)
        #expect(input.hasBytesAvailable)
        #expect(try input.read(atMost: 4) == Array("HEAD".utf8))
        input.close()
        var rest = [UInt8](repeating: 0, count: 9)
        #expect(unsafe Glibc.read(ends.read, &rest, 9) == 4)
        ends.closeReadEnd()
        ends.closeWriteEnd()
    }

    @Test func readerOfAPipeSeesTheEndAtOnce() throws {
        for _ in 1...100 {
            let ends = try Descriptors.pipe(isNonBlocking: true)
            let output = ByteOutputStream(descriptor: ends.write)
            output.open()
            while output.hasSpaceAvailable { _ = try output.write(numberedBytes(5000).span) }
            output.close()
            ends.closeWriteEnd()
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            while unsafe Glibc.read(ends.read, &bytes, bytes.count) > 0 {}
            // Not EAGAIN, which would be -1.
            #expect(unsafe Glibc.read(ends.read, &bytes, 1) == 0)
            ends.closeReadEnd()
        }
    }

    @Test func datagramSocketIsRefused() {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        #expect(ByteInputStream.opened(descriptor: descriptor).error?.code == .badRequest)
        let output = ByteOutputStream(descriptor: descriptor)
        output.open()
        #expect(output.error?.code == .badRequest)
    }

    /// Without O_NONBLOCK, write(2) waits until a terminal has taken all bytes.
    @Test(.enabled(if: Terminal.isAvailable, "the system has no pseudoterminals")) func writeToATerminalDoesNotWait() throws {
        let (main, terminal) = try Terminal.ends(flags: 0)
        defer {
            close(main)
            close(terminal)
        }
        let output = ByteOutputStream(descriptor: terminal)
        output.open()
        var count = 0
        while output.hasSpaceAvailable { count += try output.write(numberedBytes(4096).span) }
        #expect(count > 0)
    }

    /// To open the main side again would make another terminal.
    @Test(.enabled(if: Terminal.isAvailable, "the system has no pseudoterminals")) func mainSideOfATerminalIsTheSameOne() throws {
        let (main, terminal) = try Terminal.ends(flags: O_NONBLOCK)
        defer {
            close(main)
            close(terminal)
        }
        let output = ByteOutputStream(descriptor: main)
        output.open()
        try output.write(all: Array("hi\n".utf8))
        let input = ByteInputStream.opened(descriptor: terminal)
        #expect(try input.read(atMost: 10) == Array("hi\n".utf8))
    }

    @Test func modesOfThePipeOfTheCallerDoNotMatter() throws {
        let ends = try Descriptors.pipe(isNonBlocking: true)
        let output = ByteOutputStream(descriptor: ends.write)
        output.open()
        _ = fcntl(ends.write, F_SETFL, O_WRONLY)
        let count = try output.write(numberedBytes(1 << 20).span)
        #expect(0 < count && count < 1 << 20)
        #expect(!output.hasSpaceAvailable)
        ends.closeReadEnd()
        ends.closeWriteEnd()
    }

    @Test func pathOfAFIFOIsRefused() throws {
        let path = folder.path(of: "fifo")
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let output = ByteOutputStream(path: path)
        output.open()
        #expect(output.error?.code == .notRegularFile)
        // POLLHUP would mean that a writer was there.
        var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        #expect(unsafe poll(&entry, 1, 0) == 0)
    }

    // MARK: Bodies

    @Test func bodyThatWaitedCanBeSentAgain() throws {
        let mustWait = Mutex(true)
        let source = ClosureSource(offset: 0, set: { true }) { buffer, _ in
            let waits = mustWait.withLock { waits in
                defer { waits = false }
                return waits
            }
            if waits { return .wait }
            return .end
        }
        let body = Body.stream(ByteInputStream(source))
        let first = ByteInputStream(body)
        first.open()
        #expect(!first.hasBytesAvailable)
        first.close()
        #expect(try readAll(ByteInputStream(body)) == [])
    }

    @Test func streamWhoseOffsetCannotBeSetIsNotSentAgain() throws {
        let source = ClosureSource(offset: 0) { _, _ in .end }
        let body = Body.stream(ByteInputStream(source))
        #expect(!body.isRewindable)
        #expect(try readAll(ByteInputStream(body)) == [])
        body.discard()
        #expect(source.isClosed)
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

/// A pseudoterminal: pty(7). A container may have none.
private enum Terminal {
    static var isAvailable: Bool { unsafe access("/dev/ptmx", R_OK | W_OK) == 0 && access("/dev/pts/ptmx", F_OK) == 0 }

    /// TIOCSPTLCK and TIOCGPTN of ioctl_tty(2). Swift does not see posix_openpt(3).
    ///
    /// - Parameter flags: for opening the terminal itself.
    static func ends(flags: Int32) throws -> (main: Int32, terminal: Int32) {
        let main = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number) = (CInt(0), CInt(0))
        guard unsafe ioctl(main, 0x4004_5431, &lock) == 0, unsafe ioctl(main, 0x8004_5430, &number) == 0 else {
            throw LoadError(.noResources, message: "no terminal")
        }
        return (main, unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC | flags))
    }
}
