// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@Suite struct MIMETypeParsingTests {
    /// Inputs, and their serialisation after parsing.
    @Test(
        arguments: [
            // Type and subtype
            ("text/plain", "text/plain"),
            ("TEXT/Plain", "text/plain"),
            ("a/b", "a/b"),
            ("application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
            ("!#$%&'*+-.^_`|~/0aZ", "!#$%&'*+-.^_`|~/0az"),
            // White space before the type, after the subtype and before a parameter name is removed, and elsewhere
            // retained
            (" \t\r\na/b \t\r\n", "a/b"),
            ("a/b \t\r\n;x=y", "a/b;x=y"),
            ("a/b; \t\r\nx=y", "a/b;x=y"),
            ("a/b;x=y \t\r\n;z=1", "a/b;x=y;z=1"),
            ("a/b;x=y z", "a/b;x=\"y z\""),
            ("a/b;x= y", "a/b;x=\" y\""),
            ("a/b;x=\" y \"", "a/b;x=\" y \""),
            ("a/b;x =y", "a/b"),
            // Parameters
            ("a/b;X=Y", "a/b;x=Y"),
            ("a/b;x=y;x=z;X=w", "a/b;x=y"),
            ("a/b;x=;x=z", "a/b;x=z"),
            ("a/b;x=\"\";x=z", "a/b;x=\"\""),
            ("a/b;x;y=z", "a/b;y=z"),
            ("a/b;x", "a/b"),
            ("a/b;x=", "a/b"),
            ("a/b;x= \t", "a/b"),
            ("a/b;x= \t;y=z", "a/b;y=z"),
            ("a/b;=y;z=1", "a/b;z=1"),
            ("a/b;x=y=z", "a/b;x=\"y=z\""),
            ("a/b;", "a/b"),
            ("a/b;;; ; \t;x=y;;", "a/b;x=y"),
            ("a/b;x(=y;z=1", "a/b;z=1"),
            ("a/b;\"x=y;z\"=1;w=2", "a/b;w=2"),
            ("a/b;x=y/z", "a/b;x=\"y/z\""),
            ("a/b;x='y'", "a/b;x='y'"),
            ("a/b;x=y,z", "a/b;x=\"y,z\""),
            // Quoted strings
            ("a/b;x=\"y\"", "a/b;x=y"),
            ("a/b;x=\"y", "a/b;x=y"),
            ("a/b;x=\"", "a/b;x=\"\""),
            ("a/b;x=\"\\", "a/b;x=\"\\\\\""),
            ("a/b;x=\"y\\", "a/b;x=\"y\\\\\""),
            ("a/b;x=\"y\\z\"", "a/b;x=yz"),
            ("a/b;x=\"y\\z", "a/b;x=yz"),
            ("a/b;x=\"y\\\"z\"", "a/b;x=\"y\\\"z\""),
            ("a/b;x=\"y\\\\\"", "a/b;x=\"y\\\\\""),
            ("a/b;x=\"y;z=1\";w=2", "a/b;x=\"y;z=1\";w=2"),
            ("a/b;x=\"y\"rubbish;w=2", "a/b;x=y;w=2"),
            ("a/b;x=\"y\"\"z\";w=2", "a/b;x=y;w=2"),
            ("a/b;x=\"y;w=2", "a/b;x=\"y;w=2\""),
            ("a/b;x=y\"z\"", "a/b;x=\"y\\\"z\\\"\""),
            ("a/b;x=\"\\\u{E9}\"", "a/b;x=\"\u{E9}\""),
            ("a/b;x=\"y\t\"", "a/b;x=\"y\t\""),
            ("a/b;x=\"y ", "a/b;x=y"),
            // Code points beyond ASCII, and control characters
            ("a/b;x=\u{80}", "a/b;x=\"\u{80}\""),
            ("a/b;x=\u{FF};y=z", "a/b;x=\"\u{FF}\";y=z"),
            ("a/b;x=\u{100};y=z", "a/b;y=z"),
            ("a/b;x=\"\u{100}\";y=z", "a/b;y=z"),
            ("a/b;x=\"\u{1F600};y\";y=z", "a/b;y=z"),
            ("a/b;\u{E9}=x;y=z", "a/b;y=z"),
            ("a/b;x=\u{7F};y=z", "a/b;y=z"),
            ("a/b;x=\"\u{0}\";y=z", "a/b;y=z"),
            ("a/b;x=\"y\nz\";w=1", "a/b;w=1"),
            ("a/b;\u{C}x=y;z=1", "a/b;z=1"),
            ("a/b;x=\u{B}y;z=1", "a/b;z=1"),
            ("a/b;x=e\u{301};y=z", "a/b;y=z"),
        ])
    func textIsParsedAndSerialized(text: String, serialized: String) {
        #expect(MIMEType(parsing: text)?.description == serialized)
    }

    @Test(
        arguments: [
            "", " ", "/", "a", "a/", "/b", "a/ ", "a/;x=y", "a /b", "a/ b", "a/b c", "a/b/c", "a/b/;x=y", ";a/b", "a;x=y/b", "\"a/b\"",
            "a/b\u{C}", "\u{B}a/b",
            "a/b\u{0}", "\u{E9}/b", "a/\u{E9}", "a/\u{100}", "a\u{301}/b", "a/b,c/d", "a/b(c)", "text/{plain}", "a@b/c",
        ])
    func textWithoutTypeAndSubtypeIsRefused(text: String) {
        #expect(MIMEType(parsing: text) == nil)
    }

    /// Whether the code point may be a part of a token (the standard's "HTTP token code point").
    static func isToken(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar))
    }

    /// Whether the code point may be a part of a quoted string ("HTTP quoted-string token code point").
    static func isQuotable(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\t" || (" "..."~").contains(scalar) || ("\u{80}"..."\u{FF}").contains(scalar)
    }

    static let scalars = (0x00...0x17F).compactMap(Unicode.Scalar.init) + ["\u{212A}", "\u{FFFD}", "\u{1F600}"]

    @Test(arguments: scalars) func typesAndNamesAcceptOnlyTokenCodePoints(scalar: Unicode.Scalar) throws {
        let isToken = Self.isToken(scalar)
        #expect((MIMEType(parsing: "x\(scalar)y/z") != nil) == isToken)
        #expect((MIMEType(parsing: "x/y\(scalar)z") != nil) == (isToken || scalar == ";"))
        let type = try #require(MIMEType(parsing: "x/y;a\(scalar)b=c"))
        // '=' ends the name and ';' ends the parameter, so each leaves a legal name. Any other code point that is not a
        // token makes the name illegal.
        #expect(!type.parameters.isEmpty == (isToken || scalar == "=" || scalar == ";"))
    }

    @Test(arguments: scalars) func valuesAcceptOnlyQuotableCodePoints(scalar: Unicode.Scalar) throws {
        let typeWithToken = try #require(MIMEType(parsing: "x/y;a=b\(scalar)c;d=e"))
        #expect((typeWithToken[parameter: "a"] != nil) == Self.isQuotable(scalar))
        #expect(typeWithToken[parameter: "d"] == "e")
        if Self.isQuotable(scalar), scalar != ";" { #expect(typeWithToken[parameter: "a"] == "b\(scalar)c") }

        let typeWithQuotedString = try #require(MIMEType(parsing: "x/y;a=\"b\\\(scalar)c\";d=e"))
        #expect(typeWithQuotedString[parameter: "a"] == (Self.isQuotable(scalar) ? "b\(scalar)c" : nil))
        #expect(typeWithQuotedString[parameter: "d"] == "e")
    }

    @Test(arguments: UInt8.min...UInt8.max) func bytesAreDecodedAsLatin1(byte: UInt8) {
        let bytes = Array("a/b;x=\"".utf8) + [byte] + Array("\";y=z".utf8)
        let text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        #expect(MIMEType(parsing: bytes.span) == MIMEType(parsing: text))
        #expect(MIMEType(parsing: bytes.span) != nil)
        #expect(MIMEType(parsing: [byte].span) == nil)
    }
}
