// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@Suite struct MIMETypeTests {
    @Test func typeSubtypeAndParametersAreParsed() throws {
        let type = try #require(MIMEType(parsing: "Image/SVG+XML; Title=\"a \\\"b\\\"\"; q=1"))
        #expect(type.essence == "image/svg+xml")
        #expect(type.type == "image")
        #expect(type.subtype == "svg+xml")
        #expect(type.parameters.map(\.name) == ["title", "q"])
        #expect(type.parameters.map(\.value) == ["a \"b\"", "1"])
    }

    @Test(arguments: ["q", "Q"])
    func parameterNamesIgnoreCase(name: String) {
        #expect(MIMEType(parsing: "a/b;Q=Value")?[parameter: name] == "Value")
    }

    @Test func missingParametersAreNil() {
        #expect(MIMEType(parsing: "a/b;q=1")?[parameter: "r"] == nil)
        #expect(MIMEType(parsing: "a/b;q=1")?[parameter: ""] == nil)
        #expect(MIMEType(parsing: "a/b;q=1")?.charset == nil)
    }

    @Test(arguments: [("text/plain;charset=UTF-8", "UTF-8"), ("text/plain;CHARSET=\"utf-8\"", "utf-8"), ("a/b;x=y;charset=\"\"", "")])
    func charsetKeepsItsCase(text: String, charset: String) {
        #expect(MIMEType(parsing: text)?.charset == charset)
    }

    @Test func equalityIgnoresSpellingButNotOrderAndCaseOfValues() {
        #expect(MIMEType(parsing: "A/B; X=\"y\"") == MIMEType(parsing: "a/b;x=y"))
        #expect(MIMEType(parsing: "a/b;x=y") != MIMEType(parsing: "a/b;x=Y"))
        #expect(MIMEType(parsing: "a/b;x=1;y=2") != MIMEType(parsing: "a/b;y=2;x=1"))
        #expect(MIMEType(parsing: "a/b;x=y") != MIMEType(parsing: "a/b"))
    }

    @Test(
        arguments: [
            (MIMEType.octetStream, "application/octet-stream"), (.plainText, "text/plain"), (.html, "text/html"),
            (.plainASCIIText, "text/plain;charset=US-ASCII"), (.json, "application/json"), (.xml, "application/xml"),
            (.urlEncodedForm, "application/x-www-form-urlencoded"),
        ])
    func predefinedTypesEqualTheirParsedText(type: MIMEType, text: String) {
        #expect(type.description == text)
        #expect(MIMEType(parsing: text) == type)
    }
}
