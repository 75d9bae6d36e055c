// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A checked `portolan_plugin`, with its functions.
@safe
struct PluginDescriptor: @unchecked Sendable {  // … because a descriptor is constant, and lives as long as the process
    let identifier: String
    let name: String
    let vendor: String
    let version: String
    let handlers: [HandlerDescriptor]
    private let functions: portolan_plugin

    /// Reads the library's descriptor.
    ///
    /// - Throws: ``LoadError/Code/pluginNotLoadable`` with the rule that the library violates.
    init(of library: SharedLibrary) throws(LoadError) {
        guard let symbol = unsafe library.symbol("portolan_plugin_entry") else {
            throw LoadError(
                library: library.path, .exportsEntry,
                "it does not export portolan_plugin_entry; it is not a Portolan plugin, or was built without PORTOLAN_EXPORT")
        }
        typealias Entry = @convention(c) (UInt32) -> UnsafePointer<portolan_plugin>?
        let entry = unsafe unsafeBitCast(symbol, to: Entry.self)
        guard let pointer = unsafe entry(PORTOLAN_ABI_MAJOR) else {
            throw LoadError(
                library: library.path, .sameMajorVersion,
                "it does not support version \(PORTOLAN_ABI_MAJOR) of the plugin contract; build it with this version's headers")
        }
        do throws(ContractViolation) {
            try unsafe self.init(portolan_plugin.read(pointer))
        } catch {
            throw LoadError(library: library.path, error.rule, error.detail)
        }
    }

    init(_ plugin: portolan_plugin) throws(ContractViolation) {
        guard unsafe plugin.abi_major == PORTOLAN_ABI_MAJOR else {
            throw unsafe ContractViolation(
                .sameMajorVersion,
                "its descriptor has version \(plugin.abi_major) of the plugin contract, but this host has version \(PORTOLAN_ABI_MAJOR)")
        }
        unsafe functions = plugin
        identifier = try unsafe Self.identifier(plugin.identifier, of: "the plugin")
        name = unsafe plugin.name.repairedText
        vendor = unsafe plugin.vendor.repairedText
        version = unsafe plugin.version.repairedText
        let pointers = unsafe try UnsafeBufferPointer(start: plugin.handlers, counted: plugin.handler_count, "handlers")
        guard !pointers.isEmpty else { throw ContractViolation(.structsAreWhole, "it lists no handler") }
        var handlers: [HandlerDescriptor] = []
        try unsafe pointers.forEachElement { pointer throws(ContractViolation) in
            handlers.append(try unsafe HandlerDescriptor(portolan_handler.read(pointer)))
        }
        self.handlers = handlers
    }

    static func identifier(_ string: portolan_string, of what: String) throws(ContractViolation) -> String {
        guard let text = unsafe string.text, Text.isReverseDNS(text) else {
            throw ContractViolation(
                .identifierIsReverseDNS,
                "the identifier of \(what) is not a reverse DNS name of at most 255 bytes; write one like org.example.tide")
        }
        return text
    }

    // MARK: Functions of the plugin

    /// Starts an instance. A plugin without an `init` function has no state.
    func start(_ host: UnsafeMutablePointer<portolan_host>) throws(LoadError) -> UnsafeMutableRawPointer? {
        guard let function = unsafe functions.`init` else { return nil }
        var state: UnsafeMutableRawPointer?
        let refusal = unsafe Refusal.collect { unsafe state = function(host, $0) }
        switch refusal {
        case nil: return unsafe state
        case .success(let reason)?:
            throw LoadError(
                .pluginRefused, message: Text.oneLine("the plugin \(identifier) refused to start: \(reason.message)"),
                underlyingError: reason)
        case .failure(let violation)?:
            throw LoadError(
                .pluginRefused,
                message: Text.oneLine("\(violation.rule.id): the plugin \(identifier) refused to start: \(violation.detail)"))
        }
    }

    func end(_ state: UnsafeMutableRawPointer?) {
        unsafe functions.deinit?(state)
    }

    /// The functions that the host calls, with their names in the contract.
    var calledFunctions: [(name: StaticString, address: UnsafeRawPointer?)] {
        let own: [(StaticString, UnsafeRawPointer?)] = unsafe [
            ("init", unsafeBitCast(functions.`init`, to: UnsafeRawPointer?.self)),
            ("deinit", unsafeBitCast(functions.deinit, to: UnsafeRawPointer?.self)),
            ("extension", unsafeBitCast(functions.extension, to: UnsafeRawPointer?.self)),
        ]
        return unsafe own + handlers.flatMap { unsafe $0.calledFunctions }
    }
}
