// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

/// The options of requests: data, queries, fields, numbers of bytes, and schemes.
@Suite struct DataOptionsTests {
    /// The request that `get` makes of these arguments.
    static func request(_ arguments: [String], for url: String = "http://h/") throws -> Request {
        let command = try GetCommand.parse([url] + arguments)
        return try command.request.request(for: url, with: command.data, sending: command.data.body(within: nil))
    }

    @Test(
        arguments: [
            (.data, "a=1", .text("a=1")), (.data, "@f", .file(path: "f", prefix: "", change: .removesLineBreaks)),
            (.binary, "@f", .file(path: "f", prefix: "", change: .none)), (.raw, "@f", .text("@f")),
            (.json, "@-", .file(path: "-", prefix: "", change: .none)), (.urlencode, "a b/ü", .text("a+b%2F%C3%BC")),
            (.urlencode, "=a=b", .text("a%3Db")), (.urlencode, "n=a&b", .text("n=a%26b")),
            (.urlencode, "n@f", .file(path: "f", prefix: "n=", change: .encodes)),
            (.urlencode, "@f", .file(path: "f", prefix: "", change: .encodes)),
            (.urlencode, "", .text("")),
        ] as [(DataArgument.Kind, String, DataArgument.Source)])
    func argumentIsATextOrAFile(kind: DataArgument.Kind, text: String, source: DataArgument.Source) {
        #expect(DataArgument(kind, text).source == source)
    }

    @Test(
        arguments: [
            (["-d", "a"], "application/x-www-form-urlencoded", nil, 1),
            (["--json", "{}", "--json", "x"], "application/json", "application/json", 3),
            (["--data-raw", "@a", "--data-binary", "b"], "application/x-www-form-urlencoded", nil, 4),
            (["--ordered-data", "json:[", "--ordered-data", "raw:]"], "application/json", "application/json", 3),
        ] as [([String], String, String?, Int64)])
    func bodyHasATypeAndALength(arguments: [String], type: String, accept: String?, length: Int64) throws {
        let request = try Self.request(arguments)
        #expect(request.method == .post && request.body?.length == length)
        #expect(request.fields[.contentType] == type && request.fields[.accept] == accept)
    }

    @Test(arguments: [
        (["-G", "-d", "a=1", "-d", "b"], "http://h/", "http://h/?a=1&b"), (["-G", "-d", "a"], "http://h/p?q#f", "http://h/p?q&a#f"),
        (["-G", "--data-urlencode", "a=x y&"], "http://h/", "http://h/?a=x+y%26"),
        (["--url-query", "a=x y"], "http://h/", "http://h/?a=x+y"),
        (["--url-query", "+a=%20", "--url-query", "b"], "http://h/?c", "http://h/?c&a=%20&b"),
        (["-G", "-d", "a#b"], "http://h/", "http://h/?a%23b"),
    ])
    func dataIsAddedToTheQuery(arguments: [String], url: String, expected: String) throws {
        let request = try Self.request(arguments, for: url)
        #expect(request.url.string == expected && request.method == .get && request.body == nil)
    }

    @Test(arguments: [
        (["-A", "x"], HTTPField.Name.userAgent, nil as String?), (["-e", "http://r/"], .referer, "http://r/"),
        (["-e", "http://r/;auto"], .referer, "http://r/"),
        (["-e", ";auto"], .referer, nil), (["-e", "a", "-H", "Referer: b"], .referer, "b"),
    ])
    func optionsSetUserAgentAndReferer(arguments: [String], name: HTTPField.Name, value: String?) throws {
        let options = try RequestOptions.parse(arguments)
        #expect(try Self.request(arguments).fields[name] == value)
        var configuration = HTTPConfiguration()
        options.apply(to: &configuration)
        #expect((configuration.userAgent == "x") == (name == .userAgent))
    }

    @Test func chunkedUploadHasNoLength() throws {
        let request = try Self.request(["-d", "abc", "-H", "Transfer-Encoding: chunked"])
        #expect(request.body != nil && request.body?.length == nil && !request.fields.contains(.transferEncoding))
    }

    @Test(arguments: [("10", 10), ("2k", 2048), ("1M", 1 << 20), ("3g", 3 << 30), ("0", nil)] as [(String, Int64?)])
    func numberOfBytesCanHaveAUnit(text: String, count: Int64?) throws {
        #expect(try ByteCount(parsing: text).count == count)
        for invalid in ["", "x", "-1", "1x", "9999999999G", "1.5k"] {
            #expect(throws: (any Error).self) { try ByteCount(parsing: invalid) }
        }
    }

    @Test(arguments: [
        ("=http,https", "http", true), ("=http,https", "ftp", false), ("-http", "http", false), ("-http", "https", true),
        ("-all,https", "https", true),
        ("-all,https", "http", false), ("all", "x", true), ("=https,+http", "http", true), ("=all,-http", "http", false),
        ("HTTP", "ftp", true),
    ])
    func schemeFilterAllowsSchemes(text: String, scheme: String, isAllowed: Bool) {
        #expect(SchemeFilter(parsing: text).contains(scheme) == isAllowed)
    }
}

