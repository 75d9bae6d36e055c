// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore

/// One started instance of a plugin. Its handlers and loads retain it. It ends when the last of them is released.
@safe
final class HostedInstance: @unchecked Sendable {  // … because its members do not change, and the plugin locks its state
    let descriptor: PluginDescriptor
    private let logger: Logger
    /// The result of `init`.
    let state: UnsafeMutableRawPointer?
    private let host: HostInterface
    let helperThreads = HelperThreads()
    /// The number of loads between `make` and `destroy`.
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

    /// Logs a violation that cannot fail a load.
    func report(_ violation: ContractViolation, by handler: String) {
        logger.warning("the handler \(handler) broke \(violation.rule): \(violation.detail)")
    }

    func loadDidBegin() {
        liveLoads.withLock { $0 += 1 }
    }

    func loadDidEnd() {
        liveLoads.withLockBroadcasting { $0 -= 1 }
    }

    /// Waits until all loads are destroyed.
    func waitUntilIdle() {
        liveLoads.wait { $0 == 0 ? () : nil }
    }
}
