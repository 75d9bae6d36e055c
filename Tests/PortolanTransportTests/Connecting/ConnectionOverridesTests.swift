// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite struct ConnectionOverridesTests {
    private func overrides() throws -> ConnectionOverrides {
        var overrides = ConnectionOverrides()
        try overrides.resolve("H.test", port: 80, to: ["192.0.2.1", "[2001:db8::1]"])
        try overrides.resolve(nil, port: 81, to: ["192.0.2.2"])
        try overrides.resolve("[::1]", port: nil, to: ["192.0.2.3"])
        try overrides.resolve("g.test", port: 81, to: ["192.0.2.4"])
        return overrides
    }

    @Test(
        arguments: [
            ("h.test", 80, ["192.0.2.1", "2001:db8::1"]), ("h.TEST", 80, ["192.0.2.1", "2001:db8::1"]), ("h.test", 82, nil),
            ("x.test", 81, ["192.0.2.2"]), ("g.test", 81, ["192.0.2.4"]), ("::1", 5, ["192.0.2.3"]), ("x.test", 80, nil),
        ] as [(String, Int, [String]?)])
    func hostHasTheseAddresses(host: String, port: Int, addresses: [String]?) throws {
        #expect(try overrides().addresses(host: host, port: port)?.map(\.text) == addresses)
    }

    /// The host of a URL is in its canonical form, and that of an override is as the caller has written it.
    @Test(arguments: [
        ("[2001:DB8:0:0:0:0:0:7]", "2001:db8::7"), ("b\u{FC}cher.test", "xn--bcher-kva.test"), ("127.1", "127.0.0.1"),
        ("h%2Etest", "h.test"),
    ])
    func otherFormOfAHostIsTheSameHost(_ row: (written: String, canonical: String)) throws {
        var overrides = ConnectionOverrides()
        try overrides.resolve(row.written, port: 80, to: ["192.0.2.1"])
        overrides.connect(row.written, port: 80, to: "other.test", port: nil)
        #expect(overrides.addresses(host: row.canonical, port: 80)?.map(\.text) == ["192.0.2.1"])
        #expect(overrides.target(host: row.canonical, port: 80)?.host == "other.test")
    }

    @Test func laterCallReplacesAnEarlierOne() throws {
        var overrides = try overrides()
        try overrides.resolve("h.test", port: 80, to: ["192.0.2.9"])
        #expect(overrides.addresses(host: "h.test", port: 80)?.map(\.text) == ["192.0.2.9"])
    }

    @Test(arguments: [[], ["nosuch"], ["192.0.2.1", "256.1.1.1"], [""]])
    func invalidAddressIsRefused(addresses: [String]) {
        var overrides = ConnectionOverrides()
        let error = #expect(throws: LoadError.self) { try overrides.resolve("h", port: 80, to: addresses) }
        #expect(error?.code == .badRequest && overrides == ConnectionOverrides())
    }

    @Test(
        arguments: [
            ("a.test", 80, "b.test", 81), ("a.test", 82, nil, 83), ("c.test", 82, nil, 83), ("d.test", 1, "e.test", nil),
            ("f.test", 1, nil, nil),
        ] as [(String, Int, String?, Int?)])
    func connectionGoesToAnotherTarget(host: String, port: Int, otherHost: String?, otherPort: Int?) {
        var overrides = ConnectionOverrides()
        overrides.connect("a.test", port: 80, to: "b.test", port: 81)
        overrides.connect(nil, port: 82, to: nil, port: 83)
        overrides.connect("d.test", port: nil, to: "e.test", port: nil)
        let target = overrides.target(host: host, port: port)
        #expect(target?.host == otherHost && target?.port == otherPort)
        let endpoint = {
            var endpoint = Endpoint(TLSPeer(host: host, port: port, description: ""))
            endpoint.target = target
            return endpoint
        }()
        #expect(endpoint.authority == "\(otherHost ?? host):\(otherPort ?? port)")
    }

    @Test func familyAllowsItsAddresses() throws {
        let addresses = [try #require(IPAddress("192.0.2.1")), try #require(IPAddress("::1"))]
        #expect(addresses.map { ConnectionOverrides.AddressFamily.any.allows($0) } == [true, true])
        #expect(addresses.map { ConnectionOverrides.AddressFamily.ipv4.allows($0) } == [true, false])
        #expect(addresses.map { ConnectionOverrides.AddressFamily.ipv6.allows($0) } == [false, true])
    }
}
