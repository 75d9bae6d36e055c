// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTP
import ServerSupport
import Testing

/// If a host can't be reached, the error's message names the host, the reason and a remedy.
@Suite("Unreachable hosts", .timeLimit(.minutes(10))) struct UnreachableTests {
    private static func failure(_ url: String) async -> LoadError? {
        await #expect(throws: LoadError.self) { _ = try await Loader.http().data(from: url) }
    }

    @Test(arguments: ["http", "https"], ["nosuch.invalid", "bücher.invalid", "a.b.c.invalid"])
    func unknownHostIsNotFound(_ scheme: String, _ host: String) async throws {
        let error = await Self.failure("\(scheme)://\(host)/")
        let name = host == "bücher.invalid" ? "xn--bcher-kva.invalid" : host
        #expect(error?.code == .nameNotFound)
        let message = error?.description ?? ""
        #expect(
            message.hasPrefix("host '\(name)' was not found: ") && message.hasSuffix("; check its spelling and the name service"),
            "\(message)")
        #expect(!message.contains("NIO") && !message.contains("("))
    }

    @Test(arguments: ["http", "https"], [Loopback.ipv4, .ipv6]) func messageNamesAddressAndPortOfARefusedConnection(
        _ scheme: String, _ loopback: Loopback
    )
        async throws
    {
        let refusing = try RefusingPort(on: loopback)
        let error = await Self.failure("\(scheme)://\(loopback.host):\(refusing.port)/")
        #expect(error?.code == .cannotConnect)
        let host = loopback == .ipv4 ? "127.0.0.1" : "::1"
        #expect(
            error?.description == "no connection to \(host) port \(refusing.port): Connection refused; check that a server listens there")
    }

    /// All addresses of the host refuse the connection in the same way, so the message names the host.
    @Test func messageNamesTheHostIfAllItsAddressesRefuse() async throws {
        let refusing = try RefusingPort(on: .ipv4)
        let error = await Self.failure("http://localhost:\(refusing.port)/")
        #expect(error?.code == .cannotConnect)
        #expect(
            error?.description == "no connection to localhost port \(refusing.port): Connection refused; check that a server listens there")
    }
}
