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

/// Data retains the delegate between two deliveries, until a nested load needs the delegate.
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
        let received = Mutex<[RecordingDelegate.Event]>([])
        let box = Mutex<RecordingDelegate?>(nil)
        let delegate = RecordingDelegate { event, _ in
            guard event == .data([2]) else { return .keepGoing }
            duringPiece.withLock { $0 }?()
            received.withLock { $0 = box.withLock { $0 }?.events.suffix(1) ?? [] }
            return .keepGoing
        }
        let (task, load) = try start(delegate)
        box.withLock { $0 = delegate }
        duringPiece.withLock { $0 = { [self] in (Self.startNestedLoad(of: load), Self.sendChallenge(inner.loads.first)).1 } }
        #expect(load.deliver([2]) == .keepGoing)
        #expect(received.withLock { $0 } == [.data([2])])
        #expect(delegate.events.suffix(3) == [.data([2])] + (try nestedLoadEvents()))
        #expect(load.deliver([3]) == .keepGoing)
        load.finish()
        #expect(delegate.events.last == .finished)
        duringPiece.withLock { $0 = nil }
        box.withLock { $0 = nil }
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

    /// One thread delivers. Another thread starts a nested load that sends a challenge. There are many short loads,
    /// because only the first challenge of a load ends the retention.
    @Test func challengeOfANestedLoadDoesNotOverlapData() throws {
        var received = 0
        for _ in 0..<200 { received += try runWithNestedChallenge() }
        #expect(received > 0, "no challenge came before the end of its load")
    }

    /// - Returns: the number of challenges that the delegate received: 0 if the task ended before the challenge.
    private func runWithNestedChallenge() throws -> Int {
        let inner = ManualHandler(schemes: .only(["x"]))
        let counts = Mutex((inside: 0, overlaps: 0))
        let client = Mutex<(any ProtocolClient)?>(nil)
        let (isDelivering, isReady, isChallenged, hasEnded) = (
            ConditionLock(false), ConditionLock(false), ConditionLock(false), ConditionLock(false)
        )
        let delegate = RecordingDelegate { event, _ in
            counts.withLock {
                $0.inside += 1
                if $0.inside > 1 { $0.overlaps += 1 }
            }
            sched_yield()  // so that the other thread can enter, if the serializer does not prevent that
            if event == .data([1]) {
                isDelivering.withLockBroadcasting { $0 = true }
                isReady.wait { $0 ? () : nil }
            }
            counts.withLock { $0.inside -= 1 }
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
        let scripted = Scripted(pieces: pieces) { made in client.withLock { $0 = made } }
        let task = loader(scripted, inner).task(for: try Request("scripted:1"), delegate: delegate)
        task.resume()
        // Do not block inside the delegate: the thread that sends the challenge delivers the queued events.
        hasEnded.wait { $0 ? () : nil }
        isChallenged.wait { $0 ? () : nil }
        #expect(counts.withLock { $0.overlaps } == 0)
        #expect(delegate.body == Array(pieces.joined()))
        let received = delegate.events.count { $0 == .challenge }
        #expect(received <= 1)
        return received
    }

    private struct Scripted: ProtocolHandler {
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
