// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanData
import Testing

/// The part of a `data:` URL before the comma.
@Suite struct DataURLHeaderTests {
    /// The text between `data:` and the comma, its MIME type, and whether the body is base64.
    @Test(
        arguments: [
            // An empty header or an invalid type gives the default type
            ("", "text/plain;charset=US-ASCII", false),
            (" ", "text/plain;charset=US-ASCII", false),
            ("text", "text/plain;charset=US-ASCII", false),
            ("text/", "text/plain;charset=US-ASCII", false),
            ("/plain", "text/plain;charset=US-ASCII", false),
            ("text;charset=utf-8", "text/plain;charset=US-ASCII", false),
            ("//host/", "text/plain;charset=US-ASCII", false),
            ("text/pl ain", "text/plain;charset=US-ASCII", false),
            ("text/\u{E9}", "text/plain;charset=US-ASCII", false),
            // Headers with a type
            ("text/html", "text/html", false),
            ("Image/PNG", "image/png", false),
            ("text/html;Charset=UTF-8", "text/html;charset=UTF-8", false),
            ("text/html;a=b;a=c", "text/html;a=b", false),
            ("text/html;a=%2C", "text/html;a=%2C", false),
            ("text/html%20", "text/html%20", false),
            ("text/html;a=\"", "text/html;a=\"\"", false),
            ("text/html;", "text/html", false),
            // White space around the type
            (" \ttext/html\r\n", "text/html", false),
            ("\u{C}text/html\u{C}", "text/html", false),
            ("text/html ;a=b", "text/html;a=b", false),
            ("\u{B}text/html", "text/plain;charset=US-ASCII", false),
            // Parameters without a type are parameters of text/plain
            (";charset=utf-8", "text/plain;charset=utf-8", false),
            (" ; charset=utf-8 ", "text/plain;charset=utf-8", false),
            (";", "text/plain", false),
            (";=", "text/plain", false),
            (";charset=", "text/plain", false),
            // Headers of base64 bodies
            (";base64", "text/plain;charset=US-ASCII", true),
            (";BaSe64", "text/plain;charset=US-ASCII", true),
            ("; base64", "text/plain;charset=US-ASCII", true),
            (";    base64  ", "text/plain;charset=US-ASCII", true),
            (" ;base64\n", "text/plain;charset=US-ASCII", true),
            ("text/html;base64", "text/html", true),
            ("text/html ; base64", "text/html", true),
            ("text/html;charset=utf-8;base64", "text/html;charset=utf-8", true),
            (";charset=utf-8 ; base64", "text/plain;charset=utf-8", true),
            (";base64;base64", "text/plain", true),
            ("text/html;;base64", "text/html", true),
            ("text/html;a=\";base64", "text/html;a=\"\"", true),
            ("bad;base64", "text/plain;charset=US-ASCII", true),
            // Headers that resemble the base64 mark, but do not mark a base64 body
            ("base64", "text/plain;charset=US-ASCII", false),
            (" base64", "text/plain;charset=US-ASCII", false),
            ("text/base64", "text/base64", false),
            ("text/html base64", "text/plain;charset=US-ASCII", false),
            (";\tbase64", "text/plain", false),
            (";\u{C}base64", "text/plain", false),
            (";base64;", "text/plain", false),
            (";base64;a=b", "text/plain;a=b", false),
            (";base64=", "text/plain", false),
            (";a=base64", "text/plain;a=base64", false),
            (";base 64", "text/plain", false),
            (";xbase64", "text/plain", false),
            (";base64x", "text/plain", false),
            (";%62ase64", "text/plain", false),
            ("%3Bbase64", "text/plain;charset=US-ASCII", false),
            (";base\u{16}4", "text/plain", false),
            (";ba\u{17F}e64", "text/plain", false),
        ])
    func headerStatesTheMIMETypeAndWhetherTheBodyIsBase64(header: String, mimeType: String, isBase64: Bool) throws {
        var decoder = try DataURLDecoder(parsing: "data:\(header),QUJD")
        #expect(decoder.mimeType.description == mimeType)
        #expect(decoder.decodeAll() == Array((isBase64 ? "ABC" : "QUJD").utf8))
    }

    @Test(arguments: ["data:", "DATA:", "Data:"]) func schemeMayHaveAnyCase(scheme: String) {
        #expect(decodedBody(of: "\(scheme),x") == [0x78])
    }

    @Test(arguments: ["", "d", "data", "data;,x", "date:,x", "file:,x", ",", " data:,x", "dat\u{1}:,x", "data\u{1A},x"])
    func otherSchemesAreRefused(url: String) {
        #expect(throws: DataURLError.wrongScheme) { try DataURLDecoder(parsing: url) }
    }

    @Test(arguments: ["data:", "data:text/html", "data:;base64", "data:text/html;a=%2C", "data:\u{E9}"])
    func urlWithoutCommaIsRefused(url: String) {
        #expect(throws: DataURLError.missingComma(endOffset: url.utf8.count)) { try DataURLDecoder(parsing: url) }
    }

    @Test func bodyBeginsAfterTheFirstComma() {
        #expect(decodedBody(of: "data:text/html;a=\",\",x") == Array("\",x".utf8))
    }
}
