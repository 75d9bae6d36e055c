// SPDX-License-Identifier: Apache-2.0

import Logging

/// Writes the log of a store, which reports problems of its files, to standard error as warnings. Errors are also
/// thrown.
struct DiagnosticLines: LogHandler {
    static let logger = Logger(label: "org.portolan.store") { _ in DiagnosticLines() }

    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { Diagnostics.warn("\(event.message)") }
}
