// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanCore
import PortolanRunLoop
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@Suite(.timeLimit(.minutes(1))) struct RunLoopDeliveryTests {
    private static let otherMode = RunLoop.Mode("org.portolan.test")

    /// Records the events, and whether each of them came on the thread of the run loop.
    private final class Delegate: LoadDelegate {
        let events = Mutex<[String]>([])
        let isOnThread: @Sendable () -> Bool
        let onData: @Sendable (LoadTask) -> Void

        init(isOnThread: @escaping @Sendable () -> Bool, onData: @escaping @Sendable (LoadTask) -> Void = { _ in }) {
            (self.isOnThread, self.onData) = (isOnThread, onData)
        }

        private func record(_ event: String) { events.withLock { $0.append(isOnThread() ? event : "\(event) on another thread") } }
        func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
            record("response")
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            record("\(bytes.byteCount) bytes")
            onData(task)
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { record("end \(error?.name ?? "complete")") }
    }

    private static func threeChunks(_ request: Request, _ client: AsyncClient) async throws {
        try await client.didReceive(Response(url: request.url))
        for count in 1...3 { try await client.didLoad([UInt8](repeating: 1, count: count)) }
    }

    private static let expectedEvents = ["response", "1 bytes", "2 bytes", "3 bytes", "end complete"]

    private func makeLoader() -> Loader {
        loader(AsyncHandler(identifier: "test.chunks", schemes: ["chunks"], load: Self.threeChunks))
    }

    @Test func eventsComeOnTheThreadOfTheRunLoop() async throws {
        let loader = makeLoader()
        let events = try await inOwnThread {
            let thread = ObjectIdentifier(Thread.current)
            let delegate = Delegate(isOnThread: { ObjectIdentifier(Thread.current) == thread })
            let task = loader.task(for: try Request("chunks:x"), delegate: delegate, on: DeliveryQueue(.current))
            task.resume()
            while delegate.events.withLock({ $0.last?.hasPrefix("end") != true }) {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
            return delegate.events.withLock { $0 }
        }
        #expect(events == Self.expectedEvents)
    }

    @Test func aWaitingRunLoopWakesUpForEachEvent() async throws {
        let loader = makeLoader()
        let count = try await inOwnThread {
            let ends = Mutex(0)
            let queue = DeliveryQueue(.current)
            for number in 1...200 {
                loader.load(try Request("chunks:\(number)"), on: queue) { _ in ends.withLock { $0 += 1 } }
                while ends.withLock({ $0 }) < number { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
            }
            return ends.withLock { $0 }
        }
        #expect(count == 200)
    }

    @Test func runLoopHasTheSourceUntilTheQueueIsReleased() async throws {
        let (isAttached, isReleased) = try await inOwnThread {
            let isAttached = withExtendedLifetime(DeliveryQueue(.current)) { _ in RunLoop.current.run(mode: .default, before: .now) }
            // The first run releases the source.
            _ = RunLoop.current.run(mode: .default, before: .now)
            return (isAttached, !RunLoop.current.run(mode: .default, before: .distantFuture))
        }
        #expect(isAttached && isReleased)
    }

    @Test func eventsWaitWhileTheRunLoopRunsInAnotherMode() async throws {
        let loader = makeLoader()
        let (before, after) = try await inOwnThread {
            let delegate = Delegate(isOnThread: { true })
            let isDelivered = Mutex(false)
            // The completion of another load shows that the run loop runs in its mode.
            let task = loader.task(for: try Request("chunks:x"), delegate: delegate, on: DeliveryQueue(.current, modes: [Self.otherMode]))
            task.resume()
            for _ in 1...20 {
                isDelivered.withLock { $0 = false }
                loader.load(try Request("chunks:y"), on: DeliveryQueue(.current)) { _ in isDelivered.withLock { $0 = true } }
                while !isDelivered.withLock({ $0 }) { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
            }
            let before = delegate.events.withLock { $0 }
            while delegate.events.withLock({ $0.last?.hasPrefix("end") != true }) {
                _ = RunLoop.current.run(mode: Self.otherMode, before: .distantFuture)
            }
            return (before, delegate.events.withLock { $0 })
        }
        #expect(before == [])
        #expect(after == Self.expectedEvents)
    }

    @Test func severalModesDeliverEachEventOnce() async throws {
        let loader = makeLoader()
        let events = try await inOwnThread {
            let delegate = Delegate(isOnThread: { true })
            let queue = DeliveryQueue(.current, modes: [.default, Self.otherMode])
            let task = loader.task(for: try Request("chunks:x"), delegate: delegate, on: queue)
            task.resume()
            var isOther = false
            while delegate.events.withLock({ $0.last?.hasPrefix("end") != true }) {
                _ = RunLoop.current.run(mode: isOther ? Self.otherMode : .default, before: .distantFuture)
                isOther.toggle()
            }
            return delegate.events.withLock { $0 }
        }
        #expect(events == Self.expectedEvents)
    }

    /// The delegate waits for another load on the same run loop, but on another queue.
    @Test func noEventComesWhileADelegateRunsTheRunLoop() async throws {
        let loader = makeLoader()
        let (events, depths) = try await inOwnThread {
            let depth = Mutex(0)
            let depths = Mutex<[Int]>([])
            let delegate = Delegate(isOnThread: { true }) { _ in
                let isDone = Mutex(false)
                depths.withLock { depths in
                    depths.append(
                        depth.withLock {
                            $0 += 1; return $0
                        })
                }
                // `try?` because the text is a URL.
                guard let request = try? Request("chunks:inner") else { return }
                loader.load(request, on: DeliveryQueue(.current)) { _ in isDone.withLock { $0 = true } }
                while !isDone.withLock({ $0 }) { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
                depth.withLock { $0 -= 1 }
            }
            let task = loader.task(for: try Request("chunks:x"), delegate: delegate, on: DeliveryQueue(.current))
            task.resume()
            while delegate.events.withLock({ $0.last?.hasPrefix("end") != true }) {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
            return (delegate.events.withLock { $0 }, depths.withLock { $0 })
        }
        #expect(events == Self.expectedEvents)
        #expect(depths == [1, 1, 1])
    }
}
