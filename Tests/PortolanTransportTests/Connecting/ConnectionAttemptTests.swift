// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Testing

@testable import PortolanTransport

@Suite("Connection attempts", .timeLimit(.minutes(1))) struct ConnectionAttemptTests {
    /// When the test cancels the attempt. In each case, the look-up has not begun.
    enum CancelMoment: CaseIterable {
        case immediately, inTheNextIteration
        /// The client looks up the address of the origin after it has connected to a SOCKS5 proxy.
        case afterTheProxyConnected
    }

    @Test(arguments: CancelMoment.allCases) func cancelledAttemptLooksUpNoName(moment: CancelMoment) async throws {
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
            let newAttempt = connector.attempt(to: endpoint, for: nil) { step in
                #expect(step == .connected)
                if let attempt { loop.execute { attempt.cancel() } }
            } completion: { result in
                #expect(throws: LoadError.self) { _ = try result.get() }
                attempt = nil
                end.finish()
            }
            attempt = newAttempt
            newAttempt.start()
            switch moment {
            case .immediately: newAttempt.cancel()
            case .inTheNextIteration: loop.execute { newAttempt.cancel() }
            case .afterTheProxyConnected: break
            }
        }
        for await _ in ends {}
        async let lastAddresses = resolver.addresses(of: "last")
        lookUp.release()
        _ = try await lastAddresses
        #expect(lookUp.startedNames == ["slow", "last"])
    }
}