@Suite struct FormArgumentTests {
    private typealias Part = FormArgument.Part

    @Test(arguments: [
        ("a=b", [FormArgument.Part(name: "a", source: .text("b"))]), ("a=", [.init(name: "a", source: .text(""))]),
        ("a=b;type=text/x", [.init(name: "a", source: .text("b"), type: "text/x")]),
        ("a=\"b;c\"", [.init(name: "a", source: .text("b;c"))]), ("a=<f", [.init(name: "a", source: .contents(of: "f"))]),
        ("a=@d/f", [.init(name: "a", source: .file("d/f"), filename: "f")]),
        ("a=@f;filename=g;type=text/html;charset=x", [.init(name: "a", source: .file("f"), filename: "g", type: "text/html;charset=x")]),
        ("a=@\"f,1\";filename=\"q\\\"\"", [.init(name: "a", source: .file("f,1"), filename: "q\"")]),
        (
            "a=@f,g;type=x/y",
            [.init(name: "a", source: .file("f"), filename: "f"), .init(name: "a", source: .file("g"), filename: "g", type: "x/y")]
        ),
        ("a=b;headers=\"X: 1\"", [.init(name: "a", source: .text("b"), headers: ["X: 1"])]),
        ("a= b c \n;type= x/y ; z=1 ; filename= f ", [.init(name: "a", source: .text("b c"), filename: "f", type: "x/y ; z=1")]),
        ("a= \" b\" ;encoder=base64", [.init(name: "a", source: .text(" b"), encoder: "base64")]),
        ("=x", [.init(name: "", source: .text("x"))]),
        ("a=b;nosuch=x;filename=f,g", [.init(name: "a", source: .text("b"), filename: "f,g", hasIgnoredText: true)]),
        ("a=b;", [.init(name: "a", source: .text("b"))]), ("a=\"b", [.init(name: "a", source: .text("\"b"))]),
        ("a=<f;filename=g", [.init(name: "a", source: .contents(of: "f"), hasIgnoredText: true)]),
        ("a=(;type=multipart/x", [.init(name: "a", source: .multipart, type: "multipart/x")]),
        ("a=(b", [.init(name: "a", source: .multipart, hasIgnoredText: true)]), ("=)", [.init(name: "", source: .multipartEnd)]),
        ("a=)", [.init(name: "a", source: .text(")"))]),
    ])
    func argumentIsParsedIntoParts(argument: String, parts: [FormArgument.Part]) {
        #expect(FormArgument(argument)?.parts == parts)
    }

    @Test(arguments: ["a", "", "a=@", "a=<", "a=\"b\"c"])
    func malformedPartIsRefused(argument: String) {
        #expect(FormArgument(argument) == nil)
    }

    @Test func literalPartHasNoAttributes() {
        #expect(FormArgument(literal: "a=@b;type=c")?.parts == [.init(name: "a", source: .text("@b;type=c"))])
        #expect(FormArgument(literal: "a") == nil)
    }

    @Test(arguments: [
        ("@f.HTML", "text/html"), ("@f.txt", "text/plain"), ("@f", "application/octet-stream"), ("@txt", "application/octet-stream"),
        ("@f.txt;filename=g", "text/plain"), ("@f.txt;filename=g.png", "image/png"), ("@-", nil), ("@-;filename=f.pdf", "application/pdf"),
        ("<f.html", "text/html"), ("<f.txt", nil), ("<f", nil), ("b;filename=f.png", "image/png"), ("b;filename=f", nil), ("b", nil),
        ("(", "multipart/mixed"),
    ])
    func typeOfAPartComesFromItsFileName(content: String, type: String?) {
        #expect(FormArgument("a=\(content)")?.parts.first?.mimeType == type)
    }

    @Test(arguments: [
        ["-F", "=)"], ["-F", "a=(", "-F", "=)", "-F", "=)"], ["-F", "a=b;encoder=x"],
        Array(repeating: ["-F", "a=("], count: 101).flatMap(\.self),
    ])
    func invalidFormIsRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try DataOptions.parse(arguments) }
    }

    @Test(
        arguments: [
            (.base64, "xy", "eHk="), (.sevenBit, "xy", "xy"), (.sevenBit, "é", nil), (.eightBit, "é", "é"), (.binary, "é", "é"),
            (.base64, String(repeating: "x", count: 58), String(repeating: "eHh4", count: 19) + "\r\neA=="),
        ] as [(TransferEncoding, String, String?)])
    func contentIsEncoded(encoding: TransferEncoding, text: String, expected: String?) {
        #expect(encoding.encode(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } == expected)
    }
}
