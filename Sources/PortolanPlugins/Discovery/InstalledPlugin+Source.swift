// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import Synchronization

/// Opens an installed plugin when a request first needs it.
final class InstalledPluginSource: HandlerSource {
    private let plugin: InstalledPlugin
    private let logger: Logger
    /// What went wrong with the files as they were then: while they stay the same there is no use in trying again.
    private let failure = Mutex((error: LoadError, files: [FileStatus?])?.none)

    init(_ plugin: InstalledPlugin, logger: Logger) {
        self.plugin = plugin
        self.logger = logger
    }

    var identifier: String { plugin.identifier }
    var schemes: SchemeSet { plugin.manifest.schemes }

    func makeHandlers() throws(LoadError) -> [any ProtocolHandler] {
        // `try?` because a library that is not there may come.
        let files = [plugin.libraryPath, plugin.folder].map { try? FileStatus(following: $0) }
        if let failure = failure.withLock({ $0 }), failure.files == files { throw failure.error }
        do throws(LoadError) {
            let handlers = try plugin.open(logger: logger).handlers
            logger.debug("opened", metadata: ["plugin": "\(identifier)", "library": "\(plugin.libraryPath)"])
            return handlers
        } catch {
            failure.withLock { $0 = (error, files) }
            throw error
        }
    }
}
