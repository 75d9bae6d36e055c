// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// A plugin's place in a registry, which keeps its rank while the plugin is replaced by a newer build of itself.
///
///     let serving = catalogue.register(in: registry)
///     try serving.first { $0.plugin.identifier == "org.example.tide" }?.reload()
///
/// A library that was opened stays in memory for good: each reload of a changed one costs its size.
public final class RegisteredPlugin: Sendable {
    private struct State {
        var plugin: InstalledPlugin
        var isReloading = false
    }

    private let state: ConditionLock<State>
    private let registry: ProtocolRegistry
    private let registration: Registration
    private let logger: Logger

    /// Puts the plugin in front of the handlers that `registry` has. It is opened when a request first needs it.
    public init(_ plugin: InstalledPlugin, in registry: ProtocolRegistry, logger: Logger = Logger(label: "portolan.plugins")) {
        state = ConditionLock(State(plugin: plugin))
        self.registry = registry
        self.logger = logger
        registration = registry.register(deferred: InstalledPluginProvider(plugin, logger: logger))
    }

    /// As the manifest of the last one that could be opened tells of it.
    public var plugin: InstalledPlugin { state.withLock { $0.plugin } }

    /// Takes the plugin out of the registry: new loads no longer come to it, running ones go on.
    @discardableResult
    public func unregister() -> HandlerDrain { registry.unregister(registration) }

    /// What is there now in place of what serves.
    public struct Replacement: Sendable {
        public let plugin: InstalledPlugin
        /// When the last load of the old one has ended. The old one ends no earlier than this is let go.
        public let old: HandlerDrain
    }

    /// Reads the manifest again, opens the library as it is now, starts an instance, and has new loads come to it. Those that run finish on the old one,
    /// whose instance ends with the last of them.
    ///
    /// May take its time, so not from event loops. Of several at once each waits for the one before.
    ///
    /// - Throws: why what is there now can't be used, or that the place was taken out of the registry: then nothing has changed, and what served before
    ///   goes on serving.
    @discardableResult
    public func reload() throws(LoadError) -> Replacement {
        let current = state.wait { state -> InstalledPlugin? in
            guard !state.isReloading else { return nil }
            state.isReloading = true
            return state.plugin
        }
        var next = current
        defer {
            state.withLockBroadcasting { state in
                state.isReloading = false
                state.plugin = next
            }
        }
        do throws(LoadError) {
            let (new, opened) = try open(after: current)
            guard let old = registry.replace(registration, with: opened.handlers) else {
                throw LoadError(.pluginNotLoadable, message: "\(current.identifier) was taken out of its registry; register it again")
            }
            next = new
            logger.info("reloaded", metadata: ["plugin": "\(new.identifier)", "version": "\(new.manifest.version)"])
            return Replacement(plugin: new, old: old)
        } catch {
            logger.warning(
                "not reloaded, what served before goes on serving: \(error.message)", metadata: ["plugin": "\(current.identifier)"])
            throw error
        }
    }

    private func open(after current: InstalledPlugin) throws(LoadError) -> (InstalledPlugin, Plugin) {
        let plugin: InstalledPlugin
        do throws(PluginProblem) { plugin = try current.readingAgain() } catch { throw LoadError(error) }
        return (plugin, try plugin.open(logger: logger))
    }
}
