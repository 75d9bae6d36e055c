// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanCore
import ServerSupport
import Testing

@testable import PortolanTransport

/// Which failures mean that the system has no network.
@Suite(.timeLimit(.minutes(1))) struct ConnectionFailureTests {
    @Test(arguments: [(ENETUNREACH, true), (ENETDOWN, true), (ECONNREFUSED, false), (EHOSTUNREACH, false), (ETIMEDOUT, false)])
    func errorOfASocket(number: CInt, isForLackOfNetwork: Bool) {
        #expect(LoadError.cannotConnect(to: "h", port: 80, .system(number)).isForLackOfNetwork == isForLackOfNetwork)
    }

    @Test(arguments: [(EAI_AGAIN, true), (EAI_NONAME, false), (EAI_FAIL, false)])
    func errorOfALookUp(status: CInt, isForLackOfNetwork: Bool) {
        #expect(LoadError.hostNotFound("h", NameError(status: status)).isForLackOfNetwork == isForLackOfNetwork)
    }

    /// TCP can't connect to a multicast address, with the error of a missing route. The error of a host that refuses
    /// the connection says more, in any order of the addresses.
    @Test(arguments: [
        ([[224, 0, 0, 1]], true), ([[127, 0, 0, 1]], false), ([[127, 0, 0, 1], [224, 0, 0, 1]], false),
        ([[224, 0, 0, 1], [127, 0, 0, 1]], false),
    ])
    func errorOfARace(addresses: [[UInt8]], isForLackOfNetwork: Bool) async throws {
        // A server that is closed again has a port on which nothing listens.
        let port = try ScriptedServer([.close]).port
        let resolver = DNSResolver { _ in addresses.map { SocketAddress(IPAddress(bytes: $0), port: 0) } }
        let loop = try #require(try SocketEventLoop.shared.get().first)
        let endpoint = Endpoint(TLSPeer(host: "race.test", port: port, description: "race.test"))
        let error: LoadError? = await withCheckedContinuation { continuation in
            loop.execute {
                let configuration = TransportConfiguration()
                let connector = ByteConnector(configuration, contexts: TLSContextCache(configuration.tls), resolver: resolver, on: loop)
                var attempt: ByteConnectionAttempt?
                attempt = connector.attempt(to: endpoint, for: nil) { _ in
                } completion: { result in
                    attempt = nil
                    if case .failure(let error) = result {
                        continuation.resume(returning: error)
                    } else {
                        continuation.resume(returning: nil)
                    }
                }
                attempt?.start()
            }
        }
        #expect(error?.code == .cannotConnect && error?.isForLackOfNetwork == isForLackOfNetwork, "\(error?.message ?? "no error")")
    }
}
