// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@Suite struct HostForDisplayTests {
    @Test(arguments: [
        ("http://xn--bcher-kva.example/", "bücher.example"), ("http://Bu\u{308}cher.example/", "bücher.example"), ("http://h:80/", "h"),
        ("http://a.xn--4dbc./", "a.אב."), ("http://[::1]/", "[::1]"), ("foo://xn--bcher-kva/", "xn--bcher-kva"),
        ("foo://%C3%BC/", "%C3%BC"),
        ("file:///x", ""),
    ])
    func punycodeOfSpecialSchemesIsDecoded(text: String, expected: String) throws {
        #expect(try URLRecord(parsing: text).hostForDisplay == expected)
    }

    @Test func urlWithoutAuthorityHasNone() throws { #expect(try URLRecord(parsing: "data:,x").hostForDisplay == nil) }
}
