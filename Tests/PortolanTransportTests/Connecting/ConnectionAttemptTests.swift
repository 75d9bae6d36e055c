// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Testing

@testable import PortolanTransport

@Suite("Connection attempts", .timeLimit(.minutes(1))) struct ConnectionAttemptTests {
    /// The moment at which the test cancels the attempt. The look-up has not begun.
    enum Moment: CaseIterable {
        case immediately, inTheNextIteration
        /// The client looks up the address of the origin after it has connected to a SOCKS5 proxy.
        case afterTheProxyConnected
    }

    @Test(arguments: Moment.allCases) func cancelledAttemptLooksUpNoName(moment: Moment) async throws {
        let lookUp = BlockingLookUp()
        let resolver = lookUp.makeResolver(limit: 1)
        _ = resolver.resolve("slow") { _ in }
        let server = try ScriptedServer([.receive(1)])
        var endpoint = Endpoint(TLSPeer(host: "cancelled.test", port: 80, description: "cancelled.test"))
        if moment == .afterTheProxyConnected { endpoint.proxy = Proxy(kind: .socks5(.local), host: "127.0.0.1", port: server.port) }
        let loop = try #require(try SocketEventLoop.shared.get().first)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        loop.execute { [endpoint] in
            let configuration = TransportConfiguration()
            let connector = ByteConnector(configuration, contexts: TLSContextCache(configuration.tls), resolver: resolver, on: loop)
            var attempt: ByteConnectionAttempt?
            let new = connector.attempt(to: endpoint, for: nil) { step in
                #expect(step == .connected)
                if let attempt { loop.execute { attempt.cancel() } }
            } completion: { result in
                #expect(throws: LoadError.self) { _ = try result.get() }
                attempt = nil
                end.finish()
            }
            attempt = new
            new.start()
            switch moment {
            case .immediately: new.cancel()
            case .inTheNextIteration: loop.execute { new.cancel() }
            case .afterTheProxyConnected: break
            }
        }
        for await _ in ends {}
        async let last = resolver.addresses(of: "last")
        lookUp.release()
        _ = try await last
        #expect(lookUp.startedNames == ["slow", "last"])
    }
}
