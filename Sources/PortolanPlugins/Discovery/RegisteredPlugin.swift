// SPDX-License-Identifier: Apache-2.0

public import Logging
public import PortolanCore

/// A plugin's registration. It keeps its position in the registry when a newer build replaces the plugin.
///
///     let registeredPlugins = catalogue.register(in: registry)
///     try registeredPlugins.first { $0.plugin.identifier == "org.example.tide" }?.reload()
///
/// An open library stays in memory until the process ends, so each reload of a changed library costs its size.
public final class RegisteredPlugin: Sendable {
    private struct State {
        var plugin: InstalledPlugin
        var isReloading = false
    }

    private let state: ConditionLock<State>
    private let registry: ProtocolRegistry
    private let registration: Registration
    private let logger: Logger

    /// Registers the plugin before the existing handlers of `registry`. The first request that
    /// needs the plugin opens it.
    public init(_ plugin: InstalledPlugin, in registry: ProtocolRegistry, logger: Logger = Logger(label: "portolan.plugins")) {
        state = ConditionLock(State(plugin: plugin))
        self.registry = registry
        self.logger = logger
        registration = registry.register(deferred: InstalledPluginProvider(plugin, logger: logger))
    }

    /// The plugin that was last in use, with the manifest of that time.
    public var plugin: InstalledPlugin { state.withLock { $0.plugin } }

    /// Removes the plugin from the registry. New loads do not use it. Running loads continue.
    @discardableResult
    public func unregister() -> HandlerDrain { registry.unregister(registration) }

    /// The result of a reload.
    public struct Replacement: Sendable {
        public let plugin: InstalledPlugin
        /// Reports when the last load of the old instance has ended. Retains the old instance.
        public let old: HandlerDrain
    }

    /// Reads the manifest again, opens the library, and starts an instance for new loads. Running loads finish
    /// on the old instance, which ends with its last load.
    ///
    /// This can take some time, so do not call it from event loops. Concurrent calls wait for each other.
    ///
    /// - Throws: if the new plugin cannot be used, or if the plugin was unregistered. The old instance is then still
    ///   used.
    @discardableResult
    public func reload() throws(LoadError) -> Replacement {
        let currentPlugin = state.wait { state -> InstalledPlugin? in
            guard !state.isReloading else { return nil }
            state.isReloading = true
            return state.plugin
        }
        var nextPlugin = currentPlugin
        defer {
            state.withLockBroadcasting { state in
                state.isReloading = false
                state.plugin = nextPlugin
            }
        }
        do throws(LoadError) {
            let (newPlugin, openedPlugin) = try openAgain(currentPlugin)
            guard let old = registry.replace(registration, with: openedPlugin.handlers) else {
                throw LoadError(.pluginNotLoadable, message: "\(currentPlugin.identifier) was removed from its registry; register it again")
            }
            nextPlugin = newPlugin
            logger.info("reloaded", metadata: ["plugin": "\(newPlugin.identifier)", "version": "\(newPlugin.manifest.version)"])
            return Replacement(plugin: newPlugin, old: old)
        } catch {
            logger.warning(
                "not reloaded, the old version stays in use: \(error.message)", metadata: ["plugin": "\(currentPlugin.identifier)"])
            throw error
        }
    }

    private func openAgain(_ currentPlugin: InstalledPlugin) throws(LoadError) -> (InstalledPlugin, Plugin) {
        let plugin: InstalledPlugin
        do throws(PluginProblem) { plugin = try currentPlugin.readingAgain() } catch { throw LoadError(error) }
        return (plugin, try plugin.open(logger: logger))
    }
}
