// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The handler that a binding makes from a library. The loader treats it like any other plugin's handler.
package final class BindingHandler: ProtocolHandler {
    package let identifier: String
    package let schemes: SchemeSet
    package var traits: HandlerTraits { .blocking }
    private let instance: BindingInstance
    private let threads: LoadThreadPool

    package init(_ identifier: String, _ schemes: SchemeSet, _ instance: BindingInstance, threads: LoadThreadPool) {
        self.identifier = identifier
        self.schemes = schemes
        self.instance = instance
        self.threads = threads
    }

    package func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        StoppingLoad(BindingLoad(request, client: client, instance: instance, threads: threads))
    }
}

/// A load that stops when it is released.
private final class StoppingLoad: StallExplaining {
    private let load: BindingLoad

    init(_ load: BindingLoad) {
        self.load = load
    }

    deinit { load.stop() }

    func startLoading() { load.start() }
    func stopLoading() { load.stop() }
    func resumeLoading() { load.resume() }
    var stallReason: String? { load.stallReason.map { "\($0) (\(load.libraryName))" } }
}
