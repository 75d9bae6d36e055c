// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore

/// One started instance of a plugin, held by its handlers and by each of its loads: it ends when the last of them has let go.
@safe
final class HostedInstance: @unchecked Sendable {  // … because what it holds does not change, and the state is the plugin's own to guard
    let descriptor: PluginDescriptor
    private let logger: Logger
    /// What `init` returned.
    let state: UnsafeMutableRawPointer?
    private let host: HostInterface
    let helpers = HelperThreads()
    /// Loads between `make` and `destroy`.
    private let liveLoads = ConditionLock(0)

    init(
        _ descriptor: PluginDescriptor, configuration: PluginConfiguration, extensions: @escaping HostInterface.Extensions, logger: Logger
    ) throws(LoadError) {
        var logger = logger
        logger[metadataKey: "plugin"] = "\(descriptor.identifier)"
        self.logger = logger
        self.descriptor = descriptor
        host = unsafe HostInterface(configuration, extensions: extensions, logger: logger)
        unsafe state = try descriptor.start(host.pointer)
    }

    deinit {
        unsafe descriptor.end(state)
    }

    /// Logs a breach that no load can fail for.
    func report(_ violation: ContractViolation, by handler: String) {
        logger.warning("the handler \(handler) broke \(violation.rule): \(violation.detail)")
    }

    func loadBegan() {
        liveLoads.withLock { $0 += 1 }
    }

    func loadEnded() {
        liveLoads.withLockBroadcasting { $0 -= 1 }
    }

    /// Waits until no load is left between `make` and `destroy`.
    func waitUntilIdle() {
        liveLoads.wait { $0 == 0 ? () : nil }
    }
}
