// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Portolan

/// A delegate that signals a waiting thread whenever it pauses the load, and when the load has ended.
final class PausingDelegate: LoadDelegate {
    let record: PieceDelegate
    private let semaphore = DispatchSemaphore(value: 0)

    init(record: PieceDelegate) {
        self.record = record
    }

    /// Waits for the next pause or the end; throws after 20 s.
    func wait() throws(FuzzFinding) {
        let isSignalled = semaphore.wait(timeout: .now() + .seconds(20)) == .success
        try require(isSignalled, "the load stalled: neither data nor an end in 20 s")
    }

    private func signalIfPaused(_ flow: Flow) -> Flow {
        if flow == .pause { semaphore.signal() }
        return flow
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { signalIfPaused(record.loadTask(task, didReceive: response)) }
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow { signalIfPaused(record.loadTask(task, didLoad: bytes)) }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        record.loadTask(task, didEndWith: error)
        semaphore.signal()
    }
}
