// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

@Suite("Connection keys") struct ConnectionKeyTests {
    @Test func connectionKeyIncludesTheProxy() throws {
        let request = try Request("http://h/")
        func key(_ proxy: String) throws -> ConnectionKey { try ConnectionKey(request, proxies: ProxySelection(.proxy(proxy))) }
        #expect(try key("p:1") == key("http://p:1/"))
        for other in ["p:2", "q:1", "socks5://p:1", "u:a@p:1"] { #expect(try key("p:1") != key(other)) }
        #expect(try key("u:a@p:1") != key("u:b@p:1"))
        #expect(try key("socks5://p:1") != key("socks5h://p:1"))
        #expect(try key("u:a@p:1").origin == key("q:1").origin)
    }
}
