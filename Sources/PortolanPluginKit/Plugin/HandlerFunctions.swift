// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Synchronization

/// An instance of a plugin. The host has a pointer to it from `init` to `deinit`.
private final class StartedPlugin {
    let handler: any PluginHandler
    let instance: PluginInstance

    init(_ handler: any PluginHandler, _ instance: PluginInstance) {
        self.handler = handler
        self.instance = instance
    }

    static func at(_ pointer: UnsafeMutableRawPointer?) -> StartedPlugin? {
        unsafe pointer.map { unsafe Unmanaged<StartedPlugin>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The functions of `portolan_plugin` and `portolan_handler`.
enum HandlerFunctions {
    typealias Start =
        @convention(c) (UnsafeMutablePointer<portolan_host>, UnsafeMutablePointer<portolan_refusal>) -> UnsafeMutableRawPointer?

    /// One `init` function for each plugin of a library.
    static var startFunctions: [Start] {
        unsafe [
            { unsafe HandlerFunctions.start(0, $0, $1) }, { unsafe HandlerFunctions.start(1, $0, $1) },
            { unsafe HandlerFunctions.start(2, $0, $1) }, { unsafe HandlerFunctions.start(3, $0, $1) },
        ]
    }

    private static func start(
        _ index: Int, _ host: UnsafeMutablePointer<portolan_host>, _ refusal: UnsafeMutablePointer<portolan_refusal>
    ) -> UnsafeMutableRawPointer? {
        let type = RegisteredHandler.all.withLock { $0[index].type }
        let instance = unsafe PluginInstance(host, isMultipart: type.description.isMultipart)
        do {
            let handler = try type.init(host: PluginHost(instance))
            return unsafe Unmanaged.passRetained(StartedPlugin(handler, instance)).toOpaque()
        } catch {
            instance.end()
            let arena = Arena()
            var cError = unsafe arena.error(error as? PluginError ?? PluginError(.unknown, message: "\(error)"))
            unsafe refusal.pointee.give(refusal, &cError)
            withExtendedLifetime(arena) {}
            return nil
        }
    }

    /// The plugin's `deinit`. A task that outlives its load retains the handler, but can no longer use the host.
    static func end(_ plugin: UnsafeMutableRawPointer?) {
        guard let plugin = unsafe plugin else { return }
        let startedPlugin = unsafe Unmanaged<StartedPlugin>.fromOpaque(plugin).takeRetainedValue()
        startedPlugin.instance.end()
    }

    static func canInit(_ plugin: UnsafeMutableRawPointer?, _ request: UnsafePointer<portolan_request>) -> Int32 {
        guard let handler = unsafe StartedPlugin.at(plugin)?.handler as? any RequestChoosing else { return 1 }
        return unsafe handler.canInit(PluginRequest(request.pointee)) ? 1 : 0
    }

    static func canonical(
        _ plugin: UnsafeMutableRawPointer?, _ request: UnsafePointer<portolan_request>, _ form: UnsafeMutablePointer<portolan_canonical>
    ) {
        guard let handler = unsafe StartedPlugin.at(plugin)?.handler as? any RequestCanonicalizing,
            let changes = unsafe handler.canonicalRequest(for: PluginRequest(request.pointee))
        else { return }
        let arena = Arena()
        var cChange = unsafe arena.changes(changes)
        unsafe form.pointee.give(form, &cChange)
        withExtendedLifetime(arena) {}
    }

    static func areEquivalent(
        _ plugin: UnsafeMutableRawPointer?, _ a: UnsafePointer<portolan_request>, _ b: UnsafePointer<portolan_request>
    ) -> Int32 {
        guard let handler = unsafe StartedPlugin.at(plugin)?.handler as? any CacheComparing else { return 0 }
        return unsafe handler.isCacheEquivalent(PluginRequest(a.pointee), to: PluginRequest(b.pointee)) ? 1 : 0
    }

    static func make(
        _ plugin: UnsafeMutableRawPointer?, _ request: UnsafePointer<portolan_request>, _ cached: UnsafePointer<portolan_response>?,
        _ client: UnsafeMutablePointer<portolan_client>
    ) -> UnsafeMutableRawPointer? {
        guard let startedPlugin = unsafe StartedPlugin.at(plugin) else { return nil }
        let load = unsafe RunningLoad(
            startedPlugin.instance, PluginRequest(request.pointee), cachedResponse: cached.map { unsafe PluginResponse($0.pointee) },
            client: BorrowedClient(pointer: client))
        return unsafe LoadFunctions.retain(load, handler: startedPlugin.handler)
    }
}

/// The functions of `portolan_load_table`.
enum LoadFunctions {
    /// A load. The host has a pointer to it from `make` to `destroy`.
    private final class HostedLoad {
        let load: RunningLoad
        let handler: any PluginHandler

        init(_ load: RunningLoad, _ handler: any PluginHandler) {
            self.load = load
            self.handler = handler
        }

        func start() {
            load.start { [handler] load in try await handler.load(load.request, client: PluginClient(runningLoad: load)) }
        }
    }

    static func retain(_ load: RunningLoad, handler: any PluginHandler) -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(HostedLoad(load, handler)).toOpaque()
    }

    /// Refuses a load. Called only if the host has not started the plugin.
    static func refuse(_ refusal: UnsafeMutablePointer<portolan_refusal>) -> UnsafeMutableRawPointer? {
        let arena = Arena()
        var cValue = unsafe arena.error(PluginError(.unknown, message: "a load was requested before the plugin was started"))
        unsafe refusal.pointee.give(refusal, &cValue)
        withExtendedLifetime(arena) {}
        return nil
    }

    private static func at(_ pointer: UnsafeMutableRawPointer) -> HostedLoad {
        unsafe Unmanaged<HostedLoad>.fromOpaque(pointer).takeUnretainedValue()
    }

    static var table: portolan_load_table {
        var table = portolan_load_table()
        table.size = UInt32(MemoryLayout<portolan_load_table>.size)
        unsafe table.start = { unsafe LoadFunctions.at($0).start() }
        unsafe table.resume = { unsafe LoadFunctions.at($0).load.resume() }
        unsafe table.woken = { unsafe LoadFunctions.at($0).load.woken() }
        unsafe table.answered = { unsafe LoadFunctions.at($0).load.answered(PluginChallengeAnswer($1.pointee)) }
        unsafe table.stop = { unsafe LoadFunctions.at($0).load.stop() }
        unsafe table.destroy = { unsafe Unmanaged<HostedLoad>.fromOpaque($0).takeRetainedValue().load.destroy() }
        return table
    }
}
