// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// The descriptor that a library's entry function returned, unchanged. The DESC checks report its flaws. If the
/// descriptor is too broken for other checks, `init` throws.
@safe
struct DescribedPlugin: @unchecked Sendable {  // … because a descriptor is constant, and lives as long as this value
    let functions: portolan_plugin
    let handlers: [DescribedHandler]

    /// All defects of the structures, which the check of DESC-05 reports.
    let flaws: [Flaw]
    /// The state of the only instance, which needs no start; `nil` for a library, whose `init` creates the state.
    let instanceState: UnsafeMutableRawPointer?
    /// The owner of the structures; a library's structures live as long as the process.
    private let owner: (any AnyObject & Sendable)?

    /// - Parameters:
    ///   - instanceState: The state of an instance that needs no start.
    ///   - owner: An object that must live as long as this value.
    init(
        _ pointer: UnsafePointer<portolan_plugin>, instanceState: UnsafeMutableRawPointer? = nil, owner: (any AnyObject & Sendable)? = nil
    ) throws(CheckSkipped) {
        unsafe self.instanceState = unsafe instanceState
        self.owner = owner
        let readPlugin = unsafe ReadStruct(pointer) { unsafe CopiedStruct($0) }
        guard let plugin = unsafe readPlugin.value else { throw CheckSkipped("the plugin's descriptor is not complete (DESC-05)") }
        unsafe functions = plugin.value
        var (flaws, handlers): ([Flaw], [DescribedHandler]) = unsafe (readPlugin.flawOfSize("the descriptor"), [])
        let count = unsafe functions.handler_count
        let list = unsafe functions.handlers
        if count < 1 || count > 1024 {
            flaws.append(Flaw("the descriptor has a handler_count of \(UInt(bitPattern: count))", Self.listRemedy))
        } else if let list = unsafe list, unsafe ReadableMemory.contains(list, count * MemoryLayout<UnsafeRawPointer>.stride) {
            for index in 0..<count {
                do throws(Flaw) {
                    handlers.append(try unsafe DescribedHandler(list[index], index))
                } catch {
                    flaws.append(error)
                }
            }
        } else {
            flaws.append(Flaw("the list of handlers is NULL or can't be read, but handler_count is \(count)", Self.listRemedy))
        }
        (self.handlers, self.flaws) = (handlers, flaws + handlers.flatMap(\.flaws))
    }

    private static let listRemedy = "Set handlers to an array of at least one handler, and handler_count to the number of its elements."

    var identifier: ReadText { unsafe ReadText(functions.identifier) }
}

extension DescribedPlugin {
    /// What a `size` means that is larger than the structure of this version.
    static let phraseOfLargeSize = "This version knows a smaller one, so the size is wrong, or the plugin was built for a later version"
}

extension ReadStruct {
    fileprivate func flawOfSize(_ name: String) -> [Flaw] {
        guard case .large(let size, _) = self else { return [] }
        return [
            Flaw(
                "\(name) has the size \(size). \(DescribedPlugin.phraseOfLargeSize)",
                "Set size with sizeof. If the plugin was built with the headers of a later version, check it with that version.")
        ]
    }
}

/// A defect of a structure.
struct Flaw: Error, Hashable {
    let detail: String
    let remedy: String

    init(_ detail: String, _ remedy: String) { (self.detail, self.remedy) = (detail, remedy) }
}

/// A handler as its descriptor declares it, and its load table.
@safe
struct DescribedHandler: @unchecked Sendable {  // … because a descriptor is constant, and lives as long as the process
    let functions: portolan_handler
    let loads: portolan_load_table
    /// The schemes; empty if a structure of the handler is not complete.
    let schemes: [ReadText]
    let flaws: [Flaw]

    init(_ pointer: UnsafePointer<portolan_handler>?, _ index: Int) throws(Flaw) {
        let name = "handler \(index)"
        let readHandler = unsafe ReadStruct(pointer) { unsafe CopiedStruct($0) }
        guard let handler = unsafe readHandler.value else {
            throw Flaw(
                "\(name) is NULL, can't be read, or is smaller than in version 1",
                "Let each element of handlers point at a portolan_handler whose size is sizeof(portolan_handler).")
        }
        let readLoads = unsafe ReadStruct(handler.value.loads) { CopiedStruct($0) }
        guard let loads = readLoads.value else {
            throw Flaw(
                "the load table of \(name) is NULL, can't be read, or is smaller than in version 1",
                "Let loads point at a portolan_load_table whose size is sizeof(portolan_load_table).")
        }
        unsafe (functions, self.loads) = (handler.value, loads.value)
        var flaws: [Flaw] = []
        if unsafe functions.make == nil { flaws.append(Flaw("\(name) has no function make", "Set make in the portolan_handler.")) }
        if unsafe self.loads.destroy == nil {
            flaws.append(Flaw("the load table of \(name) has no function destroy", "Set destroy in the portolan_load_table."))
        }
        let isBlocking = unsafe self.loads.run != nil
        let events = unsafe [self.loads.start != nil, self.loads.resume != nil, self.loads.woken != nil]
        if isBlocking ? events.contains(true) : events.contains(false) {
            flaws.append(
                Flaw(
                    "the load table of \(name) has neither style, or both",
                    "Set run for a blocking load, or start, resume and woken for an event-driven one."))
        }
        let count = unsafe functions.scheme_count
        let isListed =
            unsafe functions.schemes != nil && (0...4096).contains(count)
            && ReadableMemory.contains(functions.schemes, count * MemoryLayout<portolan_string>.stride)
        if count != 0, !isListed {
            flaws.append(
                Flaw(
                    "\(name) has a scheme_count of \(UInt(bitPattern: count)), but their list can't be read",
                    "Set schemes to an array of portolan_string, and scheme_count to the number of its elements."))
        }
        let list = unsafe functions.schemes
        schemes = unsafe flaws.isEmpty ? list.map { list in (0..<count).map { unsafe ReadText(list[$0]) } } ?? [] : []
        // The handler can be used in spite of these.
        unsafe flaws += readHandler.flawOfSize(name) + readLoads.flawOfSize("the load table of \(name)")
        if self.loads.reserved != 0 {
            flaws.append(
                Flaw("the reserved member of the load table of \(name) is not 0", "Zero the table, and set only its other members."))
        }
        self.flaws = flaws
    }

    /// Whether the handler is an interposer, which receives requests of every scheme.
    var takesAnyScheme: Bool { unsafe functions.flags & UInt32(bitPattern: PORTOLAN_ANY_SCHEME.rawValue) != 0 }
    var isMultipart: Bool { unsafe functions.flags & UInt32(bitPattern: PORTOLAN_MULTIPART.rawValue) != 0 }
    /// Whether the handler's loads send and store cookies if the plugin has the permission. An interposer's loads do
    /// not.
    var usesCookies: Bool { unsafe functions.flags & UInt32(bitPattern: PORTOLAN_COOKIES.rawValue) != 0 && !takesAnyScheme }
    /// Whether the handler has a function `can_init`. Without it, the handler accepts every request of its schemes.
    var choosesRequests: Bool { unsafe functions.can_init != nil }
    var isBlocking: Bool { unsafe loads.run != nil }
    var identifier: ReadText { unsafe ReadText(functions.identifier) }
}

/// Wraps a copy of a C struct, so that a closure can return it.
@safe
private struct CopiedStruct<Value>: @unchecked Sendable {  // … because it is a copy
    let value: Value
    init(_ value: Value) { self.value = value }
}
