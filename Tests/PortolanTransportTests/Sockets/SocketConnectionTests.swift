// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanCore
@testable import PortolanTransport

/// One socket, its loop, and threads that wait for it.
@Suite("Socket connections", .timeLimit(.minutes(10)))
struct SocketConnectionTests {
    /// A transport over one end of a pair. The test uses the other end.
    struct SocketFixture: Sendable {
        let loop: SocketEventLoop
        let pair: SocketPair
        let receiver: RecordingReceiver
        private let bound: LoopBound<SocketConnection>

        init(_ onReport: @escaping @Sendable (RecordingReceiver.Report) -> Void = { _ in }) throws {
            loop = try SocketEventLoop()
            pair = try SocketPair()
            receiver = RecordingReceiver(onReport)
            let transport = SocketConnection(Socket(pair.ours), on: loop, readSize: 4096)
            bound = LoopBound(transport)
            loop.inTurn { transport.start(for: receiver) }
        }

        /// Use it on the event loop only.
        var transport: SocketConnection { bound.value }

        func write(_ bytes: [UInt8]) {
            loop.inTurn { transport.write(bytes) }
        }

        /// Lets a thread wait for the socket. Returns when the thread is about to sleep. The task ends when the thread
        /// stops waiting.
        func startCarrier(_ waiter: LoadWaiter? = nil, while isNeeded: @escaping @Sendable () -> Bool) async throws -> Task<Bool, any Error>
        {
            let began = try Gate()
            let task = Task {
                try await inOwnThread {
                    let waiter = waiter ?? LoadWaiter()
                    return loop.inTurn {
                        transport.drive(for: waiter) {
                            // Read first, because the condition may change as soon as the gate is open.
                            let isNeeded = isNeeded()
                            began.open()
                            return isNeeded
                        }
                    }
                }
            }
            try await began.wait()
            return task
        }
    }

    private static let large = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    // MARK: Writing

    @Test func bytesOfAFileFollowWrittenBytes() throws {
        let fixture = try SocketFixture()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        fixture.loop.inTurn {
            fixture.transport.write(Array("head:".utf8), hasMore: true)
            #expect(fixture.transport.write(file: file.fileDescriptor, from: 2, atMost: 5) == .took(5))
            #expect(fixture.transport.write(file: file.fileDescriptor, from: 10, atMost: 5) == .unable, "the file has no bytes there")
            #expect(fixture.transport.isWritable)
        }
        #expect(fixture.pair.receive(10) == Array("head:23456".utf8))
    }

    @Test func fullSocketIsNotWritable() throws {
        let fixture = try SocketFixture()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try Data(count: 8 << 20).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        let sent = fixture.loop.inTurn {
            var sent = 0
            while case .took(let count) = fixture.transport.write(file: file.fileDescriptor, from: Int64(sent), atMost: 1 << 20) {
                sent += count
            }
            #expect(!fixture.transport.isWritable)
            return sent
        }
        #expect(sent < 8 << 20 && fixture.pair.receive(sent).count == sent)
    }

    /// An error of a file is not an error of the socket.
    @Test func unsendableFileLeavesTheSocketUsable() throws {
        let fixture = try SocketFixture()
        fixture.loop.inTurn {
            #expect(fixture.transport.write(file: -1, from: 0, atMost: 10) == .unable)
            #expect(fixture.transport.isWritable)
        }
        fixture.write(Array("ok".utf8))
        #expect(fixture.pair.receive(2) == Array("ok".utf8))
    }

    @Test func aSlowReaderGetsEverything() async throws {
        let fixture = try SocketFixture()
        fixture.write(Self.large)
        #expect(fixture.loop.inTurn { !fixture.transport.isWritable })
        let received = try await inOwnThread { fixture.pair.receive(Self.large.count, size: 1_021) }
        #expect(received == Self.large)
        let isNotified = try Gate()
        fixture.loop.execute { isNotified.open() }
        try await isNotified.wait()
        #expect(fixture.loop.inTurn { fixture.transport.isWritable })
        #expect(fixture.receiver.report.isWritableCount == 1)
    }

    @Test func writableSocketKeepsTheLoopQuiet() async throws {
        let fixture = try SocketFixture()
        fixture.write(Self.large)
        _ = try await inOwnThread { fixture.pair.receive(Self.large.count) }
        #expect(await fixture.loop.isQuiet())
    }

