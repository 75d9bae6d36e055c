// SPDX-License-Identifier: Apache-2.0

import Logging

/// Logs nothing, because the cases consist of violations and failures.
struct SilentLog: LogHandler {
    static let logger = Logger(label: "org.portolan.play") { _ in SilentLog() }

    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.critical
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {}
}
