// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A load that delivers data holds the delegate's serializer between two deliveries, until a nested load needs the
/// delegate.
@Suite(.timeLimit(.minutes(2))) struct RetainedSerializerTests {
    private let outer = ManualHandler(schemes: .only(["parent"]))
    private let inner = ManualHandler(schemes: .only(["x"]))
    private static let nestedURL = "x:1"

    /// Starts a task and delivers the first piece of its data.
    private func start(_ delegate: RecordingDelegate) throws -> (LoadTask, ManualLoad) {
        let task = loader(outer, inner).task(for: try Request("parent:1"), delegate: delegate)
        task.resume()
        let load = try #require(outer.loads.first)
        load.respond()
        load.deliver([1])
        let isRetained = task.delegateSerializer.isRetained
        #expect(isRetained)
        return (task, load)
    }

    private static func startNestedLoad(of load: ManualLoad) {
        guard let request = try? Request(nestedURL) else { return }
        load.client.makeNestedLoad(for: request, client: load.client).startLoading()
    }

    /// The events of a nested load that sends a challenge.
    private func nestedLoadEvents() throws -> [RecordingDelegate.Event] {
        [.nestedLoadBegan(try URLRecord(parsing: Self.nestedURL), depth: 1), .challenge]
    }

    private static func sendChallenge(_ load: ManualLoad?) {
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        load?.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
    }

    @Test func nestedLoadBetweenTwoPiecesIsReportedImmediately() throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        Self.startNestedLoad(of: load)
        Self.sendChallenge(inner.loads.first)
        #expect(delegate.events.suffix(3) == [.data([1])] + (try nestedLoadEvents()))
        #expect(load.deliver([2]) == .keepGoing)
        let isRetained = task.delegateSerializer.isRetained
        #expect(!isRetained)
        Self.sendChallenge(inner.loads.first)
        #expect(delegate.events.suffix(2) == [.data([2]), .challenge])
        task.cancel()
    }

    @Test func nestedLoadDuringAPieceIsReportedAfterIt() throws {
        let duringPiece = Mutex<(@Sendable () -> Void)?>(nil)
        let lastEventDuringPiece = Mutex<[RecordingDelegate.Event]>([])
        let delegateBox = Mutex<RecordingDelegate?>(nil)
        let delegate = RecordingDelegate { event, _ in
            guard event == .data([2]) else { return .keepGoing }
            duringPiece.withLock { $0 }?()
            lastEventDuringPiece.withLock { $0 = delegateBox.withLock { $0 }?.events.suffix(1) ?? [] }
            return .keepGoing
        }
        let (task, load) = try start(delegate)
        delegateBox.withLock { $0 = delegate }
        duringPiece.withLock { $0 = { [self] in (Self.startNestedLoad(of: load), Self.sendChallenge(inner.loads.first)).1 } }
        #expect(load.deliver([2]) == .keepGoing)
        #expect(lastEventDuringPiece.withLock { $0 } == [.data([2])])
        #expect(delegate.events.suffix(3) == [.data([2])] + (try nestedLoadEvents()))
        #expect(load.deliver([3]) == .keepGoing)
        load.finish()
        #expect(delegate.events.last == .finished)
        duringPiece.withLock { $0 = nil }
        delegateBox.withLock { $0 = nil }
        _ = task
    }

    @Test func nestedLoadOfASuspendedTaskIsReportedImmediately() throws {
        let delegate = RecordingDelegate()
        let (task, load) = try start(delegate)
        task.suspend()
        Self.startNestedLoad(of: load)
        #expect(delegate.events.last == (try nestedLoadEvents().first))
        #expect(load.deliver([2]) == .pause)
        task.resume()
        #expect(delegate.events.last == .data([2]))
        task.cancel()
    }

    /// One thread delivers data. Another thread starts a nested load that sends a challenge. The test runs many short
    /// tasks, because only the first challenge of a task makes the load release the serializer.
    @Test func challengeOfANestedLoadDoesNotOverlapData() throws {
        var challengeCount = 0
        for _ in 0..<200 { challengeCount += try runWithNestedChallenge() }
        #expect(challengeCount > 0, "no challenge came before the end of its load")
    }

    /// - Returns: the number of challenges that the delegate received: 0 if the task ended before the challenge.
    private func runWithNestedChallenge() throws -> Int {
        let inner = ManualHandler(schemes: .only(["x"]))
        let counts = Mutex((runningCalls: 0, overlaps: 0))
        let client = Mutex<(any ProtocolClient)?>(nil)
        let (isDelivering, isReady, isChallenged, hasEnded) = (
            ConditionLock(false), ConditionLock(false), ConditionLock(false), ConditionLock(false)
        )
        let delegate = RecordingDelegate { event, _ in
            counts.withLock {
                $0.runningCalls += 1
                if $0.runningCalls > 1 { $0.overlaps += 1 }
            }
            sched_yield()  // so that the other thread can call the delegate if the serializer does not prevent it
            if event == .data([1]) {
                isDelivering.withLockBroadcasting { $0 = true }
                isReady.wait { $0 ? () : nil }
            }
            counts.withLock { $0.runningCalls -= 1 }
            if event == .finished { hasEnded.withLockBroadcasting { $0 = true } }
            return .keepGoing
        }
        try PlatformThread.start {
            isDelivering.wait { $0 ? () : nil }
            isReady.withLockBroadcasting { $0 = true }
            if let outer = client.withLock({ $0.take() }), let request = try? Request(Self.nestedURL) {
                outer.makeNestedLoad(for: request, client: outer).startLoading()
                Self.sendChallenge(inner.loads.first)
            }
            isChallenged.withLockBroadcasting { $0 = true }
        }
        let pieces: [[UInt8]] = [[1]] + (0..<20).map { _ in [2] } + [[3]]
        let scripted = ScriptedHandler(pieces: pieces) { newClient in client.withLock { $0 = newClient } }
        let task = loader(scripted, inner).task(for: try Request("scripted:1"), delegate: delegate)
        task.resume()
        // Do not block inside the delegate: the thread that sends the challenge delivers the queued events.
        hasEnded.wait { $0 ? () : nil }
        isChallenged.wait { $0 ? () : nil }
        #expect(counts.withLock { $0.overlaps } == 0)
        #expect(delegate.body == Array(pieces.joined()))
        let challengeCount = delegate.events.count { $0 == .challenge }
        #expect(challengeCount <= 1)
        return challengeCount
    }

    /// A handler whose loads deliver these pieces.
    private struct ScriptedHandler: ProtocolHandler {
        let identifier = "org.example.scripted"
        let schemes = SchemeSet.only(["scripted"])
        let pieces: [[UInt8]]
        let onMake: @Sendable (any ProtocolClient) -> Void

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            onMake(client)
            return ScriptedLoad([.response(Response(url: request.url))] + pieces.map { .data($0) } + [.finish], client: client)
        }
    }
}
