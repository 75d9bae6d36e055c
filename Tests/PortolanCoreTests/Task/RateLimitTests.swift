// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct RateLimitTests {
    private let clock = ManualClock()

    private func loader(_ handler: any ProtocolHandler, receiving: Int? = nil, sending: Int? = nil) -> Loader {
        PortolanTestSupport.loader(handler) {
            $0.clock = clock
            $0.maximumReceiveRate = receiving
            $0.maximumSendRate = sending
            $0.timeouts = Timeouts(idle: .seconds(10))
        }
    }

    // MARK: Pacer

    /// Over any series of pieces, the time is never less than the bytes need, and no more than one nanosecond for each
    /// piece is lost or gained.
    @Test(arguments: [1, 3, 1000, 1 << 20, Int.max])
    func pacerKeepsTheAverage(rate: Int) {
        var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: rate))
        var (pacer, now, total) = (RatePacer(bytesPerSecond: rate), Int64(0), 0)
        for _ in 0..<500 {
            let count = Int.random(in: 0...100_000, using: &random)
            pacer.count(count, at: now)
            total += count
            now = max(now, pacer.nextTime)
        }
        let needed = Double(total) / Double(rate) * 1e9
        #expect(abs(Double(now) - needed) <= 500 + needed * 1e-9)
    }

    @Test func pacerSavesNoUnusedTime() {
        var pacer = RatePacer(bytesPerSecond: 1000)
        pacer.count(1000, at: 0)
        pacer.count(1000, at: 60_000_000_000)
        #expect(pacer.nextTime == 61_000_000_000)
    }

    @Test func pacerDoesNotOverflow() {
        var pacer = RatePacer(bytesPerSecond: -5)
        for _ in 0..<3 { pacer.count(.max, at: .max) }
        #expect(pacer.nextTime == .max && pacer.bytesPerSecond == 1)
    }

    // MARK: Receiving

    @Test func handlerIsPausedWhileTheRateIsExceeded() throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let task = loader(handler, receiving: 1000).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 1, count: 2)) == .keepGoing)  // 2 ms: shorter than the shortest wait
        #expect(load.deliver([UInt8](repeating: 1, count: 998)) == .pause)
        clock.advance(by: .milliseconds(999))
        #expect(load.calls == [.start])
        clock.advance(by: .milliseconds(1))
        #expect(load.calls == [.start, .resume])
        // The pause is not idle time.
        #expect(load.deliver([UInt8](repeating: 1, count: 30_000)) == .pause)
        clock.advance(by: .seconds(30))
        #expect(load.calls == [.start, .resume, .resume])
        load.finish()
        #expect(delegate.body.count == 31_000 && delegate.events.last == .finished)
    }

    /// A load that is paused by its reader is not resumed by the limit.
    @Test func readerThatPausesStaysPaused() throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate { event, _ in if case .data = event { .pause } else { .keepGoing } }
        let task = loader(handler, receiving: 1000).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 1, count: 1000)) == .pause)
        clock.advance(by: .seconds(5))
        #expect(load.calls == [.start])
        task.resume()
        #expect(load.calls == [.start, .resume])
        task.cancel()
    }

    @Test func loadsShareTheRate() throws {
        let handler = ManualHandler()
        let loader = loader(handler, receiving: 1000)
        let tasks = try (0..<2).map { loader.task(for: try Request("x:\($0)"), delegate: RecordingDelegate()) }
        for task in tasks { task.resume() }
        let loads = handler.loads
        try #require(loads.count == 2)
        for load in loads {
            load.respond()
            #expect(load.deliver([UInt8](repeating: 1, count: 1000)) == .pause)
        }
        clock.advance(by: .seconds(1))
        #expect(loads.map(\.calls.count) == [2, 1])
        clock.advance(by: .seconds(1))
        #expect(loads.map(\.calls.count) == [2, 2])
        for task in tasks { task.cancel() }
    }

    /// The caller has released the task, and only the limit's timer retains it.
    @Test func pausedLoadContinuesWithoutItsCaller() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        loader(handler, receiving: 1000).task(for: try Request("x:1"), delegate: delegate).resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 1, count: 1000)) == .pause)
        clock.advance(by: .seconds(1))
        load.finish()
        #expect(delegate.events.last == .finished)
    }

    @Test func loadWithoutALimitIsNotPaused() throws {
        let handler = ManualHandler()
        let task = loader(handler, sending: 1).task(for: try Request("x:1"), delegate: RecordingDelegate())
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 1, count: 1 << 20)) == .keepGoing)
        task.cancel()
    }

    // MARK: Sending

    /// Reads the body of a request as a handler does, and returns the time and the size of each piece.
    @Test func bodyIsReadNoFasterThanTheRate() throws {
        let handler = ManualHandler()
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        let task = loader(handler, sending: 20_000).task(
            for: try Request("x:1", method: .put, body: .bytes(bytes)), delegate: RecordingDelegate())
        task.resume()
        let body = try #require(handler.loads.first?.request.body)
        #expect(body.length == 10_000 && body.isRewindable)
        let reader = try body.makeReader()
        var (received, isOver) = ([UInt8](), false)
        while !isOver {
            var result = BodyRead.end
            let isReady = Atomic(false)
            received += [UInt8](capacity: 100_000) { output in
                result = reader.read(into: &output) { isReady.store(true, ordering: .relaxed) }
            }
            switch result {
            case .bytes: continue
            case .wait: while !isReady.load(ordering: .relaxed) { clock.advance(by: .milliseconds(1)) }
            case .end: isOver = true
            case .failed(let error): throw error
            }
        }
        #expect(received == bytes)
        // The end is known when the last piece has had its time.
        #expect(clock.now >= .milliseconds(495) && clock.now <= .milliseconds(505), "\(clock.now)")
        task.cancel()
    }

    /// The limited body does not reach the next request, where it would be limited twice.
    @Test func redirectHasTheUnlimitedBody() throws {
        let handler = ManualHandler()
        let task = loader(handler, sending: 1000).task(
            for: try Request("x:1", method: .put, body: .bytes([UInt8](repeating: 1, count: 1024))), delegate: RecordingDelegate())
        task.resume()
        #expect(try #require(handler.loads.first).redirect(to: try URLRecord(parsing: "x:2")) == .stopped)
        try #require(handler.loads.count == 2)
        let reader = try #require(handler.loads[1].request.body).makeReader()
        for _ in 0..<2 {
            var result = BodyRead.end
            _ = [UInt8](capacity: 5000) { output in result = reader.read(into: &output) {} }
            if case .end = result { break }
        }
        // One count of 1,024 bytes.
        clock.advance(by: .milliseconds(1020))
        var result = BodyRead.wait
        _ = [UInt8](capacity: 5000) { output in result = reader.read(into: &output) {} }
        guard case .end = result else {
            Issue.record("the body is limited twice: \(result)")
            return
        }
        task.cancel()
    }
}
