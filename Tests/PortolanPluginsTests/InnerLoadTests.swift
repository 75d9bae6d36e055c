// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// The buffer between a nested load and the plugin that pulls from it.
@Suite(.timeLimit(.minutes(2))) struct InnerLoadTests {
    private let bytes = [UInt8](repeating: 1, count: 100_000)

    private func deliver(_ load: InnerLoad) -> Flow {
        unsafe bytes.withUnsafeBytes { unsafe load.didLoad($0.bytes) }
    }

    private func pull(_ load: InnerLoad) -> Int? {
        guard case .value(let bytes) = unsafe load.pullBytes() else { return nil }
        return bytes.count
    }

    @Test func innerLoadIsPausedWhileItsBufferIsFull() throws {
        let inner = InnerLoad(outer: RecordingClient()) {}
        #expect([deliver(inner), deliver(inner), deliver(inner)] == [.keepGoing, .keepGoing, .pause])
        #expect(pull(inner) == 300_000)
        #expect(pull(inner) == nil)
        #expect(deliver(inner) == .keepGoing)
    }

    @Test func bufferedBytesArePulledBeforeTheFailure() throws {
        let inner = InnerLoad(outer: RecordingClient()) {}
        _ = deliver(inner)
        inner.didFail(with: PluginStubHandler.failure)
        #expect(pull(inner) == 100_000)
        guard case .failed = unsafe inner.pullBytes() else {
            Issue.record("the failure is missing")
            return
        }
        let code = unsafe inner.pullError()?.pointee.code
        #expect(code == LoadError.Code.connectionLost.rawValue)
    }

    @Test func closedLoadStopsDeliveries() {
        let inner = InnerLoad(outer: RecordingClient()) {}
        inner.close()
        inner.close()
        #expect(deliver(inner) == .stopped)
    }

    @Test func borrowedBytesStayValidUntilTheNextPull() {
        var queue = ByteQueue()
        let (first, second): ([UInt8], [UInt8]) = ([1, 2, 3], [4, 5])
        unsafe queue.append(first.span.bytes)
        let borrowed = unsafe queue.take()
        unsafe queue.append(second.span.bytes)
        let (seen, waiting) = unsafe (Array(borrowed), queue.count)
        let next = unsafe Array(queue.take())
        #expect(seen == first)
        #expect(waiting == 2)
        #expect(next == second)
    }
}
