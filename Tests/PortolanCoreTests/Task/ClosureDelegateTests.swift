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

    @Test func waitForDataReportsProgress() throws {
        let loader = loader(StubHandler { _ in .pieces([[1, 2], [3]]) })
        let counts = Mutex<[Int64]>([])
        let delegate = ClosureDelegate(onProgress: { progress in counts.withLock { $0.append(progress.bytesReceived) } })
        _ = try loader.waitForData(for: Request("x:1"), delegate: delegate)
        #expect(counts.withLock { $0 } == [2, 3])
    }
}
