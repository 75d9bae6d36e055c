// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import Synchronization

/// Opens an installed plugin when a request first needs it.
final class InstalledPluginProvider: HandlerProvider {
    private let plugin: InstalledPlugin
    private let logger: Logger
    private let clock: any LoadClock
    /// The last failure, and the time and the status of the files at that failure.
    private let failure = Mutex((error: LoadError, files: [FileStatus?], time: Duration)?.none)
    /// After a failure, requests fail with the same error until this time has passed or the files have changed. There
    /// can be thousands of requests, and a retry rarely helps. After this time a retry can help, because the failure
    /// can have had another reason, such as a parent folder or the number of open files.
    private static let retryTime = Duration.seconds(5)

    init(_ plugin: InstalledPlugin, logger: Logger, clock: any LoadClock = SystemClock.shared) {
        self.plugin = plugin
        self.logger = logger
        self.clock = clock
    }

    var identifier: String { plugin.identifier }
    var schemes: SchemeSet { plugin.manifest.schemes }

    func makeHandlers() throws(LoadError) -> [any ProtocolHandler] {
        // `try?` because a missing file is also a status to compare.
        let files = [plugin.libraryPath, plugin.folder].map { try? FileStatus(following: $0) }
        if let failure = failure.withLock({ $0 }), failure.files == files, clock.now - failure.time < Self.retryTime { throw failure.error }
        do throws(LoadError) {
            let handlers = try plugin.open(logger: logger).handlers
            logger.debug("opened", metadata: ["plugin": "\(identifier)", "library": "\(plugin.libraryPath)"])
            return handlers
        } catch {
            failure.withLock { $0 = (error, files, clock.now) }
            throw error
        }
    }
}
