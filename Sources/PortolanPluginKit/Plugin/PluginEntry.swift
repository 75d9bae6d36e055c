// SPDX-License-Identifier: Apache-2.0

public import CPortolan
import Synchronization

/// A pointer to the plugin's descriptor. The only exported function of the library returns this pointer to the host.
public typealias PluginEntry = UnsafePointer<portolan_plugin>

extension PluginHandler {
    /// Returns the plugin's descriptor, the same one for every call. `nil` for a host with another major version.
    @safe
    public static func entry(_ abiMajor: UInt32) -> PluginEntry? {
        guard abiMajor == PORTOLAN_ABI_MAJOR else { return nil }
        return unsafe RegisteredHandler.all.withLock { handlers in
            if let handler = handlers.first(where: { $0.type == Self.self }) { return unsafe handler.entry }
            // The contract's `init` does not receive the type, so each type needs a separate function. A library has
            // one plugin, but a test program has several.
            guard unsafe handlers.count < HandlerFunctions.startFunctions.count else { return nil }
            let start = unsafe HandlerFunctions.startFunctions[handlers.count]
            let arena = Arena()
            let entry = unsafe DescriptorMemory.plugin(Self.self, start: start, in: arena)
            unsafe handlers.append(RegisteredHandler(type: Self.self, entry: entry, arena: arena))
            return unsafe entry
        }
    }
}

/// A handler type of this library, with its descriptor. Its index in ``all`` selects its `init` function.
@safe
struct RegisteredHandler: @unchecked Sendable {  // … because the memory behind the pointers never changes and is never freed
    let type: any PluginHandler.Type
    let entry: PluginEntry
    /// Owns the memory that ``entry`` points to.
    let arena: Arena

    static let all = Mutex<[RegisteredHandler]>([])
}

/// Builds the descriptor. Its memory is never freed, because the library is never unmapped.
enum DescriptorMemory {
    static func plugin(_ handler: any PluginHandler.Type, start: @escaping HandlerFunctions.Start, in arena: Arena) -> PluginEntry {
        let description = handler.description
        var plugin = unsafe portolan_plugin()
        unsafe plugin.size = UInt32(MemoryLayout<portolan_plugin>.size)
        unsafe plugin.abi_major = PORTOLAN_ABI_MAJOR
        unsafe plugin.identifier = arena.string(description.identifier)
        unsafe plugin.name = arena.string(description.name)
        unsafe plugin.vendor = arena.string(description.vendor)
        unsafe plugin.version = arena.string(description.version)
        unsafe plugin.handlers = arena.list([handler]) { unsafe Optional(permanentCopy(of: Self.handler($0, description, arena))) }
        unsafe plugin.handler_count = 1
        unsafe plugin.`init` = start
        unsafe plugin.deinit = { unsafe HandlerFunctions.end($0) }
        return unsafe permanentCopy(of: plugin)
    }

    private static func handler(
        _ type: any PluginHandler.Type, _ description: PluginDescription, _ arena: Arena
    ) -> portolan_handler {
        var handler = unsafe portolan_handler()
        unsafe handler.size = UInt32(MemoryLayout<portolan_handler>.size)
        unsafe handler.identifier = arena.string(description.identifier)
        var flags = description.isMultipart ? PORTOLAN_MULTIPART.rawValue : 0
        if description.usesCookies { flags |= PORTOLAN_COOKIES.rawValue }
        if description.isCacheable { flags |= PORTOLAN_CACHEABLE.rawValue }
        switch description.schemes {
        case .any: flags |= PORTOLAN_ANY_SCHEME.rawValue
        case .only(let schemes):
            unsafe handler.schemes = arena.list(schemes) { unsafe arena.string($0) }
            unsafe handler.scheme_count = schemes.count
        }
        unsafe handler.flags = UInt32(bitPattern: flags)
        // A function that the author did not implement stays NULL, so that the host does not call it for every request.
        if type is any RequestChoosing.Type { unsafe handler.can_init = { unsafe HandlerFunctions.canInit($0, $1) } }
        if type is any RequestCanonicalizing.Type { unsafe handler.canonical_request = { unsafe HandlerFunctions.canonical($0, $1, $2) } }
        if type is any CacheComparing.Type { unsafe handler.is_cache_equivalent = { unsafe HandlerFunctions.areEquivalent($0, $1, $2) } }
        unsafe handler.make = { unsafe HandlerFunctions.make($0, $1, $2, $3) ?? LoadFunctions.refuse($4) }
        unsafe handler.loads = permanentCopy(of: LoadFunctions.table)
        return unsafe handler
    }

    private static func permanentCopy<Value>(of value: Value) -> UnsafePointer<Value> {
        let copy = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe copy.initialize(to: value)
        return unsafe UnsafePointer(copy)
    }
}
