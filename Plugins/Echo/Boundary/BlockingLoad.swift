// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// A load in the blocking style.
protocol BlockingLoad: AnyObject, Sendable {
    /// The whole load, from the first event to the end, on a thread of the host's. Called once, or never.
    func run()
    /// Nobody wants the rest. Called once at most, on another thread while ``run()`` runs, and returns at once.
    func stop()
}

/// One started instance of the plugin.
protocol BlockingPlugin: AnyObject, Sendable {
    /// - Throws: why there can be no such load. Nothing is loaded yet, and nothing is reported to the client.
    func makeLoad(for request: Request, client: Client) throws(Failure) -> any BlockingLoad
}

/// What C holds of an object: a pointer that keeps it.
private final class Held<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }

    static func hold(_ value: Value) -> UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(Held(value)).toOpaque() }
    static func at(_ pointer: UnsafeMutableRawPointer) -> Value {
        unsafe Unmanaged<Held>.fromOpaque(pointer).takeUnretainedValue().value
    }
    static func release(_ pointer: UnsafeMutableRawPointer) { unsafe Unmanaged<Held>.fromOpaque(pointer).release() }
}

/// The functions of `portolan_plugin`, `portolan_handler` and `portolan_load_table`.
enum PluginFunctions {
    private typealias HeldPlugin = Held<any BlockingPlugin>
    private typealias HeldLoad = Held<any BlockingLoad>

    /// `init`: starts an instance, or gives the reason why not.
    static func start(
        _ host: UnsafeMutablePointer<portolan_host>, _ refusal: UnsafeMutablePointer<portolan_refusal>,
        _ make: (_ settings: [Property]) throws(Failure) -> any BlockingPlugin
    ) -> UnsafeMutableRawPointer? {
        do throws(Failure) {
            return unsafe HeldPlugin.hold(try make(Property.list(host.pointee.settings, count: host.pointee.setting_count)))
        } catch {
            unsafe give(error, to: refusal)
            return nil
        }
    }

    /// `deinit`.
    static func end(_ plugin: UnsafeMutableRawPointer?) {
        if let plugin = unsafe plugin { unsafe HeldPlugin.release(plugin) }
    }

    static func makeLoad(
        _ plugin: UnsafeMutableRawPointer?, _ request: UnsafePointer<portolan_request>, _ client: UnsafeMutablePointer<portolan_client>,
        _ refusal: UnsafeMutablePointer<portolan_refusal>
    ) -> UnsafeMutableRawPointer? {
        guard let plugin = unsafe plugin else { return nil }
        do throws(Failure) {
            let load = try unsafe HeldPlugin.at(plugin).makeLoad(for: Request(request.pointee), client: Client(client))
            return unsafe HeldLoad.hold(load)
        } catch {
            unsafe give(error, to: refusal)
            return nil
        }
    }

    static let loads: portolan_load_table = {
        var table = portolan_load_table()
        table.size = UInt32(MemoryLayout<portolan_load_table>.size)
        unsafe table.run = { unsafe HeldLoad.at($0).run() }
        unsafe table.stop = { unsafe HeldLoad.at($0).stop() }
        unsafe table.destroy = { unsafe HeldLoad.release($0) }
        return table
    }()

    private static func give(_ failure: Failure, to refusal: UnsafeMutablePointer<portolan_refusal>) {
        let arena = Arena()
        var error = unsafe arena.error(failure)
        unsafe refusal.pointee.give(refusal, &error)
        withExtendedLifetime(arena) {}
    }
}
