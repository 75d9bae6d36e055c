// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A checked `portolan_handler`, with its functions.
@safe
struct HandlerDescriptor: @unchecked Sendable {  // … because a descriptor is constant, and lives as long as the process
    let identifier: String
    let schemes: SchemeSet
    let traits: HandlerTraits
    /// Whether the handler requests that its loads send and store cookies. The plugin needs the permission
    /// ``PluginPermission/cookies`` for that.
    let requestsCookies: Bool
    let functions: portolan_handler
    /// `functions.make`, which is never NULL.
    let make: Make
    let loads: portolan_load_table

    typealias Make =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<portolan_request>, UnsafePointer<portolan_response>?,
            UnsafeMutablePointer<portolan_client>, UnsafeMutablePointer<portolan_refusal>
        ) -> UnsafeMutableRawPointer?

    /// - Throws: DESC-05, DESC-06 or DESC-08.
    init(_ handler: portolan_handler) throws(ContractViolation) {
        unsafe functions = handler
        identifier = try unsafe PluginDescriptor.identifier(handler.identifier, of: "a handler")
        schemes = try unsafe Self.schemes(of: handler, identifier)
        guard let make = unsafe handler.make else {
            throw ContractViolation(.structsAreWhole, "the handler \(identifier) has no function `make`")
        }
        unsafe self.make = make
        let loads = unsafe try portolan_load_table.read(handler.loads)
        try Self.check(loads, of: identifier)
        self.loads = loads
        var traits: HandlerTraits = []
        if unsafe handler.has(PORTOLAN_MULTIPART) { traits.insert(.multipart) }
        if unsafe handler.has(PORTOLAN_CACHEABLE) && !handler.has(PORTOLAN_ANY_SCHEME) { traits.insert(.cacheable) }
        traits.insert(unsafe loads.run != nil ? .blocking : .stopsAsynchronously)
        self.traits = traits
        requestsCookies = unsafe handler.has(PORTOLAN_COOKIES) && !handler.has(PORTOLAN_ANY_SCHEME)
    }

    /// The functions that the host calls, with their names in the contract.
    var calledFunctions: [(name: StaticString, address: UnsafeRawPointer?)] {
        unsafe [
            ("can_init", unsafeBitCast(functions.can_init, to: UnsafeRawPointer?.self)),
            ("canonical_request", unsafeBitCast(functions.canonical_request, to: UnsafeRawPointer?.self)),
            ("is_cache_equivalent", unsafeBitCast(functions.is_cache_equivalent, to: UnsafeRawPointer?.self)),
            ("make", unsafeBitCast(functions.make, to: UnsafeRawPointer?.self)),
            ("run", unsafeBitCast(loads.run, to: UnsafeRawPointer?.self)),
            ("start", unsafeBitCast(loads.start, to: UnsafeRawPointer?.self)),
            ("resume", unsafeBitCast(loads.resume, to: UnsafeRawPointer?.self)),
            ("woken", unsafeBitCast(loads.woken, to: UnsafeRawPointer?.self)),
            ("answered", unsafeBitCast(loads.answered, to: UnsafeRawPointer?.self)),
            ("stop", unsafeBitCast(loads.stop, to: UnsafeRawPointer?.self)),
            ("destroy", unsafeBitCast(loads.destroy, to: UnsafeRawPointer?.self)),
        ]
    }

    private static func schemes(of handler: portolan_handler, _ identifier: String) throws(ContractViolation) -> SchemeSet {
        if unsafe handler.has(PORTOLAN_ANY_SCHEME) { return .any }
        guard unsafe handler.scheme_count > 0, let start = unsafe handler.schemes else {
            throw ContractViolation(
                .schemesAreWellFormed, "the handler \(identifier) names no scheme; name one, or set PORTOLAN_ANY_SCHEME")
        }
        var schemes: [String] = []
        try unsafe UnsafeBufferPointer(start: start, counted: handler.scheme_count, "schemes").forEachElement {
            string throws(ContractViolation) in
            let scheme = unsafe string.repairedText
            guard Text.isScheme(scheme) else {
                throw ContractViolation(
                    .schemesAreWellFormed,
                    "the handler \(identifier) names '\(Text.oneLine(scheme, limit: 80))', which is not a URL scheme in lower case")
            }
            guard !schemes.contains(scheme) else {
                throw ContractViolation(.schemesAreWellFormed, "the handler \(identifier) names the scheme '\(scheme)' twice")
            }
            schemes.append(scheme)
        }
        return .only(schemes)
    }

    /// Checks that the table has the functions of a blocking load or those of an event-driven load.
    private static func check(_ loads: portolan_load_table, of identifier: String) throws(ContractViolation) {
        let isBlocking = unsafe loads.run != nil
        let hasEventFunctions = unsafe [loads.start != nil, loads.resume != nil, loads.woken != nil]
        guard unsafe loads.destroy != nil else {
            throw ContractViolation(.structsAreWhole, "the load table of \(identifier) has no function `destroy`")
        }
        guard isBlocking ? !hasEventFunctions.contains(true) : !hasEventFunctions.contains(false) else {
            throw ContractViolation(
                .structsAreWhole,
                "the load table of \(identifier) must have either `run` (a blocking load) or `start`, `resume` and `woken` (an event-driven load)"
            )
        }
    }
}

extension portolan_handler {
    fileprivate func has(_ flag: portolan_handler_flags) -> Bool {
        unsafe flags & UInt32(bitPattern: flag.rawValue) != 0
    }
}
