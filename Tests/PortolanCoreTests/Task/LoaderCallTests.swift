// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// The calls of a loader: `data`, `bytes`, `load` and `waitForData`.
@Suite(.timeLimit(.minutes(2))) struct LoaderCallTests {
    @Test func dataCollectsThePieces() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3], [4, 5]]) })
        let (body, response) = try await loader.data(from: "x:1")
        #expect(Array(body) == [1, 2, 3, 4, 5])
        #expect(response.expectedLength == 5)
    }

    @Test func dataThrowsTheErrorOfTheLoad() async throws {
        let loader = loader(StubHandler { _ in throw LoadError(.notFound, message: "nothing there") })
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x:1") }
        #expect(error == LoadError(.notFound, message: "nothing there"))
    }

    @Test func bodyAboveTheLimitFailsTheLoad() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3, 4], [5]]) }) { $0.maximumBodySizeInMemory = 4 }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x:1") }
        #expect(error.code == .limitExceeded)
    }

    /// The limit of the request, by the length that is announced and by the bytes that come.
    @Test(arguments: [(4, 5, true), (5, 5, false), (4, nil, true), (5, nil, false), (nil, 5, false)] as [(Int64?, Int64?, Bool)])
    func bodyAboveTheLimitOfTheRequestFailsTheLoad(limit: Int64?, length: Int64?, fails: Bool) async throws {
        let handler = ManualHandler { load in
            load.respond(expectedLength: length)
            load.deliver("12345")
            load.client.didFinishLoading()
        }
        var request = try Request("x:1")
        request.maximumBodySize = limit
        do {
            let (body, _) = try await loader(handler).data(for: request)
            #expect(body.count == 5 && !fails)
        } catch {
            #expect(fails && error.code == .limitExceeded)
            #expect(error.message.contains(length == nil ? "is larger, and the limit is 4 bytes" : "has 5 bytes, and the limit is 4 bytes"))
        }
    }

    @Test func announcedLengthIsNotAllocatedInAdvance() async throws {
        let handler = ManualHandler { load in
            load.respond(expectedLength: .max)
            load.client.didFail(with: LoadError(.connectionLost, message: "gone"))
        }
        let error = try await #require(throws: LoadError.self) { try await loader(handler).data(from: "x:1") }
        #expect(error.code == .connectionLost)
    }

    @Test func dataReturnsTheLastOfSeveralParts() async throws {
        let handler = ManualHandler(traits: .multipart) { load in
            load.respond()
            load.deliver("first")
            load.respond()
            load.deliver("last")
            load.finish()
        }
        let (body, _) = try await loader(handler).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "last")
    }

    @Test func aLoadThatEndsLaterResumesItsCaller() async throws {
        let handler = ManualHandler()
        let loader = loader(handler)
        async let result = loader.data(from: "x:1")
        let load = await handler.nextLoad()
        load.respond()
        load.deliver("later")
        load.finish()
        #expect(try await String(decoding: result.0, as: UTF8.self) == "later")
    }

    @Test func theCompletionHandlerIsCalledOnce() async throws {
        let calls = Mutex<[String]>([])
        let loader = loader(StubHandler { _ in .text("hello") })
        loader.load(try Request("x:1"), on: .immediate) { result in
            let text = (try? result.get()).map { String(decoding: $0.0, as: UTF8.self) } ?? "failed"
            calls.withLock { $0.append(text) }
        }
        #expect(calls.withLock { $0 } == ["hello"])
    }

    @Test func blockingCallWaitsForTheLoad() throws {
        let handler = ManualHandler { load in
            let thread = LoadThreadPool(limit: 1)
            try? thread.run {
                load.respond()
                load.deliver("from another thread")
                load.finish()
            }
        }
        let (body, _) = try loader(handler).waitForData(for: Request("x:1"))
        #expect(String(decoding: body, as: UTF8.self) == "from another thread")
    }

    @Test("The delegate of each call receives the end, with complete metrics", arguments: [false, true])
    func delegatesReceiveTheEnd(fails: Bool) async throws {
        let handler = ManualHandler { load in
            load.client.didReach(.connected)
            load.respond()
            load.client.didTransfer(TransferReport(networkProtocol: "h2"))
            if fails { load.client.didFail(with: LoadError(.truncated, message: "half of it")) } else { load.finish() }
        }
        let loader = loader(handler)
        let delegates = (0..<4).map { _ in EndDelegate() }
        _ = try? await loader.data(for: Request("x:1"), delegate: delegates[0])
        #expect(delegates[0].ends.withLock { $0.count } == 1, "before the call returns")
        _ = try? await loader.bytes(for: Request("x:1"), delegate: delegates[1]).0.collect()
        await withCheckedContinuation { continuation in
            _ = try? loader.load(Request("x:1"), delegate: delegates[2]) { _ in continuation.resume() }
        }
        await Self.wait(for: delegates[3], by: loader)
        for delegate in delegates {
            let end = try #require(delegate.ends.withLock { $0.count == 1 ? $0.first : nil })
            #expect(end.error == (fails ? .truncated : nil))
            #expect(end.metrics.timings.count == 1 && end.metrics.timeToEnd != nil)
        }
    }

    /// Loads `x:1` with `waitForData(for:)` on another thread, and returns after the call.
    private static func wait(for delegate: EndDelegate, by loader: Loader) async {
        await withCheckedContinuation { continuation in
            do {
                try LoadThreadPool.shared.run {
                    _ = try? loader.waitForData(for: Request("x:1"), delegate: delegate)
                    continuation.resume()
                }
            } catch { continuation.resume() }
        }
    }

    @Test func bytesComeInOrder() async throws {
        let pieces = (0..<100).map { [UInt8](repeating: UInt8($0), count: 20_000) }
        let loader = loader(StubHandler { _ in .pieces(pieces) }) { $0.bufferSize = 50_000 }
        let (chunks, response) = try await loader.bytes(from: "x:1")
        #expect(response.expectedLength == 2_000_000)
        var body: [UInt8] = []
        for try await chunk in chunks { body += chunk }
        #expect(body == Array(pieces.joined()))
    }

    @Test func aSlowReaderPausesTheHandler() async throws {
        let handler = ManualHandler()
        let loader = loader(handler) { $0.bufferSize = 100 }
        async let result = loader.bytes(from: "x:1")
        let load = await handler.nextLoad()
        load.respond()
        let (chunks, _) = try await result
        let piece = [UInt8](repeating: 1, count: 60)
        #expect(load.deliver(piece) == .keepGoing)
        #expect(load.deliver(piece) == .pause)
        #expect(load.calls == [.start])
        var iterator = chunks.makeAsyncIterator()
        _ = try await iterator.next()
        #expect(load.calls == [.start, .resume])
        #expect(load.deliver(piece) == .keepGoing)
        load.finish()
        var remainingByteCount = 0
        while let chunk = try await iterator.next() { remainingByteCount += chunk.count }
        #expect(remainingByteCount == 60)
    }

    @Test func releasingTheBytesCancelsTheLoad() async throws {
        let handler = ManualHandler()
        let loader = loader(handler)
        do {
            async let result = loader.bytes(from: "x:1")
            await handler.nextLoad().respond()
            _ = try await result
        }
        #expect(handler.loads.first?.calls == [.start, .stop])
    }

    @Test func errorIsThrownAfterTheBufferedBytes() async throws {
        var response = StubResponse.pieces([[1], [2]])
        response.announcesLength = false
        response.failure = LoadError(.connectionLost, message: "gone")
        let loader = loader(StubHandler { [response] _ in response })
        let (chunks, _) = try await loader.bytes(from: "x:1")
        var body: [UInt8] = []
        let error = try await #require(throws: LoadError.self) { for try await chunk in chunks { body += chunk } }
        #expect(error.code == .connectionLost)
        #expect(body == [1, 2])
    }

    @Test func cancellingTheTaskThatReadsCancelsTheLoad() async throws {
        let handler = ManualHandler()
        let loader = loader(handler)
        let reader = Task { try await loader.data(from: "x:1") }
        let load = await handler.nextLoad()
        reader.cancel()
        let error = try await #require(throws: LoadError.self) { try await reader.value }
        #expect(error.code == .cancelled)
        #expect(load.calls == [.start, .stop])
    }
}

/// A delegate that records the end of its loads.
private final class EndDelegate: LoadDelegate {
    let ends = Mutex<[(error: LoadError.Code?, metrics: LoadMetrics)]>([])

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        ends.withLock { $0.append((error?.code, task.metrics)) }
    }
}
