// SPDX-License-Identifier: Apache-2.0

import CPortolan
public import Logging
import PortolanBinding
public import PortolanCore

/// A loaded plugin: a plugin library with one started instance, or a C library that a manifest binds.
///
///     let plugin = try Plugin(contentsOf: "/usr/lib/portolan/tide.so")
///     for handler in plugin.handlers { registry.register(handler) }
///
/// The instance ends when the plugin, its handlers and all their loads have been released. The library stays in memory.
///
/// If a plugin uses the main actor or libdispatch's main queue, the program must run that queue (`dispatchMain()`,
/// `RunLoop.main`, an asynchronous `main`), and must not block its main thread. Otherwise loads that use
/// the queue do not end.
public struct Plugin: Sendable {
    /// The identifier in reverse DNS notation.
    public let identifier: String
    public let name: String
    public let vendor: String
    /// Semantic Versioning.
    public let version: String
    /// The handlers in the order of registration. The last one takes precedence.
    public let handlers: [any ProtocolHandler]
    private let loadOwner: any LoadOwner

    /// Loads the library at `path`, checks it, and starts an instance.
    ///
    /// - Parameters:
    ///   - path: the library's path. Other folders are not searched. Relative paths start at the current folder.
    ///   - configuration: the plugin's configuration.
    ///   - permissions: the plugin's permissions. This initializer does not read a manifest.
    ///   - threads: the threads for blocking loads. By default 64 threads for this plugin, so that its blocked loads do
    ///     not affect other plugins.
    ///   - logger: the plugin's logger. The plugin's identifier is the metadata `plugin`.
    /// - Throws: `LoadError.Code.pluginNotLoadable` with the rule that the library violates, or
    ///   `LoadError.Code.pluginRefused` with the plugin's reason.
    public init(
        contentsOf path: String, configuration: PluginConfiguration = PluginConfiguration(),
        permissions: Set<PluginPermission> = [],
        threads: LoadThreadPool = LoadThreadPool(limit: 64),
        logger: Logger = Logger(label: "portolan.plugins")
    ) throws(LoadError) {
        try self.init(contentsOf: path, configuration: configuration, permissions: permissions, threads: threads, logger: logger) { _ in }
    }

    /// - Parameters:
    ///   - copying: whether to open a copy of the library.
    ///   - checkDescriptor: checks the descriptor before the host calls other functions of the library.
    init(
        contentsOf path: String, copying: Bool = false, configuration: PluginConfiguration, permissions: Set<PluginPermission>,
        threads: LoadThreadPool = LoadThreadPool(limit: 64),
        logger: Logger, checkDescriptor: (PluginDescriptor) throws(PluginProblem) -> Void
    ) throws(LoadError) {
        let descriptor = try PluginCrash.whileOpening(path) { () throws(LoadError) in
            try PluginDescriptor(of: SharedLibrary(at: path, copying: copying))
        }
        unsafe PluginCrash.didOpen(descriptor.identifier, descriptor.calledFunctions)
        do throws(PluginProblem) { try checkDescriptor(descriptor) } catch { throw LoadError(error) }
        let instance = unsafe try HostedInstance(descriptor, configuration: configuration, extensions: Self.extensionTable, logger: logger)
        loadOwner = instance
        identifier = descriptor.identifier
        name = descriptor.name
        vendor = descriptor.vendor
        version = descriptor.version
        handlers = descriptor.handlers.map { [instance] in
            HostedHandler($0, of: instance, threads: threads, permissions: permissions)
        }
        if !permissions.contains(.cookies) { Self.warnAboutCookies(descriptor, logger) }
    }

    /// Logs which handlers do not get the cookies that they request.
    private static func warnAboutCookies(_ descriptor: PluginDescriptor, _ logger: Logger) {
        for handler in descriptor.handlers where handler.requestsCookies {
            logger.warning(
                """
                the handler \(handler.identifier) sets PORTOLAN_COOKIES, but the plugin does not have the permission 'cookies': \
                its loads send and store no cookies; add "permissions": ["cookies"] to the plugin's manifest
                """,
                metadata: ["plugin": "\(descriptor.identifier)", "rule": "MANIF-08"])
        }
    }

    /// Creates a plugin from a binding.
    init(_ manifest: PluginManifest, _ instance: BindingInstance, threads: LoadThreadPool = LoadThreadPool(limit: 64)) {
        loadOwner = instance
        (identifier, name, vendor, version) = (manifest.identifier, manifest.name, manifest.vendor, manifest.version.description)
        handlers = [BindingHandler(manifest.identifier, manifest.schemes, instance, threads: threads)]
    }

    /// Blocks the thread until all loads have been destroyed. For tests and an orderly shutdown. Never call it on the
    /// thread of an event loop.
    package func waitUntilIdle() {
        loadOwner.waitUntilIdle()
    }

    /// The table of an extension; `nil` if this host does not offer it.
    private static func extensionTable(_ identifier: String) -> UnsafeRawPointer? {
        switch identifier {
        case NestedTable.identifier: unsafe UnsafeRawPointer(NestedTable.pointer)
        case WatchTable.identifier: unsafe UnsafeRawPointer(WatchTable.pointer)
        case PORTOLAN_HELPERS: unsafe UnsafeRawPointer(portolan_host_helper_table())
        default: nil
        }
    }
}

/// An owner of a plugin's loads.
private protocol LoadOwner: Sendable {
    func waitUntilIdle()
}

extension HostedInstance: LoadOwner {}
extension BindingInstance: LoadOwner {}
