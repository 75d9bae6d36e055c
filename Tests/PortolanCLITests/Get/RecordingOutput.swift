// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import Synchronization

@testable import PortolanCLI

/// An output and observer that records the writes and the events of a load as lines of text.
final class RecordingOutput: BodyOutput, LoadObserver {
    private let lines = Mutex<[String]>([])
    /// The failure that `write` throws.
    private let writeFailure: Failure?

    let isTerminal: Bool
    let canStartAgain: Bool

    init(writeFailure: Failure? = nil, isTerminal: Bool = false, canStartAgain: Bool = true) {
        self.canStartAgain = canStartAgain
        self.writeFailure = writeFailure
        self.isTerminal = isTerminal
    }

    var log: [String] { lines.withLock { $0 } }

    private func add(_ line: String) { lines.withLock { $0.append(line) } }

    func begin(_ response: Response) { add("begin") }
    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        if let writeFailure { throw writeFailure }
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        add("write \(text)")
    }
    func complete() { add("complete") }
    func abandon() { add("abandon") }

    func observe(_ event: LoadEvent, at time: Duration) {
        switch event {
        case .started(_, let handler): add("started \(handler ?? "none")")
        case .redirected(let request, _): add("redirected \(request.url)")
        case .challenged(let space, let failureCount, _, let decision, _): add("challenged \(space.host) \(failureCount) \(decision)")
        case .nestedLoadBegan(let inner, let handler): add("inner \(inner.depth) \(inner.url) \(handler ?? "none")")
        case .nestedLoadEnded(let inner, let bytes, let error):
            add("innerEnd \(inner.depth) \(inner.url) \(bytes) \(error?.name ?? "whole")")
        case .interim(let response): add("interim \(response.status?.code ?? 0)")
        case .response(let response): add("response \(response.status?.code ?? 0)")
        case .cache(let report): add("cache \(report.result)")
        case .trailers(let fields): add("trailers \(fields.count)")
        case .sent(let progress): add("sent \(progress.bytesSent)")
        case .step(let step): add("step \(step)")
        case .metrics(let metrics, _): add("metrics \(metrics.timings.count)")
        case .retrying(let failure, let wait, let attemptsLeft):
            add("retrying \(failure.status.code) \(wait.secondsText) \(attemptsLeft)")
        case .finished(let totals): add("finished \(totals.bytes) \(totals.redirects)")
        case .failed(let failure): add("failed \(failure.status.code)")
        }
    }
}
