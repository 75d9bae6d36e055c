// SPDX-License-Identifier: Apache-2.0

public import Logging
import PortolanBinding
public import PortolanCore

/// A plugin library that was loaded, and one instance of it that was started.
///
///     let plugin = try Plugin(contentsOf: "/usr/lib/portolan/tide.so")
///     for handler in plugin.handlers { registry.register(handler) }
///
/// The instance ends when the plugin, its handlers and all of their loads have been let go. The library stays in memory.
///
/// No main queue is run for a plugin. Where one in Swift calls into the main actor, or one in C sends jobs to libdispatch's main queue, the program has to run
/// that queue (`dispatchMain()`, `RunLoop.main`, an asynchronous `main`), and must not block its main thread for such a load: else that call never returns.
public struct Plugin: Sendable {
    /// Reverse DNS.
    public let identifier: String
    public let name: String
    public let vendor: String
    /// SemVer.
    public let version: String
    /// In the order in which they are to be registered, so that the last is asked first.
    public let handlers: [any ProtocolHandler]
    private let loads: any LoadsOfPlugin

    /// Loads the library at `path`, checks it, and starts an instance.
    ///
    /// - Parameters:
    ///   - path: of the library; it is looked for nowhere else. Relative paths begin at the current folder.
    ///   - configuration: what the plugin is set up with.
    ///   - threads: where its blocking loads run; by default on 64 threads of its own, so that loads which hang are no other plugin's worry.
    ///   - logger: where its lines go, with its identifier as `plugin` in their metadata.
    /// - Throws: `LoadError.Code.pluginNotLoadable`, with the rule that the library breaks, or `LoadError.Code.pluginRefused`, with the
    ///   plugin's reason.
    public init(
        contentsOf path: String, configuration: PluginConfiguration = PluginConfiguration(),
        threads: LoadThreadPool = LoadThreadPool(limit: 64),
        logger: Logger = Logger(label: "portolan.plugins")
    ) throws(LoadError) {
        try self.init(contentsOf: path, configuration: configuration, threads: threads, logger: logger) { _ in }
    }

    /// - Parameters:
    ///   - copying: whether a copy of the library is opened.
    ///   - agree: looks at what the library says of itself before any more of it is called.
    init(
        contentsOf path: String, copying: Bool = false, configuration: PluginConfiguration,
        threads: LoadThreadPool = LoadThreadPool(limit: 64),
        logger: Logger, agree: (PluginDescriptor) throws(PluginProblem) -> Void
    ) throws(LoadError) {
        let descriptor = try PluginDescriptor(of: SharedLibrary(at: path, copying: copying))
        do throws(PluginProblem) { try agree(descriptor) } catch { throw LoadError(error) }
        let instance = unsafe try HostedInstance(descriptor, configuration: configuration, extensions: Self.extensionTable, logger: logger)
        loads = instance
        identifier = descriptor.identifier
        name = descriptor.name
        vendor = descriptor.vendor
        version = descriptor.version
        handlers = descriptor.handlers.map { [instance] in HostedHandler($0, of: instance, threads: threads) }
    }

    /// A library that is no plugin, and that a manifest binds.
    init(_ manifest: PluginManifest, _ instance: BindingInstance, threads: LoadThreadPool = LoadThreadPool(limit: 64)) {
        loads = instance
        (identifier, name, vendor, version) = (manifest.identifier, manifest.name, manifest.vendor, manifest.version.description)
        handlers = [BoundHandler(manifest.identifier, manifest.schemes, instance, threads: threads)]
    }

    /// Waits until none of its loads is left, that is, until each was destroyed. For tests and orderly ends; not for event loops.
    package func waitUntilIdle() {
        loads.waitUntilIdle()
    }

    /// What this host offers beyond the contract.
    private static func extensionTable(_ identifier: String) -> UnsafeRawPointer? {
        switch identifier {
        case NestedTable.identifier: unsafe UnsafeRawPointer(NestedTable.pointer)
        case WatchTable.identifier: unsafe UnsafeRawPointer(WatchTable.pointer)
        default: nil
        }
    }
}

/// What holds the loads of a plugin.
private protocol LoadsOfPlugin: Sendable {
    func waitUntilIdle()
}

extension HostedInstance: LoadsOfPlugin {}
extension BindingInstance: LoadsOfPlugin {}
