// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Logging
import PortolanCore

@testable import PortolanPlugins

/// A plugin whose C functions are closures of the test, so that a test can call any client function in any order.
struct InProcessPlugin {
    typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Void

    let handler: any ProtocolHandler
    private let instance: HostedInstance

    /// The functions receive the `portolan_client`, which is also the pointer of the load.
    init(
        run: Function? = nil, start: Function? = nil, resume: Function? = nil, woken: Function? = nil, stop: Function? = nil,
        logger: Logger = Logger(label: "tests")
    ) throws {
        var loads = portolan_load_table()
        loads.size = UInt32(MemoryLayout<portolan_load_table>.size)
        unsafe loads.run = run
        unsafe loads.start = start
        unsafe loads.resume = start == nil ? nil : resume ?? { _ in }
        unsafe loads.woken = start == nil ? nil : woken ?? { _ in }
        unsafe loads.stop = stop
        unsafe loads.destroy = { _ in }
        var handler = unsafe portolan_handler()
        unsafe handler.size = UInt32(MemoryLayout<portolan_handler>.size)
        unsafe handler.identifier = Self.string("org.portolan.inside")
        unsafe handler.schemes = Self.permanentCopy(of: Self.string("inside"))
        unsafe handler.scheme_count = 1
        unsafe handler.loads = Self.permanentCopy(of: loads)
        unsafe handler.make = { _, _, _, client, _ in UnsafeMutableRawPointer(client) }
        var plugin = unsafe portolan_plugin()
        unsafe plugin.size = UInt32(MemoryLayout<portolan_plugin>.size)
        unsafe plugin.abi_major = PORTOLAN_ABI_MAJOR
        unsafe plugin.identifier = Self.string("org.portolan.inside")
        unsafe plugin.handlers = Self.permanentCopy(of: Self.permanentCopy(of: handler))
        unsafe plugin.handler_count = 1
        let descriptor = unsafe try PluginDescriptor(plugin)
        instance = unsafe try HostedInstance(
            descriptor, configuration: PluginConfiguration(), extensions: { _ in nil }, logger: logger)
        self.handler = HostedHandler(descriptor.handlers[0], of: instance, threads: .shared)
    }

    func waitUntilIdle() {
        instance.waitUntilIdle()
    }

    static func string(_ text: StaticString) -> portolan_string {
        unsafe portolan_string(bytes: UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self), length: text.utf8CodeUnitCount)
    }

    /// Stores a value for the lifetime of the process, like a constant of a library. The list of addresses prevents
    /// reports of leaks.
    private static func permanentCopy<Value>(of value: Value) -> UnsafePointer<Value> {
        let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe pointer.initialize(to: value)
        constants.withLock { $0.append(UInt(bitPattern: pointer)) }
        return unsafe UnsafePointer(pointer)
    }

    private static let constants = ConditionLock<[UInt]>([])
}

extension UnsafeMutableRawPointer {
    /// The client of a load of ``InProcessPlugin``.
    var client: UnsafeMutablePointer<portolan_client> { unsafe assumingMemoryBound(to: portolan_client.self) }
}

extension UnsafeMutablePointer<portolan_client> {
    /// Reports a response of unknown length.
    func respond() {
        var response = unsafe portolan_response()
        unsafe response.size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe response.expected_length = -1
        _ = unsafe pointee.did_receive_response(self, &response)
    }

    /// Delivers a text.
    func deliver(_ text: String) {
        var text = text
        text.withUTF8 { _ = unsafe pointee.did_load(self, $0.baseAddress, $0.count) }
    }

    func finish() { unsafe pointee.did_finish(self) }
}
