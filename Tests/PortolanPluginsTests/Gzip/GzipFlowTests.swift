// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import TestThreads
import Testing

/// The gzip plugin with a slow reader, with a caller that cancels, and with a nested load that delivers on its own.
@Suite(.timeLimit(.minutes(2))) struct GzipFlowTests {
    /// The number of bytes that fill six buffers of the plugin and a part of a seventh buffer.
    private static let count = 1_700_000
    private static let zeros = GzipSample().zeros(count)
    /// A file with the same number of bytes that is not smaller than its contents.
    private static let noise = GzipSample().member((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) })
    private static let pieces = noise.pieces(of: 100_000)

    /// Returns a handler that sends this response for each `inner:` URL.
    private func innerHandler(_ response: StubResponse) -> any ProtocolHandler {
        PortolanTestSupport.StubHandler(schemes: .only(["inner"])) { _ in response }
    }

    // MARK: Pause

    @Test(arguments: [true, false], [true, false])
    func pauseAtEveryDeliveryLosesNothing(ofOnePiece: Bool, resumesInside: Bool) async throws {
        let harness = try GzipHarness(ofOnePiece ? [Self.zeros] : Self.pieces)
        let resultWithoutPauses = harness.load()
        let delegate = RecordingDelegate { event, task in
            switch event {
            case .finished, .failed: return .keepGoing
            default: break
            }
            if resumesInside { task.resume() } else { Task { task.resume() } }
            return .pause
        }
        harness.loader.task(for: try Request("gzip:inner:x"), delegate: delegate).resume()
        await delegate.ended()
        #expect(.success(delegate.body) == resultWithoutPauses)
        #expect(delegate.events.count > 7)
        #expect(delegate.events.last == .finished)
        #expect(harness.violations.isEmpty)
    }

    /// The plugin pauses the nested load by not pulling, and the buffered bytes are bounded (NEST-04).
    @Test func pausePropagatesToTheNestedLoad() async throws {
        let manual = ManualHandler(schemes: .only(["inner"]))
        let harness = try GzipHarness(manual)
        let (hasPaused, receivedCount) = (ConditionLock(false), ConditionLock(0))
        let delegate = RecordingDelegate { event, _ in
            if case .data(let bytes) = event { receivedCount.withLockBroadcasting { $0 += bytes.count } }
            guard case .response = event else { return .keepGoing }
            hasPaused.withLockBroadcasting { $0 = true }
            return .pause
        }
        let task = harness.loader.task(for: try Request("gzip:inner:x"), delegate: delegate)
        task.resume()
        let load = await manual.nextLoad()
        load.respond()
        try await inOwnThread { hasPaused.wait { $0 ? () : nil } }
        var deliveredPieceCount = 0
        while load.deliver(Self.pieces[deliveredPieceCount]) == .keepGoing { deliveredPieceCount += 1 }
        #expect(deliveredPieceCount < 4)
        #expect(delegate.body.isEmpty)
        #expect(load.calls == [.start])
        task.resume()
        for piece in Self.pieces.dropFirst(deliveredPieceCount + 1) {
            deliveredPieceCount += 1
            let minimumCount = deliveredPieceCount * 99_000  // the rest is the member's header, and five bytes per block
            try await inOwnThread { receivedCount.wait { $0 > minimumCount ? () : nil } }
            #expect(load.deliver(piece) == .keepGoing)
        }
        load.finish()
        await delegate.ended()
        #expect(delegate.body.count == Self.count)
        #expect(load.calls == [.start, .resume])
        #expect(harness.violations.isEmpty)
    }

    /// The plugin delivers decompressed data without waiting for the rest of the nested load (PERF-04).
    @Test func bytesOfASlowNestedLoadAreDeliveredImmediately() async throws {
        let manual = ManualHandler(schemes: .only(["inner"]))
        let harness = try GzipHarness(manual)
        let receivedCount = ConditionLock(0)
        let delegate = RecordingDelegate { event, _ in
            if case .data(let bytes) = event { receivedCount.withLockBroadcasting { $0 += bytes.count } }
            return .keepGoing
        }
        harness.loader.task(for: try Request("gzip:inner:x"), delegate: delegate).resume()
        let load = await manual.nextLoad()
        load.respond()
        for (index, byte) in GzipSample().member([1, 2, 3, 4, 5]).enumerated() {
            load.deliver([byte])
            let expected = min(max(index - 14, 0), 5)  // after ten bytes of header and five of the block's header
            try await inOwnThread { receivedCount.wait { $0 == expected ? () : nil } }
        }
        load.finish()
        await delegate.ended()
        #expect(delegate.body == [1, 2, 3, 4, 5])
        #expect(delegate.events.last == .finished)
    }

    // MARK: Cancel

    /// Cancels at the response and at each piece, by the delegate's result and by the task (CANCEL-01, CANCEL-08).
    @Test(arguments: 0..<7, [true, false]) func cancelAtAnyDeliveryStopsTheNestedLoad(_ stopIndex: Int, byResult: Bool) async throws {
        let manual = ManualHandler(schemes: .only(["inner"])) { load in
            load.respond()
            load.deliver(Self.zeros)
        }
        let harness = try GzipHarness(manual)
        let count = ConditionLock(0)
        let delegate = RecordingDelegate { event, task in
            if event.isAboutNestedLoad { return .keepGoing }
            let isStopEvent = count.withLock { count in
                defer { count += 1 }
                return count == stopIndex
            }
            guard isStopEvent else { return .keepGoing }
            if byResult { return .stopped }
            task.cancel()
            return .keepGoing
        }
        harness.loader.task(for: try Request("gzip:inner:x"), delegate: delegate).resume()
        await delegate.ended()
        #expect(harness.violations.isEmpty)
        #expect(manual.loads.map(\.calls) == [[.start, .stop]])
        #expect(delegate.events.count { !$0.isAboutNestedLoad } == stopIndex + 2)
        #expect(delegate.events.last == .failed(.cancelled))
    }

    /// Cancels before any event, and while the load waits for its reader.
    @Test(arguments: [true, false]) func cancelWhileWaitingStopsTheNestedLoad(isPaused: Bool) async throws {
        let manual = ManualHandler(schemes: .only(["inner"]))
        let harness = try GzipHarness(manual)
        let hasPaused = ConditionLock(false)
        let delegate = RecordingDelegate { event, _ in
            guard case .response = event else { return .keepGoing }
            hasPaused.withLockBroadcasting { $0 = true }
            return .pause
        }
        let task = harness.loader.task(for: try Request("gzip:inner:x"), delegate: delegate)
        task.resume()
        let load = await manual.nextLoad()
        if isPaused {
            load.respond()
            load.deliver(Self.zeros)
            try await inOwnThread { hasPaused.wait { $0 ? () : nil } }
        }
        task.cancel()
        await delegate.ended()
        #expect(harness.violations.isEmpty)
        #expect(load.calls == [.start, .stop])
        #expect(delegate.events.last == .failed(.cancelled))
    }

    /// The plugin does not read the rest of a malformed file.
    @Test func malformedDataStopsTheNestedLoad() async throws {
        let manual = ManualHandler(schemes: .only(["inner"])) { load in
            load.respond()
            load.deliver("no gzip")
        }
        let harness = try GzipHarness(manual)
        #expect(harness.load().error?.code == .decodingFailed)
        #expect(harness.violations.isEmpty)
        #expect(manual.loads.map(\.calls) == [[.start, .stop]])
    }

    // MARK: Nested load

    /// After any number of pieces, the parent fails with the code of the nested failure, which is the cause (NEST-02).
    @Test(arguments: [0, 1, 9, 18]) func failureOfTheNestedLoadAfterPiecesIsTheCauseOfTheParentsFailure(after count: Int) throws {
        let failure = LoadError(.connectionLost, message: "the line broke")
        var response = StubResponse.pieces(Array(Self.pieces.prefix(count)))
        response.announcesLength = false
        response.failure = failure
        let harness = try GzipHarness(innerHandler(response))
        let error = try #require(harness.load().error)
        #expect(error.code == .connectionLost)
        #expect(error.message != failure.message)
        #expect(error.underlyingError as? LoadError == failure)
        #expect(harness.violations.isEmpty)
    }

    @Test func failureOfTheNestedLoadIsTheCauseOfTheParentsFailure() throws {
        let failure = LoadError(.notFound, domain: "org.example.inner", message: "it is gone")
        let harness = try GzipHarness(PortolanTestSupport.StubHandler(schemes: .only(["inner"])) { _ in throw failure })
        let error = try #require(harness.load().error)
        #expect(error.code == failure.code)
        #expect(error.domain == failure.domain)
        #expect(error.underlyingError as? LoadError == failure)
    }

    @Test func redirectsOfTheNestedLoadAreFollowed() throws {
        let elsewhere = try URLRecord(parsing: "inner:there")
        let file = Self.zeros
        let harness = try GzipHarness(
            PortolanTestSupport.StubHandler(schemes: .only(["inner"])) {
                $0.url == elsewhere ? .pieces([file]) : .redirect(to: elsewhere)
            })
        #expect(harness.load() == .success([UInt8](repeating: 0, count: Self.count)))
        #expect(harness.violations.isEmpty)
    }

    // MARK: Depth and number

    @Test func gzipInsideGzipIsDecompressedTwice() throws {
        let harness = try GzipHarness([GzipSample().member(GzipSample().member([1, 2, 3]))])
        #expect(harness.load("gzip:gzip:inner:x") == .success([1, 2, 3]))
        #expect(harness.violations.isEmpty)
    }

    @Test func nestingDeeperThanTheLimitFails() throws {
        let response = StubResponse.pieces([GzipSample().member(GzipSample().member(GzipSample().member([1])))])
        let harness = try GzipHarness(innerHandler(response)) { $0.nestingLimit = 2 }
        #expect(harness.load("gzip:gzip:inner:x").error == nil)
        #expect(harness.load("gzip:gzip:gzip:inner:x").error?.codes.contains(.nestedTooDeep) == true)
        #expect(harness.violations.isEmpty)
    }

    /// Runs more loads than the plugin has threads. Each load has a nested load that also needs a thread, while the
    /// outer load holds its own.
    @Test func hundredsOfConcurrentLoadsAllEnd() throws {
        let harness = try GzipHarness([GzipSample().member(Self.zeros)])
        let request = try Request("gzip:gzip:inner:x")
        let bodyLengths = ConditionLock<[Int]>([])
        for _ in 0..<300 {
            harness.loader.load(request) { result in
                let count = (try? result.get().0.count) ?? -1  // because a failure counts as a wrong count
                bodyLengths.withLockBroadcasting { $0.append(count) }
            }
        }
        let counts = bodyLengths.wait { $0.count == 300 ? $0 : nil }
        #expect(Set(counts) == [Self.count])
        #expect(harness.violations.isEmpty)
    }
}

extension RecordingDelegate.Event {
    fileprivate var isAboutNestedLoad: Bool {
        switch self {
        case .nestedLoadBegan, .nestedLoadEnded: true
        default: false
        }
    }
}
