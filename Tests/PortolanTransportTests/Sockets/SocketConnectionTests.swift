// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanCore
@testable import PortolanTransport

/// A connection over one socket, its event loop, and threads that wait for the socket.
@Suite("Socket connections", .timeLimit(.minutes(10)))
struct SocketConnectionTests {
    /// A transport over one socket of a pair. The test uses the other socket.
    struct SocketFixture: Sendable {
        let loop: SocketEventLoop
        let pair: SocketPair
        let receiver: RecordingReceiver
        private let bound: LoopBound<SocketConnection>

        init(_ onReport: @escaping @Sendable (RecordingReceiver.Report) -> Void = { _ in }) throws {
            loop = try SocketEventLoop()
            pair = try SocketPair()
            receiver = RecordingReceiver(onReport)
            let transport = SocketConnection(Socket(pair.transportSocket), on: loop, readSize: 4096)
            bound = LoopBound(transport)
            loop.runExclusively { transport.start(for: receiver) }
        }

        /// Must be used on the event loop only.
        var transport: SocketConnection { bound.value }

        func write(_ bytes: [UInt8]) {
            loop.runExclusively { transport.write(bytes) }
        }

        /// Starts a thread that waits for the socket. Returns when the thread is about to sleep. The task ends when the
        /// thread stops waiting.
        func startWaitingThread(_ waiter: LoadWaiter? = nil, while isNeeded: @escaping @Sendable () -> Bool) async throws -> Task<
            Bool, any Error
        > {
            let isAboutToSleep = try Gate()
            let task = Task {
                try await inOwnThread {
                    let waiter = waiter ?? LoadWaiter()
                    return loop.runExclusively {
                        transport.drive(for: waiter) {
                            // Evaluated first, because the condition can change as soon as the gate is open.
                            let isNeeded = isNeeded()
                            isAboutToSleep.open()
                            return isNeeded
                        }
                    }
                }
            }
            try await isAboutToSleep.wait()
            return task
        }
    }

    /// 2 MiB, which do not fit in the socket's buffer.
    private static let largeBody = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    // MARK: Writing

