// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The plugin as it describes itself. Made once; like everything that it points at, it is never freed, for the library is never unmapped.
// @unchecked Sendable … because nothing of it changes once it is made.
@safe
struct PluginDescriptor: @unchecked Sendable {
    let pointer: UnsafePointer<portolan_plugin>

    /// - Parameter start: makes an instance, and is a C function: a closure that captures nothing.
    init(
        identifier: StaticString, name: StaticString, vendor: StaticString, version: StaticString, scheme: StaticString,
        start:
            @convention(c) (UnsafeMutablePointer<portolan_host>, UnsafeMutablePointer<portolan_refusal>) -> UnsafeMutableRawPointer?
    ) {
        var handler = unsafe portolan_handler()
        unsafe handler.size = UInt32(MemoryLayout<portolan_handler>.size)
        unsafe handler.identifier = portolan_string(identifier)
        unsafe handler.schemes = Self.keep(portolan_string(scheme))
        unsafe handler.scheme_count = 1
        // `can_init` stays NULL: every URL of the scheme is this plugin's, also a malformed one, which `make` refuses by name.
        unsafe handler.make = { unsafe PluginFunctions.makeLoad($0, $1, $3, $4) }
        unsafe handler.loads = Self.keep(PluginFunctions.loads)

        var plugin = unsafe portolan_plugin()
        unsafe plugin.size = UInt32(MemoryLayout<portolan_plugin>.size)
        unsafe plugin.abi_major = PORTOLAN_ABI_MAJOR
        unsafe plugin.identifier = portolan_string(identifier)
        unsafe plugin.name = portolan_string(name)
        unsafe plugin.vendor = portolan_string(vendor)
        unsafe plugin.version = portolan_string(version)
        unsafe plugin.handlers = Self.keep(Optional(Self.keep(handler)))
        unsafe plugin.handler_count = 1
        unsafe plugin.`init` = start
        unsafe plugin.deinit = { unsafe PluginFunctions.end($0) }
        unsafe pointer = Self.keep(plugin)
    }

    private static func keep<Value>(_ value: Value) -> UnsafePointer<Value> {
        let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe place.initialize(to: value)
        return unsafe UnsafePointer(place)
    }
}
