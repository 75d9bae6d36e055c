// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// Hanging loads of a plugin use up its threads, and affect only that plugin.
@Suite(.timeLimit(.minutes(2)), .serialized) struct ThreadPoolTests {
    private let clock = ManualClock()
    private let registry = ProtocolRegistry()

    private func loader() -> Loader {
        var configuration = Loader.Configuration()
        configuration.clock = clock
        return Loader(configuration: configuration, registry: registry)
    }

    /// Loads the plugin as a program does, with its own threads.
    private func plugin(_ name: String) throws -> Plugin {
        let plugin = try Plugin(contentsOf: Fixtures.path(name))
        for handler in plugin.handlers { registry.register(handler) }
        return plugin
    }

    private func startLoads(_ count: Int, _ delegate: EventCounter, idle: Duration) throws -> [LoadTask] {
        var request = try Request("fixture://until-stopped")
        request.timeouts.idle = idle
        let tasks = (0..<count).map { [request] _ in loader().task(for: request, delegate: delegate) }
        for task in tasks { task.resume() }
        return tasks
    }

    /// Starts 64 blocking loads that occupy all threads and never end by themselves, and 6 that wait for a thread.
    private func startHangingLoads(_ delegate: EventCounter) throws -> [LoadTask] {
        let tasksWithThreads = try startLoads(64, delegate, idle: .seconds(1000))
        delegate.waitForResponses(64)
        return try tasksWithThreads + startLoads(6, delegate, idle: .seconds(10))
    }

    @Test func hangingLoadsDoNotBlockOtherPlugins() throws {
        let hangingPlugin = try plugin("fixture")
        let delegate = EventCounter()
        let tasks = try startHangingLoads(delegate)
        _ = try plugin("template")
        let greeting = ConditionLock<Int?>(nil)
        loader().load(try Request("template://greet/sea")) { result in
            let count = (try? result.get().0.count) ?? -1  // because a failure counts as a wrong count
            greeting.withLockBroadcasting { $0 = count }
        }
        #expect(greeting.wait(atMost: .seconds(30)) { $0 } == 12)
        for task in tasks { task.cancel() }
        hangingPlugin.waitUntilIdle()
    }

    @Test func timeoutNamesThePluginThatHoldsTheThreads() throws {
        let hangingPlugin = try plugin("fixture")
        let delegate = EventCounter()
        let tasks = try startHangingLoads(delegate)
        clock.advance(by: .seconds(10))
        let errors = delegate.waitForErrors(6)
        for error in errors {
            #expect(error.code == .timedOut)
            #expect(
                error.message
                    == "nothing came from 'fixture://until-stopped' for 10.0 seconds: all 64 threads that this plugin may use for "
                    + "blocking loads are busy; end some of these loads (org.portolan.fixture)")
        }
        for task in tasks { task.cancel() }
        hangingPlugin.waitUntilIdle()
    }

    /// Counts events of many tasks.
    private final class EventCounter: LoadDelegate {
        private let counts = ConditionLock((responses: 0, errors: [LoadError]()))

        func waitForResponses(_ count: Int) { counts.wait { $0.responses >= count ? () : nil } }
        func waitForErrors(_ count: Int) -> [LoadError] { counts.wait { $0.errors.count == count ? $0.errors : nil } }

        func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
            counts.withLockBroadcasting { $0.responses += 1 }
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
            counts.withLockBroadcasting { counts in if let error { counts.errors.append(error) } }
        }
    }
}
