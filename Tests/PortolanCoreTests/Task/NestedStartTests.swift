// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Loads that are started by the end of the load before.
@Suite(.timeLimit(.minutes(2))) struct NestedStartTests {
    @Test func aLongChainOfLoadsNeedsLittleStack() async throws {
        let loader = loader(StubHandler { _ in .pieces([[1]]) })
        let request = try Request("x:1")
        let remaining = await withCheckedContinuation { continuation in
            Chain(loader, request, count: 20_000) { continuation.resume(returning: $0) }.loadNext()
        }
        #expect(remaining == 0)
    }

    @Test func startsInsideEachOtherHaveALimit() {
        func depth() -> Int {
            var inner = 0
            return NestedStarts.run { inner = depth() } ? inner + 1 : 0
        }
        #expect(depth() == NestedStarts.limit)
        // Starts that have returned do not count.
        #expect(depth() == NestedStarts.limit)
    }
}

/// Each load's end starts the next load.
private final class Chain: LoadDelegate {
    private let loader: Loader
    private let request: Request
    /// Receives the number of loads that were not started.
    private let completion: @Sendable (Int) -> Void
    private let remaining: Atomic<Int>

    init(_ loader: Loader, _ request: Request, count: Int, completion: @escaping @Sendable (Int) -> Void) {
        (self.loader, self.request, self.completion) = (loader, request, completion)
        remaining = Atomic(count)
    }

    func loadNext() { loader.task(for: request, delegate: self).resume() }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        let count = remaining.subtract(1, ordering: .relaxed).newValue
        if count > 0, error == nil { loadNext() } else { completion(count) }
    }
}
