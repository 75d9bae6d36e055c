// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// The buffer between a nested load and the plugin that reads it.
@Suite(.timeLimit(.minutes(2))) struct BufferedNestedLoadTests {
    private let bytes = [UInt8](repeating: 1, count: 100_000)

    private func deliver(_ load: BufferedNestedLoad) -> Flow {
        unsafe bytes.withUnsafeBytes { unsafe load.didLoad($0.bytes) }
    }

    private func read(_ load: BufferedNestedLoad) -> Int? {
        guard case .value(let bytes) = unsafe load.pullBytes() else { return nil }
        return bytes.count
    }

    @Test func nestedLoadPausesWhileItsBufferIsFull() throws {
        let load = BufferedNestedLoad(parentClient: RecordingClient()) {}
        #expect([deliver(load), deliver(load), deliver(load)] == [.keepGoing, .keepGoing, .pause])
        #expect(read(load) == 300_000)
        #expect(read(load) == nil)
        #expect(deliver(load) == .keepGoing)
    }

    @Test func bufferedBytesAreReadBeforeTheFailure() throws {
        let load = BufferedNestedLoad(parentClient: RecordingClient()) {}
        _ = deliver(load)
        load.didFail(with: PluginStubHandler.failure)
        #expect(read(load) == 100_000)
        guard case .failed = unsafe load.pullBytes() else {
            Issue.record("the failure is missing")
            return
        }
        let code = unsafe load.pullError()?.pointee.code
        #expect(code == LoadError.Code.connectionLost.rawValue)
    }

    @Test func closedLoadStopsDeliveries() {
        let load = BufferedNestedLoad(parentClient: RecordingClient()) {}
        load.close()
        load.close()
        #expect(deliver(load) == .stopped)
    }

    @Test func bytesOfAByteQueueStayValidUntilTheNextTake() {
        var queue = ByteQueue()
        let (first, second): ([UInt8], [UInt8]) = ([1, 2, 3], [4, 5])
        unsafe queue.append(first.span.bytes)
        let bytes = unsafe queue.take()
        unsafe queue.append(second.span.bytes)
        let (takenBytes, waitingCount) = unsafe (Array(bytes), queue.count)
        let nextBytes = unsafe Array(queue.take())
        #expect(takenBytes == first)
        #expect(waitingCount == 2)
        #expect(nextBytes == second)
    }
}
