// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanServiceLifecycle
import PortolanTestSupport
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(2))) struct LoaderServiceTests {
    private let handler = ManualHandler()
    private let delegate = RecordingDelegate()

    /// A group with a loader that loads one request.
    private func start() async throws -> (group: ServiceGroup, loader: Loader, load: ManualLoad) {
        let loader = loader(handler)
        loader.task(for: try Request("x:1"), delegate: delegate).resume()
        let group = ServiceGroup(services: [LoaderService(loader)], logger: Logger(label: "test"))
        return (group, loader, await handler.nextLoad())
    }

    @Test func runningTaskEndsBeforeTheService() async throws {
        let (group, loader, load) = try await start()
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        // A load that is started during the shutdown ends at once, with an error.
        while !loader.isInvalid { await Task.yield() }
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "x:2") }
        #expect(error?.code == .cancelled && load.calls == [.start])
        load.respond()
        load.finish()
        try await running.value
        #expect(delegate.error == nil)
    }

    @Test func cancelledServiceCancelsTheTasks() async throws {
        let (group, _, _) = try await start()
        let running = Task { try await group.run() }
        running.cancel()
        // `try?` because the group reports the cancellation.
        _ = try? await running.value
        await delegate.ended()
        #expect(delegate.error?.code == .cancelled)
    }

    @Test func serviceOfAnIdleLoaderEndsAtOnce() async throws {
        let group = ServiceGroup(services: [LoaderService(loader(handler))], logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
