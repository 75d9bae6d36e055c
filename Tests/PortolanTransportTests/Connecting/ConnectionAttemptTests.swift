// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Testing

@testable import PortolanTransport

@Suite("Connection attempts", .timeLimit(.minutes(1))) struct ConnectionAttemptTests {
    /// The moment at which an attempt is cancelled. Its look-up has not begun.
    enum Moment: CaseIterable {
        case atOnce, inTheNextTurn
        /// The origin's address is looked up after the connection to a SOCKS5 proxy.
        case behindTheProxy
    }

    @Test(arguments: Moment.allCases) func cancelledAttemptsLookUpNoName(moment: Moment) async throws {
        let held = HeldNames()
        let names = held.service(limit: 1)
        _ = names.find("slow") { _ in }
        let server = try ScriptedServer([.receive(1)])
        var endpoint = Endpoint(TLSPeer(host: "given-up.test", port: 80, description: "given-up.test"))
        if moment == .behindTheProxy { endpoint.proxy = Proxy(kind: .socks5(.local), host: "127.0.0.1", port: server.port) }
        let loop = try #require(try SocketEventLoop.shared.get().first)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        loop.execute { [endpoint] in
            let configuration = TransportConfiguration()
            let connector = ByteConnector(configuration, contexts: TLSContextCache(configuration.tls), names: names, on: loop)
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
            case .atOnce: new.cancel()
            case .inTheNextTurn: loop.execute { new.cancel() }
            case .behindTheProxy: break
            }
        }
        for await _ in ends {}
        async let last = names.addresses(of: "last")
        held.release()
        _ = try await last
        #expect(held.lookedUp == ["slow", "last"])
    }
}
