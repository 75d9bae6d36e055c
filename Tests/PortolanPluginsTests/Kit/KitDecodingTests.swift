// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPluginKit
import PortolanTestSupport
import Testing

/// Percent-decoding of URL parts in the kit.
@Suite struct KitDecodingTests {
    @Test(arguments: [
        ("", ""), ("text", "text"), ("big%20world", "big world"), ("%c3%BC", "ü"), ("%2541", "%41"), ("a+b", "a+b"), ("%2F..%2f", "/../"),
    ])
    func partIsDecodedOnce(encoded: String, decoded: String) throws {
        #expect(try PluginRequest.percentDecode(encoded) == decoded)
        #expect(try PluginRequest.percentDecodeBytes(encoded) == Array(decoded.utf8))
    }

    @Test(arguments: ["%", "a%4", "%4", "%zz", "%4g", "%%41"]) func malformedEncodingIsRefused(encoded: String) {
        let error = #expect(throws: PluginError.self) { try PluginRequest.percentDecode(encoded) }
        #expect(error?.code == .badURL && error?.message.contains("two hexadecimal digits") == true)
        #expect(throws: PluginError.self) { try PluginRequest.percentDecodeBytes(encoded) }
    }

    @Test(arguments: ["%00", "%0d", "a%0Ab", "%ff", "%c3"]) func textWithALineBreakOrInvalidUTF8IsRefused(encoded: String) throws {
        #expect(throws: PluginError.self) { try PluginRequest.percentDecode(encoded) }
        #expect(try PluginRequest.percentDecodeBytes(encoded).count == encoded.utf8.count - 2)
    }

    @Test func pathAndQueryOfARequestAreDecoded() async throws {
        let kit = try Kit()
        #expect(try await kit.run("kit:te%78t").text == "ahoy")
        #expect(try await kit.run("kit:query?x&a%20b=1%26+2&a%20b=3&c").text == "1&+2,")
        #expect(try await kit.run("kit:query?C=1").text == "-,-")
        #expect(try await kit.run("kit:%zz").error?.code == .badURL)
    }
}
