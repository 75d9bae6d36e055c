// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Stops the loads of another handler at the worst moment: after a load has called its client with bytes or a failure,
/// and before the client receives the call.
package struct StoppingHandler: ProtocolHandler {
    private let handler: any ProtocolHandler
    private let stop: @Sendable () -> Void

    /// - Parameter stop: stops the load.
    package init(_ handler: any ProtocolHandler, stop: @escaping @Sendable () -> Void) {
        (self.handler, self.stop) = (handler, stop)
    }

    package var identifier: String { handler.identifier }
    package var schemes: SchemeSet { handler.schemes }
    package var traits: HandlerTraits { handler.traits }

    package func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        handler.makeLoad(for: request, cachedResponse: cachedResponse, client: StoppingClient(next: client, stop: stop))
    }

    private final class StoppingClient: ForwardingClient {
        let next: any ProtocolClient
        private let stop: @Sendable () -> Void

        init(next: any ProtocolClient, stop: @escaping @Sendable () -> Void) { (self.next, self.stop) = (next, stop) }

        func didLoad(_ bytes: borrowing RawSpan) -> Flow {
            stop()
            return next.didLoad(bytes)
        }

        func didFail(with error: LoadError) {
            stop()
            next.didFail(with: error)
        }
    }
}
