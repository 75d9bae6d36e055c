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
@Suite("Sockets of a loop", .timeLimit(.minutes(10)))
struct SocketTransportTests {
    /// A transport over one end of a pair. The test uses the other end.
    struct SocketFixture: Sendable {
        let loop: SocketEventLoop
        let pair: SocketPair
        let receiver: RecordingReceiver
        private let bound: LoopBound<SocketConnection>

        init(_ heard: @escaping @Sendable (RecordingReceiver.Report) -> Void = { _ in }) throws {
            loop = try SocketEventLoop()
            pair = try SocketPair()
            receiver = RecordingReceiver(heard)
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

    @Test func bytesOfAFileComeAfterWhatWasWritten() throws {
        let bench = try SocketFixture()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        bench.loop.inTurn {
            bench.transport.write(Array("head:".utf8), hasMore: true)
            #expect(bench.transport.write(file: file.fileDescriptor, from: 2, atMost: 5) == .took(5))
            #expect(bench.transport.write(file: file.fileDescriptor, from: 10, atMost: 5) == .unable, "there are none")
            #expect(bench.transport.isWritable)
        }
        #expect(bench.pair.receive(10) == Array("head:23456".utf8))
    }

    @Test func oneThatTakesNoMoreSaysSo() throws {
        let bench = try SocketFixture()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try Data(count: 8 << 20).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        let sent = bench.loop.inTurn {
            var sent = 0
            while case .took(let count) = bench.transport.write(file: file.fileDescriptor, from: Int64(sent), atMost: 1 << 20) {
                sent += count
            }
            #expect(!bench.transport.isWritable)
            return sent
        }
        #expect(sent < 8 << 20 && bench.pair.receive(sent).count == sent)
    }

    /// An error of a file is not an error of the socket.
    @Test func aFileThatCannotBeSentLeavesTheSocketAsItIs() throws {
        let bench = try SocketFixture()
        bench.loop.inTurn {
            #expect(bench.transport.write(file: -1, from: 0, atMost: 10) == .unable)
            #expect(bench.transport.isWritable)
        }
        bench.write(Array("ok".utf8))
        #expect(bench.pair.receive(2) == Array("ok".utf8))
    }

    @Test func aSlowReaderGetsEverything() async throws {
        let bench = try SocketFixture()
        bench.write(Self.large)
        #expect(bench.loop.inTurn { !bench.transport.isWritable })
        let received = try await inOwnThread { bench.pair.receive(Self.large.count, size: 1_021) }
        #expect(received == Self.large)
        let isTold = try Gate()
        bench.loop.execute { isTold.open() }
        try await isTold.wait()
        #expect(bench.loop.inTurn { bench.transport.isWritable })
        #expect(bench.receiver.report.isWritableCount == 1)
    }

    @Test func aSocketThatTookEverythingKeepsNobodyBusy() async throws {
        let bench = try SocketFixture()
        bench.write(Self.large)
        _ = try await inOwnThread { bench.pair.receive(Self.large.count) }
        #expect(await bench.loop.isQuiet())
    }

    @Test func whatIsWrittenToAClosedSocketEndsTheTransportOnce() async throws {
        let ended = try Gate()
        let bench = try SocketFixture { if $0.ends > 0 { ended.open() } }
        bench.pair.send("last words")
        bench.pair.close()
        bench.write([1, 2, 3])
        try await ended.wait()
        #expect(bench.receiver.report.text == "last words")
        #expect(bench.receiver.report.ends == 1)
    }

    // MARK: Reading

    @Test func aPausedSocketIsReadLater() async throws {
        let ended = try Gate()
        let bench = try SocketFixture { if $0.ends > 0 { ended.open() } }
        bench.loop.inTurn {
            bench.transport.write([])
            bench.transport.pause()
        }
        bench.pair.send("held")
        bench.pair.close()
        // epoll would report the end of the socket repeatedly.
        #expect(await bench.loop.isQuiet())
        #expect(bench.receiver.report.text.isEmpty && bench.receiver.report.ends == 0)
        bench.loop.inTurn { bench.transport.resume() }
        try await ended.wait()
        #expect(bench.receiver.report.text == "held")
    }

    @Test func anUnwatchedSocketIsLookedAt() async throws {
        let (quiet, talking, ended) = (try SocketFixture(), try SocketFixture(), try SocketFixture())
        talking.pair.send("?")
        ended.pair.close()
        #expect(quiet.loop.inTurn { quiet.transport.isAlive })
        #expect(talking.loop.inTurn { !talking.transport.isAlive })
        #expect(ended.loop.inTurn { !ended.transport.isAlive })
    }

    // MARK: Waiting threads

    @Test func aWaiterReadsWhatComes() async throws {
        let bench = try SocketFixture()
        let carrier = try await bench.startCarrier { [bench] in bench.receiver.report.text != "all" }
        bench.pair.send("all")
        #expect(try await carrier.value)
        // The socket stays open, and the loop continues with it.
        bench.pair.close()
        while bench.receiver.report.ends == 0 { await Task.yield() }
        #expect(bench.receiver.report.text == "all")
    }

    @Test func aWaiterIsWokenWhereItsSocketIsClosed() async throws {
        let bench = try SocketFixture()
        let carrier = try await bench.startCarrier { true }
        bench.loop.inTurn { bench.transport.close() }
        #expect(try await carrier.value)
        #expect(try await inOwnThread { bench.pair.hasEnded })
        while bench.receiver.report.ends == 0 { await Task.yield() }
        #expect(bench.receiver.report.ends == 1)
    }

    @Test func aWaiterHearsOfItsEnd() async throws {
        let bench = try SocketFixture()
        let waiter = Mutex<LoadWaiter?>(nil)
        let carrier = Task {
            try await inOwnThread {
                let own = LoadWaiter()
                waiter.withLock { $0 = own }
                return bench.loop.inTurn { bench.transport.drive(for: own) { true } }
            }
        }
        while waiter.withLock({ $0 }) == nil { await Task.yield() }
        waiter.withLock { $0?.end() }
        #expect(try await carrier.value)
    }

    @Test func aWaiterWritesWhatAnotherThreadCouldNot() async throws {
        let bench = try SocketFixture()
        let carrier = try await bench.startCarrier { [bench] in bench.receiver.report.text.isEmpty }
        bench.write(Self.large)
        let received = try await inOwnThread {
            defer { bench.pair.send("done") }
            return bench.pair.receive(Self.large.count)
        }
        #expect(received == Self.large)
        #expect(try await carrier.value)
    }

    /// The first load may have released the socket, and another load with a waiting thread may have acquired it.
    @Test func aSocketHasOneWaiterAtATime() async throws {
        let ended = try Gate()
        let bench = try SocketFixture { if $0.ends > 0 { ended.open() } }
        let isNeeded = Mutex(true)
        let first = try await bench.startCarrier { isNeeded.withLock { $0 } }
        isNeeded.withLock { $0 = false }
        let isTaken = try await inOwnThread {
            bench.loop.inTurn {
                bench.transport.promiseDriver()
                return bench.transport.drive(for: LoadWaiter()) { false }
            }
        }
        #expect(!isTaken)
        bench.pair.send("a")
        #expect(try await first.value)
        #expect(bench.receiver.report.text == "a")
        bench.pair.send("b")
        bench.pair.close()
        try await ended.wait()
        #expect(bench.receiver.report.text == "ab" && bench.receiver.report.ends == 1)
    }
}