    @Test func writeToAClosedSocketEndsTheTransportOnce() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.ends > 0 { ended.open() } }
        fixture.pair.send("last words")
        fixture.pair.close()
        fixture.write([1, 2, 3])
        try await ended.wait()
        #expect(fixture.receiver.report.text == "last words")
        #expect(fixture.receiver.report.ends == 1)
    }

    // MARK: Reading

    @Test func pausedSocketIsReadAfterTheResume() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.ends > 0 { ended.open() } }
        fixture.loop.inTurn {
            fixture.transport.write([])
            fixture.transport.pause()
        }
        fixture.pair.send("held")
        fixture.pair.close()
        // epoll would report the end of the socket repeatedly.
        #expect(await fixture.loop.isQuiet())
        #expect(fixture.receiver.report.text.isEmpty && fixture.receiver.report.ends == 0)
        fixture.loop.inTurn { fixture.transport.resume() }
        try await ended.wait()
        #expect(fixture.receiver.report.text == "held")
    }

    @Test func unwatchedSocketDetectsBytesAndItsEnd() async throws {
        let (quiet, talking, ended) = (try SocketFixture(), try SocketFixture(), try SocketFixture())
        talking.pair.send("?")
        ended.pair.close()
        #expect(quiet.loop.inTurn { quiet.transport.isAlive })
        #expect(talking.loop.inTurn { !talking.transport.isAlive })
        #expect(ended.loop.inTurn { !ended.transport.isAlive })
    }

    // MARK: Waiting threads

    @Test func waitingThreadReadsBytes() async throws {
        let fixture = try SocketFixture()
        let carrier = try await fixture.startCarrier { [fixture] in fixture.receiver.report.text != "all" }
        fixture.pair.send("all")
        #expect(try await carrier.value)
        // The socket stays open, and the loop continues with it.
        fixture.pair.close()
        while fixture.receiver.report.ends == 0 { await Task.yield() }
        #expect(fixture.receiver.report.text == "all")
    }

    @Test func closingTheSocketWakesItsWaitingThread() async throws {
        let fixture = try SocketFixture()
        let carrier = try await fixture.startCarrier { true }
        fixture.loop.inTurn { fixture.transport.close() }
        #expect(try await carrier.value)
        #expect(try await inOwnThread { fixture.pair.hasEnded })
        while fixture.receiver.report.ends == 0 { await Task.yield() }
        #expect(fixture.receiver.report.ends == 1)
    }

    @Test func endOfAWaiterWakesItsThread() async throws {
        let fixture = try SocketFixture()
        let waiter = Mutex<LoadWaiter?>(nil)
        let carrier = Task {
            try await inOwnThread {
                let own = LoadWaiter()
                waiter.withLock { $0 = own }
                return fixture.loop.inTurn { fixture.transport.drive(for: own) { true } }
            }
        }
        while waiter.withLock({ $0 }) == nil { await Task.yield() }
        waiter.withLock { $0?.end() }
        #expect(try await carrier.value)
    }

    @Test func waitingThreadWritesTheBytesOfAnotherThread() async throws {
        let fixture = try SocketFixture()
        let carrier = try await fixture.startCarrier { [fixture] in fixture.receiver.report.text.isEmpty }
        fixture.write(Self.large)
        let received = try await inOwnThread {
            defer { fixture.pair.send("done") }
            return fixture.pair.receive(Self.large.count)
        }
        #expect(received == Self.large)
        #expect(try await carrier.value)
    }

    /// The first load may have released the socket, and another load with a waiting thread may have acquired it.
    @Test func socketHasOneWaitingThreadAtATime() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.ends > 0 { ended.open() } }
        let isNeeded = Mutex(true)
        let first = try await fixture.startCarrier { isNeeded.withLock { $0 } }
        isNeeded.withLock { $0 = false }
        let isTaken = try await inOwnThread {
            fixture.loop.inTurn {
                fixture.transport.promiseDriver()
                return fixture.transport.drive(for: LoadWaiter()) { false }
            }
        }
        #expect(!isTaken)
        fixture.pair.send("a")
        #expect(try await first.value)
        #expect(fixture.receiver.report.text == "a")
        fixture.pair.send("b")
        fixture.pair.close()
        try await ended.wait()
        #expect(fixture.receiver.report.text == "ab" && fixture.receiver.report.ends == 1)
    }
}
