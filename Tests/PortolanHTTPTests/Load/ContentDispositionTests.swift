// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanHTTPSyntax

@Suite struct ContentDispositionTests {
    private static func name(_ text: String) -> String? { ContentDisposition(parsing: Array(text.utf8))?.filename }

    @Test(arguments: [
        ("attachment; filename=foo.html", "foo.html"), ("inline; filename=\"foo.html\"", "foo.html"),
        ("ATTACHMENT ; FileName = \"foo.html\" ; x=y", "foo.html"), ("attachment;filename=\"f\\o\\\"o;.html\"", "fo\"o;.html"),
        ("attachment; filename=foo bar.txt", "foo bar.txt"), ("attachment; filename=a; filename=b", "a"),
        ("attachment; size=3; =x; ; filename=a", "a"), ("attachment; x=\"filename=b; \\\"\"; filename=a", "a"),
        ("attachment; filename=naïve.txt", "naïve.txt"), ("attachment; filename=\"€ rates\"", "€ rates"),
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=UTF-8'en'%e2%82%ac; filename=e", "€"), ("attachment; filename*=iso-8859-1''%A3", "£"),
        // A `filename*` that cannot be decoded is ignored.
        ("attachment; filename*=utf-8''%e2%82; filename=a", "a"), ("attachment; filename*=utf-8''%zz; filename=a", "a"),
        ("attachment; filename*=utf-8''%e; filename=a", "a"), ("attachment; filename*=koi8-r''x; filename=a", "a"),
        ("attachment; filename*=\"utf-8''x\"; filename=a", "a"), ("attachment; filename*=x; filename=a", "a"),
        ("attachment; filename*=utf-8''a b; filename=a", "a"), ("attachment; filename*=utf-8''a'b; filename=a", "a"),
        ("attachment; filename=a%20b", "a%20b"),
        // Only the last component of a path is used, and a leading dot becomes an underscore.
        ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"C:\\\\dir\\\\a.exe\"", "a.exe"),
        ("attachment; filename=\".bashrc\"", "_bashrc"), ("attachment; filename=\"a/..x\"", "_x"),
        ("attachment; filename*=utf-8''..%2F.ssh%2Fconfig", "config"), ("attachment; filename*=utf-8''%2e%2e%5cx", "x"),
    ])
    func filenameIsParsed(field: String, filename: String) {
        #expect(Self.name(field) == filename)
    }

    @Test(arguments: [
        "", "attachment", "attachment;", "attachment; filename", "attachment; filename=", "attachment; filename=\"\"", "filename=a",
        "\"x\"; filename=a",
        "attachment x; filename=a", "attachment, filename=a", "attachment; filename=\"a", "attachment; filename=\"a\\\"",
        "attachment; filename=..",
        "attachment; filename=\"/\"", "attachment; filename=\"a/\"", "attachment; filename=\". .\"", "attachment; name=\"filename=a\"",
        "attachment; filename*", "attachment; filename*=", "attachment; filename*=utf-8'", "attachment; filename*=utf-8''", ";filename=a",
    ])
    func malformedFieldsProposeNoFilename(field: String) {
        #expect(Self.name(field) == nil)
    }

    @Test func bytesThatAreNotUTF8AreReadAsLatin1() {
        #expect(ContentDisposition(parsing: Array("attachment; filename=\"".utf8) + [0xE4, 0x22])?.filename == "ä")
    }

    /// Parsing a truncated field gives no file name, `name.txt`, or a prefix of `n ame`.
    @Test func truncationsProposeNoWrongFilename() {
        let field = "attachment; a=\"b;\\\"\"; filename=\"name.txt\"; filename*=utf-8''n%20ame"
        for length in 0...field.count {
            let name = Self.name(String(field.prefix(length)))
            #expect(name == nil || name == "name.txt" || "n ame".hasPrefix(name ?? "-"), "\(length)")
        }
    }

    @Test func veryLongFieldProposesNoFilename() {
        #expect(Self.name("attachment; filename=" + String(repeating: "a", count: 100)) != nil)
        #expect(Self.name("attachment; filename=" + String(repeating: "a", count: 8 << 10)) == nil)
    }

    @Test func firstOfSeveralFieldsIsUsed() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Disposition: x; filename=a\r\nContent-Disposition: x; filename=b\r\n\r\n".utf8)
        var parser = ResponseHeadParser(limits: HTTPLimits())
        var offset = 0
        let head = try #require(try unsafe parser.parse(bytes.span.bytes, from: &offset))
        var cache = ContentTypeCache()
        let received = ReceivedResponse(
            head, from: try URLRecord(parsing: "http://example.org/c"), bodyLength: nil, contentTypeCache: &cache)
        #expect(received.response.suggestedFilename == "a")
    }
}
