// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import Synchronization

/// Writes the log of loaders and plugins to standard error, if the user requested it with `-v`. Otherwise the log is
/// dropped, so that standard error has only the line of an error.
struct LogLines: LogHandler {
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    /// `debug` for the lines about credentials and cookies. Other lines of that level are dropped.
    var logLevel = Logger.Level.debug

    private static let isBootstrapped = Atomic(false)

    /// Sets up logging for the whole program. Only the first call has an effect.
    static func bootstrap(isVerbose: Bool) {
        guard !isBootstrapped.exchange(true, ordering: .relaxed) else { return }
        LoggingSystem.bootstrap { _ in
            guard isVerbose else { return SwiftLogNoOpLogHandler() }
            return LogLines()
        }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level < .info {
            guard event.metadata?[Loader.accessKey] != nil else { return }
            let number = event.metadata?["request"].map { "request \($0): " } ?? ""
            return Diagnostics.write("\(PlainText.line("* \(number)\(event.message)"))\n")
        }
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        Diagnostics.write("\(PlainText.line(UserInformation.removed(from: "* \(event.level): \(event.message)\(details)")))\n")
    }
}
