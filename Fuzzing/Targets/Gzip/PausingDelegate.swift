// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Portolan

/// Signals a waiting thread whenever it pauses the load, and when the load has ended.
final class PausingDelegate: LoadDelegate {
    let record: PieceDelegate
    private let news = DispatchSemaphore(value: 0)

    init(record: PieceDelegate) {
        self.record = record
    }

    /// Waits for the next pause or the end; throws after 20 s.
    func wait() throws(FuzzFinding) {
        let isHere = news.wait(timeout: .now() + .seconds(20)) == .success
        try require(isHere, "the load came to rest: neither data nor an end in 20 s")
    }

    private func told(_ answer: Flow) -> Flow {
        if answer == .pause { news.signal() }
        return answer
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { told(record.loadTask(task, didReceive: response)) }
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow { told(record.loadTask(task, didLoad: bytes)) }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        record.loadTask(task, didEndWith: error)
        news.signal()
    }
}
