// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// ``Loader/finishTasksAndInvalidate()`` while other threads start loads, and with nested loads.
@Suite(.timeLimit(.minutes(5))) struct LoaderEndTests {
    private final class Recorder: LoaderDelegate {
        let log = Mutex<[String]>([])
        var entries: [String] { log.withLock { $0 } }
        func add(_ entry: String) { log.withLock { $0.append(entry) } }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { add("end \(error?.name ?? "complete")") }
        func loaderDidBecomeInvalid(_ loader: Loader) { add("invalid") }
    }

    private func makeLoader(_ handlers: [any ProtocolHandler], _ delegate: (any LoaderDelegate)? = nil) -> Loader {
        var configuration = Loader.Configuration()
        configuration.handlers = handlers
        return Loader(configuration: configuration, registry: ProtocolRegistry(), delegate: delegate)
    }

    /// A load is started on one thread, while another one ends the loader.
    @Test func delegateReceivesNothingAfterTheEndOfTheLoader() throws {
        let request = try Request("x:a")
        let handler = StubHandler { _ in .text("a") }
        var late: [[String]] = []
        for _ in 0..<2000 {
            let recorder = Recorder()
            let loader = makeLoader([handler], recorder)
            let ready = Atomic(0)
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                ready.add(1, ordering: .sequentiallyConsistent)
                // Bounded, because one thread can run both.
                for _ in 0..<10_000 where ready.load(ordering: .sequentiallyConsistent) < 2 {}
                if thread == 0 { loader.load(request, on: .immediate) { _ in } } else { loader.finishTasksAndInvalidate() }
            }
            if recorder.entries.last != "invalid" { late.append(recorder.entries) }
        }
        #expect(late.isEmpty, "\(late.count) of 2000: \(late.prefix(3))")
    }

    /// A program that waits for the end must not exit during the last call of the delegate.
    @Test func waitEndsAfterTheLastCallOfTheDelegate() async throws {
        final class Delegate: LoaderDelegate {
            let phase = ConditionLock(0)
            let log = Mutex<[String]>([])

            func loaderDidBecomeInvalid(_ loader: Loader) {
                phase.withLockBroadcasting { $0 = 1 }
                phase.wait { $0 == 2 ? () : nil }
                log.withLock { $0.append("delegate") }
            }
        }
        let delegate = Delegate()
        let loader = makeLoader([], delegate)
        try PlatformThread.start { loader.finishTasksAndInvalidate() }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                delegate.phase.wait { $0 == 1 ? () : nil }
                continuation.resume()
            }
        }
        let wait = Task {
            await loader.waitForEnd()
            delegate.log.withLock { $0.append("wait") }
        }
        for _ in 0..<100 { await Task.yield() }
        delegate.phase.withLockBroadcasting { $0 = 2 }
        await wait.value
        #expect(delegate.log.withLock { $0 } == ["delegate", "wait"])
        // The loader has ended, so the wait ends at once.
        await loader.waitForEnd()
    }

    @Test(arguments: [false, true]) func loaderWithANestedLoadEnds(isSuspended: Bool) throws {
        let inner = ManualHandler(identifier: "inner", schemes: .only(["x"]))
        let request = try Request("x:inner")
        let outer = ManualHandler(identifier: "outer", schemes: .only(["nest"]), traits: .stopsAsynchronously) { load in
            load.client.makeNestedLoad(for: request, client: load.client).startLoading()
        }
        weak var released: Recorder?
        let loader: Loader
        do {
            let recorder = Recorder()
            released = recorder
            loader = makeLoader([outer, inner], recorder)
            let own = Recorder()
            let task = loader.task(for: try Request("nest:x"), delegate: own)
            task.resume()
            #expect(inner.loads.count == 1 && loader.tasks.count == 1)
            if isSuspended { task.suspend() }
            loader.invalidateAndCancel()
            #expect(own.entries == ["end cancelled"] && recorder.entries == ["invalid"])
        }
        #expect(released == nil && loader.tasks.isEmpty)
    }
}
