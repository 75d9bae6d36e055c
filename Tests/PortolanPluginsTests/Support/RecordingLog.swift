// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore

/// A logger that records its lines for the test.
final class RecordingLog: Sendable {
    private let lines = ConditionLock<[String]>([])

    var logger: Logger { Logger(label: "tests") { _ in Handler(log: self) } }
    /// All lines so far, as `LEVEL PLUGIN: MESSAGE`.
    var all: [String] { lines.withLock { $0 } }

    /// Waits until the lines meet the condition, at most 30 seconds. After a timeout, the test's own expectations fail.
    func wait(until condition: ([String]) -> Bool) {
        _ = lines.wait(atMost: .seconds(30)) { condition($0) ? true : nil }
    }

    private struct Handler: LogHandler {
        let log: RecordingLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.lines.withLockBroadcasting {
                $0.append("\(event.level) \((event.metadata?["plugin"] ?? metadata["plugin"]).map { "\($0)" } ?? "-"): \(event.message)")
            }
        }
    }
}
