// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A plugin's handler as a ``ProtocolHandler``.
@safe
final class HostedHandler: ProtocolHandler {
    private let descriptor: HandlerDescriptor
    private let plugin: HostedInstance
    private let threads: LoadThreadPool
    let traits: HandlerTraits

    init(
        _ descriptor: HandlerDescriptor, of plugin: HostedInstance, threads: LoadThreadPool, permissions: Set<PluginPermission> = []
    ) {
        self.descriptor = descriptor
        self.plugin = plugin
        self.threads = threads
        let sendsCookies = descriptor.requestsCookies && permissions.contains(.cookies)
        traits = sendsCookies ? descriptor.traits.union(.cookies) : descriptor.traits
    }

    var identifier: String { descriptor.identifier }
    var schemes: SchemeSet { descriptor.schemes }

    func canInit(_ request: Request) -> Bool {
        guard let function = unsafe descriptor.functions.can_init else { return true }
        let cRequest = unsafe CStorage(request)
        return unsafe function(plugin.state, cRequest.pointer) != 0
    }

    func canonicalRequest(for request: Request) -> Request {
        guard let function = unsafe descriptor.functions.canonical_request else { return request }
        let cRequest = unsafe CStorage(request)
        let form = unsafe CanonicalForm.collect(for: request) { unsafe function(plugin.state, cRequest.pointer, $0) }
        if let violation = form.violation { plugin.report(violation, by: identifier) }
        return form.request
    }

    func isCacheEquivalent(_ a: Request, to b: Request) -> Bool {
        guard let function = unsafe descriptor.functions.is_cache_equivalent else { return a.url == b.url && a.method == b.method }
        let first = unsafe CStorage(a)
        let second = unsafe CStorage(b)
        return unsafe function(plugin.state, first.pointer, second.pointer) != 0
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let calls: any LoadCalls =
            traits.contains(.blocking) ? BlockingCalls(threads: threads) : EventLoadCalls(helperThreads: plugin.helperThreads)
        let load = HostedLoad(
            request, cached: cachedResponse, client: client, handler: descriptor, plugin: plugin, calls: calls)
        do throws(LoadError) {
            try load.make()
        } catch {
            return FailedLoad(error, client: client)
        }
        return PluginLoad(load)
    }
}

/// A plugin's load as a ``ProtocolLoad``. Stops the load when it is released.
private final class PluginLoad: StallExplaining {
    private let load: HostedLoad

    init(_ load: HostedLoad) {
        self.load = load
    }

    deinit { load.stop() }

    func startLoading() { load.calls.start(load) }
    func stopLoading() { load.stop() }
    func resumeLoading() { load.calls.resume(load) }
    var stallReason: String? { load.calls.stallReason.map { "\($0) (\(load.plugin.descriptor.identifier))" } }
}
