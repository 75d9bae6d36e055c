// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite struct TransferRateTests {
    @Test func rateFollowsTheTransfer() {
        var rate = TransferRate(at: .zero, 0)
        let none = rate.update(at: .zero, 500)
        let values = [(1, 1000), (2, 2000), (5, 2000)].map { rate.update(at: .seconds($0.0), $0.1) }
        // Half of the weight after three seconds.
        #expect(none == nil && values == [1000, 1000, 500])
        let slow = rate.update(at: .seconds(50), 2000)
        #expect(slow.map { $0 < 40 } == true)
    }

    @Test(arguments: [
        (100 as Int64?, 50.0 as Double?, Duration.seconds(1) as Duration?), (100, nil, nil), (nil, 50, nil), (100, 0, nil),
        (.max, 1e-9, .seconds(31_536_000)),
    ])
    func timeLeftNeedsRateAndLength(_ row: (length: Int64?, rate: Double?, time: Duration?)) {
        var progress = LoadProgress(bytesReceived: 50, expectedBytesToReceive: row.length, bytesSent: 0, expectedBytesToSend: nil)
        progress.bytesPerSecond = row.rate
        #expect(progress.timeLeft == row.time)
    }

    @Test(arguments: [
        (50 as Int64, 100 as Int64?, 0.5 as Double?, Duration.seconds(1) as Duration?), (100, 100, 1, nil), (0, 0, 1, nil),
        (50, nil, nil, nil),
    ])
    func timeLeftIsThatOfTheUploadUntilItsEnd(_ row: (sent: Int64, length: Int64?, fraction: Double?, time: Duration?)) {
        var progress = LoadProgress(bytesReceived: 0, expectedBytesToReceive: nil, bytesSent: row.sent, expectedBytesToSend: row.length)
        progress.bytesPerSecond = 50
        #expect(progress.timeLeft == row.time && progress.fractionSent == row.fraction)
        // The response can come before the whole body was sent.
        (progress.bytesReceived, progress.expectedBytesToReceive) = (50, 150)
        #expect(progress.timeLeft == .seconds(2))
    }

    @Test func updatesHaveTheRateOfAnUpload() async throws {
        let clock = ManualClock()
        let handler = ManualHandler(schemes: .only(["x"]))
        let loader = PortolanTestSupport.loader(handler) { $0.clock = clock }
        var request = try Request("x:y")
        (request.method, request.body) = (.put, .bytes([UInt8](repeating: 1, count: 3000)))
        let task = loader.task(for: request, delegate: ClosureDelegate())
        task.resume()
        var updates = task.progressUpdates(every: .seconds(1)).makeAsyncIterator()
        _ = await updates.next()
        let load = try #require(handler.loads.first)
        load.client.didSend(bodyBytes: 1000, total: 1000, expected: 3000)
        let time = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }
        let second = await updates.next()
        time.cancel()
        #expect(second?.bytesSent == 1000 && second?.bytesPerSecond.map { $0 > 0 } == true && second?.timeLeft != nil)
        task.cancel()
    }

    @Test func updatesEndWithTheTask() async throws {
        let clock = ManualClock()
        let loader = PortolanTestSupport.loader(
            AsyncHandler(identifier: "test.pieces", schemes: ["x"]) { request, client in
                try await client.didReceive(Response(url: request.url, expectedLength: 3000))
                for _ in 0..<3 {
                    try await client.didLoad([UInt8](repeating: 1, count: 1000))
                    clock.advance(by: .seconds(1))
                }
            }
        ) { $0.clock = clock }
        let task = loader.task(for: try Request("x:y"), delegate: ClosureDelegate())
        let updates = task.progressUpdates(every: .seconds(1))
        task.resume()
        var values: [LoadProgress] = []
        // Without time, the sequence waits.
        let end = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }
        for await progress in updates { values.append(progress) }
        end.cancel()
        #expect(values.last?.bytesReceived == 3000)
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.bytesReceived <= $1.bytesReceived })
    }

    @Test func cancelledReaderEndsTheSequence() async throws {
        let loader = PortolanTestSupport.loader(
            AsyncHandler(identifier: "test.silent", schemes: ["x"]) { _, _ in try await Task.sleep(for: .seconds(3600)) }
        ) { $0.clock = ManualClock() }
        let task = loader.task(for: try Request("x:y"), delegate: ClosureDelegate())
        task.resume()
        let reader = Task { () -> Int in
            var count = 0
            for await _ in task.progressUpdates() { count += 1 }
            return count
        }
        reader.cancel()
        #expect(await reader.value <= 1)
        task.cancel()
    }

    /// The sequence was made some milliseconds before the first bytes.
    @Test func constantRateIsShownSoon() {
        var rate = TransferRate(at: .zero, 0)
        _ = rate.update(at: .milliseconds(4), 0)
        var last: Double?
        for step in 1...5 { last = rate.update(at: .milliseconds(4 + 200 * step), Int64(200 * step)) }
        #expect(last.map { $0 > 800 } == true, "\(last ?? 0) bytes per second, of 1000")
    }

    @Test func cancelledReaderIsWokenInItsWait() async throws {
        let loader = loader(ManualHandler()) { ($0.clock, $0.timeouts) = (ManualClock(), Timeouts()) }
        let task = loader.task(for: try Request("x:y"), delegate: ClosureDelegate())
        task.resume()
        let (first, source) = AsyncStream.makeStream(of: Void.self)
        let reader = Task { () -> Int in
            var count = 0
            for await _ in task.progressUpdates() {
                count += 1
                source.finish()
            }
            return count
        }
        for await _ in first {}
        for _ in 0..<1000 { await Task.yield() }
        reader.cancel()
        #expect(await reader.value == 1)
        task.cancel()
    }
}
