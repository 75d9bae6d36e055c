// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct ClosureDelegateTests {
    @MainActor private final class Model {
        var redirects = 0
    }

    @Test func anActorDecidesAboutARedirect() async throws {
        let target = try URLRecord(parsing: "x:2")
        let handler = StubHandler { $0.url == target ? .text("there") : .redirect(to: target) }
        let model = Model()
        let delegate = ClosureDelegate(onRedirect: { @MainActor request, _ in
            model.redirects += 1
            return .follow(request)
        })
        let (body, _) = try await loader(handler).data(for: Request("x:1"), delegate: delegate)
        #expect(body == Data("there".utf8))
        #expect(await model.redirects == 1)
    }

    @Test func delegateWithoutAClosureFollowsTheRedirect() async throws {
        let target = try URLRecord(parsing: "x:2")
        let handler = StubHandler { $0.url == target ? .text("there") : .redirect(to: target) }
        let (body, _) = try await loader(handler).data(for: Request("x:1"), delegate: ClosureDelegate())
        #expect(body == Data("there".utf8))
    }

    @Test func aClosureReturnsTheNewBody() async throws {
        let manual = ManualHandler()
        let delegate = ClosureDelegate(onNewBody: { _ in .text("again") })
        let task = loader(manual).task(for: try Request("x:1", body: .text("once")), delegate: delegate)
        task.resume()
        let load = await manual.nextLoad()
        let body = await withCheckedContinuation { continuation in load.client.needsNewBody { continuation.resume(returning: $0) } }
        #expect(body?.length == 5)
        task.cancel()
    }

    @Test("A closure delegate receives the progress of data(for:), bytes(for:) and task(for:)")
    func progressIsReported() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3]]) })
        let counts = Mutex<[Int64]>([])
        let delegate = ClosureDelegate(onProgress: { progress in counts.withLock { $0.append(progress.bytesReceived) } })
        _ = try await loader.data(for: Request("x:1"), delegate: delegate)
        #expect(counts.withLock { $0.last } == 3)
        counts.withLock { $0 = [] }
        let (chunks, _) = try await loader.bytes(for: Request("x:1"), delegate: delegate)
        #expect(try await chunks.collect().count == 3)
        #expect(counts.withLock { !$0.isEmpty && $0.allSatisfy { $0 > 0 } })
        counts.withLock { $0 = [] }
        loader.task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(counts.withLock { $0 } == [2, 3])
    }

    @Test("A closure delegate receives the end of data(for:), bytes(for:) and task(for:), with complete metrics")
    func endIsReported() async throws {
        let loader = loader(
            StubHandler { request in
                guard request.url.description != "x:2" else { throw LoadError(.notFound, message: "no") }
                return .text("x")
            })
        let ends = Mutex<[String]>([])
        let delegate = ClosureDelegate(onEnd: { task, error in
            let end = "\(task.originalRequest.url) \(task.metrics.timeToEnd != nil) \(error == nil ? "complete" : "failed")"
            ends.withLock { $0.append(end) }
        })
        _ = try await loader.data(for: Request("x:1"), delegate: delegate)
        _ = try? await loader.data(for: Request("x:2"), delegate: delegate)
        _ = try await loader.bytes(for: Request("x:3"), delegate: delegate).0.collect()
        loader.task(for: try Request("x:4"), delegate: delegate).resume()
        #expect(ends.withLock { $0 } == ["x:1 true complete", "x:2 true failed", "x:3 true complete", "x:4 true complete"])
    }

    @Test func waitForDataReportsProgress() throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3]]) })
        let counts = Mutex<[Int64]>([])
        let delegate = ClosureDelegate(onProgress: { progress in counts.withLock { $0.append(progress.bytesReceived) } })
        _ = try loader.waitForData(for: Request("x:1"), delegate: delegate)
        #expect(counts.withLock { $0 } == [2, 3])
    }
}
