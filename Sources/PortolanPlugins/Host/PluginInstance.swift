// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore

/// One started instance of a plugin, held by its handlers and by each of its loads: it ends when the last of them has let go.
@safe
final class PluginInstance: @unchecked Sendable {  // … because what it holds does not change, and the state is the plugin's own to guard
    let descriptor: PluginDescriptor
    private let logger: Logger
    /// What `init` returned.
    let state: UnsafeMutableRawPointer?
    private let host: PluginHost
    let helpers = HelperThreads()
    /// Loads between `make` and `destroy`.
    private let liveLoads = Monitor(0)

    init(
        _ descriptor: PluginDescriptor, configuration: PluginConfiguration, extensions: @escaping PluginHost.Extensions, logger: Logger
    ) throws(LoadError) {
        var logger = logger
        logger[metadataKey: "plugin"] = "\(descriptor.identifier)"
        self.logger = logger
        self.descriptor = descriptor
        host = unsafe PluginHost(configuration, extensions: extensions, logger: logger)
        unsafe state = try descriptor.start(host.pointer)
    }

    deinit {
        unsafe descriptor.end(state)
    }

    /// Logs a breach that no load can fail for.
    func report(_ breach: Breach, by handler: String) {
        logger.warning("the handler \(handler) broke \(breach.rule): \(breach.detail)")
    }

    func loadBegan() {
        liveLoads.withLock { $0 += 1 }
    }

    func loadEnded() {
        liveLoads.signalling { $0 -= 1 }
    }

    /// Waits until no load is left between `make` and `destroy`.
    func waitUntilIdle() {
        liveLoads.wait { $0 == 0 ? () : nil }
    }
}