    @Test func bytesOfAFileFollowWrittenBytes() throws {
        let fixture = try SocketFixture()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        fixture.loop.runExclusively {
            fixture.transport.write(Array("head:".utf8), hasMore: true)
            #expect(fixture.transport.write(file: file.fileDescriptor, from: 2, atMost: 5) == .sent(5))
            #expect(fixture.transport.write(file: file.fileDescriptor, from: 10, atMost: 5) == .unable, "the file has only 10 bytes")
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
        let sentByteCount = fixture.loop.runExclusively {
            var sentByteCount = 0
            while case .sent(let count) = fixture.transport.write(file: file.fileDescriptor, from: Int64(sentByteCount), atMost: 1 << 20) {
                sentByteCount += count
            }
            #expect(!fixture.transport.isWritable)
            return sentByteCount
        }
        #expect(sentByteCount < 8 << 20 && fixture.pair.receive(sentByteCount).count == sentByteCount)
    }

    /// A file that cannot be read does not end the connection.
    @Test func unsendableFileLeavesTheSocketUsable() throws {
        let fixture = try SocketFixture()
        fixture.loop.runExclusively {
            #expect(fixture.transport.write(file: -1, from: 0, atMost: 10) == .unable)
            #expect(fixture.transport.isWritable)
        }
        fixture.write(Array("ok".utf8))
        #expect(fixture.pair.receive(2) == Array("ok".utf8))
    }

    @Test func slowReaderReceivesAllBytes() async throws {
        let fixture = try SocketFixture()
        fixture.write(Self.largeBody)
        #expect(fixture.loop.runExclusively { !fixture.transport.isWritable })
        let received = try await inOwnThread { fixture.pair.receive(Self.largeBody.count, readSize: 1_021) }
        #expect(received == Self.largeBody)
        let isNotified = try Gate()
        fixture.loop.execute { isNotified.open() }
        try await isNotified.wait()
        #expect(fixture.loop.runExclusively { fixture.transport.isWritable })
        #expect(fixture.receiver.report.writableCount == 1)
    }

    @Test func writableSocketCausesNoFurtherEventsOnTheLoop() async throws {
        let fixture = try SocketFixture()
        fixture.write(Self.largeBody)
        _ = try await inOwnThread { fixture.pair.receive(Self.largeBody.count) }
        #expect(await fixture.loop.isQuiet())
    }

    @Test func writeToAClosedSocketEndsTheTransportOnce() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.endCount > 0 { ended.open() } }
        fixture.pair.send("last words")
        fixture.pair.close()
        fixture.write([1, 2, 3])
        try await ended.wait()
        #expect(fixture.receiver.report.text == "last words")
        #expect(fixture.receiver.report.endCount == 1)
    }

    // MARK: Reading

    @Test func pausedSocketIsReadAfterTheResume() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.endCount > 0 { ended.open() } }
        fixture.loop.runExclusively {
            fixture.transport.write([])
            fixture.transport.pause()
        }
        fixture.pair.send("unread")
        fixture.pair.close()
        // A loop that watches the paused socket would be woken by its end again and again.
        #expect(await fixture.loop.isQuiet())
        #expect(fixture.receiver.report.text.isEmpty && fixture.receiver.report.endCount == 0)
        fixture.loop.runExclusively { fixture.transport.resume() }
        try await ended.wait()
        #expect(fixture.receiver.report.text == "unread")
    }

    @Test func unwatchedSocketDetectsBytesAndItsEnd() async throws {
        let (openSocket, socketWithBytes, closedSocket) = (try SocketFixture(), try SocketFixture(), try SocketFixture())
        socketWithBytes.pair.send("?")
        closedSocket.pair.close()
        #expect(openSocket.loop.runExclusively { openSocket.transport.isAlive })
        #expect(socketWithBytes.loop.runExclusively { !socketWithBytes.transport.isAlive })
        #expect(closedSocket.loop.runExclusively { !closedSocket.transport.isAlive })
    }

    // MARK: Waiting threads

    @Test func waitingThreadReadsBytes() async throws {
        let fixture = try SocketFixture()
        let waitingThread = try await fixture.startWaitingThread { [fixture] in fixture.receiver.report.text != "all" }
        fixture.pair.send("all")
        #expect(try await waitingThread.value)
        // The socket stays open. From now on, the loop's own thread handles it.
        fixture.pair.close()
        while fixture.receiver.report.endCount == 0 { await Task.yield() }
        #expect(fixture.receiver.report.text == "all")
    }

    @Test func closingTheSocketWakesItsWaitingThread() async throws {
        let fixture = try SocketFixture()
        let waitingThread = try await fixture.startWaitingThread { true }
        fixture.loop.runExclusively { fixture.transport.close() }
        #expect(try await waitingThread.value)
        #expect(try await inOwnThread { fixture.pair.hasEnded })
        while fixture.receiver.report.endCount == 0 { await Task.yield() }
        #expect(fixture.receiver.report.endCount == 1)
    }

    @Test func endOfAWaiterWakesItsThread() async throws {
        let fixture = try SocketFixture()
        let waiter = Mutex<LoadWaiter?>(nil)
        let waitingThread = Task {
            try await inOwnThread {
                let newWaiter = LoadWaiter()
                waiter.withLock { $0 = newWaiter }
                return fixture.loop.runExclusively { fixture.transport.drive(for: newWaiter) { true } }
            }
        }
        while waiter.withLock({ $0 }) == nil { await Task.yield() }
        waiter.withLock { $0?.end() }
        #expect(try await waitingThread.value)
    }

    @Test func waitingThreadWritesTheBytesOfAnotherThread() async throws {
        let fixture = try SocketFixture()
        let waitingThread = try await fixture.startWaitingThread { [fixture] in fixture.receiver.report.text.isEmpty }
        fixture.write(Self.largeBody)
        let received = try await inOwnThread {
            defer { fixture.pair.send("done") }
            return fixture.pair.receive(Self.largeBody.count)
        }
        #expect(received == Self.largeBody)
        #expect(try await waitingThread.value)
    }

    /// A load can release the socket while its thread still waits for the socket. Then the thread of the next load must
    /// not wait for the same socket.
    @Test func socketHasOneWaitingThreadAtATime() async throws {
        let ended = try Gate()
        let fixture = try SocketFixture { if $0.endCount > 0 { ended.open() } }
        let isNeeded = Mutex(true)
        let waitingThread = try await fixture.startWaitingThread { isNeeded.withLock { $0 } }
        isNeeded.withLock { $0 = false }
        let isDriving = try await inOwnThread {
            fixture.loop.runExclusively {
                fixture.transport.promiseDriver()
                return fixture.transport.drive(for: LoadWaiter()) { false }
            }
        }
        #expect(!isDriving)
        fixture.pair.send("a")
        #expect(try await waitingThread.value)
        #expect(fixture.receiver.report.text == "a")
        fixture.pair.send("b")
        fixture.pair.close()
        try await ended.wait()
        #expect(fixture.receiver.report.text == "ab" && fixture.receiver.report.endCount == 1)
    }
}
