// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// Presents a handler of this process through the C contract. The runner sees an event-driven plugin, with serial calls
/// into each load.
///
/// The rules about libraries and their start do not apply to it, because its functions come from the runner.
@safe
final class ExportedPlugin: @unchecked Sendable {  // … because a descriptor does not change
    let handler: any ProtocolHandler
    private let descriptor: CStorage<portolan_plugin>

    init(_ handler: any ProtocolHandler) {
        self.handler = handler
        unsafe descriptor = unsafe CStorage { unsafe Self.descriptor(of: handler, in: &$0) }
    }

    var pointer: UnsafePointer<portolan_plugin> { unsafe descriptor.pointer }
    /// The state pointer that its functions receive for the instance.
    var state: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    private static func at(_ state: UnsafeMutableRawPointer?) -> ExportedPlugin {
        guard let state = unsafe state else { fatalError("the runner calls its own handler without an instance") }
        return unsafe Unmanaged<ExportedPlugin>.fromOpaque(state).takeUnretainedValue()
    }

    private static func descriptor(of handler: any ProtocolHandler, in arena: inout CArena) -> portolan_plugin {
        let loads = unsafe arena.list([portolan_load_table(ofExported: ())]) { image, _ in image }.start
        var image = unsafe portolan_handler()
        unsafe image.size = UInt32(MemoryLayout<portolan_handler>.size)
        unsafe image.identifier = arena.string(handler.identifier)
        unsafe image.loads = loads
        var flags = UInt32(0)
        switch handler.schemes {
        case .any: flags |= UInt32(bitPattern: PORTOLAN_ANY_SCHEME.rawValue)
        case .only(let schemes): unsafe (image.schemes, image.scheme_count) = arena.list(schemes) { unsafe $1.string($0) }
        }
        if handler.traits.contains(.multipart) { flags |= UInt32(bitPattern: PORTOLAN_MULTIPART.rawValue) }
        if handler.traits.contains(.cookies) { flags |= UInt32(bitPattern: PORTOLAN_COOKIES.rawValue) }
        if handler.traits.contains(.cacheable) { flags |= UInt32(bitPattern: PORTOLAN_CACHEABLE.rawValue) }
        unsafe image.flags = flags
        unsafe image.can_init = { state, request in
            let request = unsafe RequestImage.at(request).request
            let handler = unsafe ExportedPlugin.at(state).handler
            // The registry, too, passes only requests of the handler's own schemes.
            return handler.schemes.contains(request.url.scheme) && handler.canInit(request) ? 1 : 0
        }
        unsafe image.canonical_request = { state, request, form in
            let request = unsafe RequestImage.at(request).request
            let canonical = unsafe ExportedPlugin.at(state).handler.canonicalRequest(for: request)
            let isSame =
                canonical.url == request.url && canonical.method == request.method && canonical.fields == request.fields
                && canonical.properties == request.properties && (canonical.body == nil) == (request.body == nil)
            guard !isSame else { return }
            let change = unsafe CStorage<portolan_change>(from: request, to: canonical)
            unsafe form.pointee.give(form, change.pointer)
        }
        unsafe image.is_cache_equivalent = { state, first, second in
            let (first, second) = unsafe (RequestImage.at(first).request, RequestImage.at(second).request)
            return unsafe ExportedPlugin.at(state).handler.isCacheEquivalent(first, to: second) ? 1 : 0
        }
        unsafe image.make = { state, _, _, client, _ in
            let handler = unsafe ExportedPlugin.at(state).handler
            return unsafe Unmanaged.passRetained(ExportedLoad(handler, client)).toOpaque()
        }
        let handlerPointer = unsafe arena.list([image]) { image, _ in unsafe image }.start
        var plugin = unsafe portolan_plugin()
        unsafe plugin.size = UInt32(MemoryLayout<portolan_plugin>.size)
        unsafe plugin.abi_major = UInt32(PORTOLAN_ABI_MAJOR)
        unsafe plugin.identifier = arena.string(handler.identifier)
        unsafe (plugin.handlers, plugin.handler_count) = arena.list([handlerPointer]) { pointer, _ in unsafe pointer }
        return unsafe plugin
    }
}

extension portolan_load_table {
    /// The functions of an exported load.
    fileprivate init(ofExported: Void) {
        self.init()
        size = UInt32(MemoryLayout<portolan_load_table>.size)
        unsafe start = { load in unsafe ExportedLoad.at(load).start() }
        unsafe resume = { load in unsafe ExportedLoad.at(load).resume() }
        unsafe woken = { load in unsafe ExportedLoad.at(load).woken() }
        unsafe answered = { load, answer in unsafe ExportedLoad.at(load).answered(answer) }
        unsafe stop = { load in unsafe ExportedLoad.at(load).stop() }
        unsafe destroy = { load in unsafe Unmanaged<ExportedLoad>.fromOpaque(load).takeRetainedValue().destroy() }
    }
}
