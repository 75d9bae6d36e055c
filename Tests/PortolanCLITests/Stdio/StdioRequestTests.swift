// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCookies
import PortolanJSON
import PortolanTrace
import Testing

@testable import PortolanCLI

@Suite struct StdioRequestTests {
    private static func load(_ text: String) throws -> StdioLoadRequest {
        guard case .load(let load) = try StdioRequest(JSONParser.parse(Array(text.utf8))) else { throw UnexpectedOperation() }
        return load
    }

    private struct UnexpectedOperation: Error {}

    @Test("A Cookie field that is not UTF-8 is returned as base64, without a change of its bytes")
    func cookieHeaderThatIsNotUTF8() throws {
        let storage = CookieStorage()
        let url = try URLRecord(parsing: "http://example.com/")
        let context = try #require(CookieContext(url, document: nil, now: Date()))
        for (value, expected) in [
            (Array("a=é".utf8), #"{"id":1,"cookie":"a=é"}"#),
            (Array("a=".utf8) + [0xFF], #"{"id":1,"cookie":null,"cookieBase64":"YT3/"}"#),
        ] {
            try storage.receive(value.span, in: context)
            let request = #"{"op":"cookieHeader","url":"http://example.com/"}"#
            guard case .cookies(let cookies) = try StdioRequest(JSONParser.parse(Array(request.utf8))) else { throw UnexpectedOperation() }
            #expect(String(decoding: cookies.respond(id: .integer(1), storage).bytes, as: UTF8.self) == expected)
        }
    }

    @Test func everyMemberIsParsed() throws {
        let load = try Self.load(
            #"""
            {"id":7,"url":"x:y","method":"PUT","headers":[["A","é"],["A","2"]],"body":"text","bodyBase64":null,"cache":"no-cache",
            "redirect":"manual","credentials":{"username":"u","password":"p"},"timeoutMs":1.5,"unknown":[]}
            """#)
        #expect(load.request.url.description == "x:y")
        #expect(load.request.method == .put)
        #expect(FieldList(load.request.fields).json == [["a", "é"], ["a", "2"]])
        #expect(load.request.body?.length == 4)
        #expect(load.request.cachePolicy == .revalidate)
        #expect(load.request.timeouts.total == .microseconds(1500))
        #expect(load.redirects == .manual)
        #expect(load.credentials != nil)
    }

    @Test func everyMemberExceptTheURLHasADefault() throws {
        let load = try Self.load(
            #"{"url":"x:y","method":null,"headers":null,"cache":null,"redirect":null,"credentials":null,"timeoutMs":null}"#)
        #expect(load.request.method == .get)
        #expect(load.request.fields.isEmpty && load.request.body == nil && load.credentials == nil)
        #expect(load.request.cachePolicy == .useProtocol && load.request.timeouts.total == nil && load.redirects == .follow)
    }

    @Test(arguments: [("follow", RedirectPolicy.Mode.follow), ("manual", .manual), ("error", .error)])
    func redirectModesHaveTheNamesOfFetch(mode: String, expected: RedirectPolicy.Mode) throws {
        #expect(try Self.load("{\"url\":\"x:y\",\"redirect\":\"\(mode)\"}").redirects == expected)
    }

    @Test func resetRequestNamesItsStores() throws {
        guard case .reset(let stores) = try StdioRequest(["op": "reset", "what": ["connections", "cookies", "cookies"]]) else {
            throw UnexpectedOperation()
        }
        #expect(stores == [.connections, .cookies])
    }

    @Test(arguments: [
        ("default", CachePolicy.useProtocol), ("reload", .reload), ("no-store", .noStore), ("no-cache", .revalidate),
        ("force-cache", .preferCached), ("only-if-cached", .onlyCached),
    ])
    func cacheModesHaveTheNamesOfFetch(mode: String, policy: CachePolicy) throws {
        #expect(try Self.load("{\"url\":\"x:y\",\"cache\":\"\(mode)\"}").request.cachePolicy == policy)
    }

    @Test(arguments: [
        "[]", "null", "{}", #"{"url":1}"#, #"{"url":"x:y","method":"A B"}"#, #"{"url":"x:y","headers":{}}"#,
        #"{"url":"x:y","headers":[["a"]]}"#,
        #"{"url":"x:y","headers":[["a b","c"]]}"#, #"{"url":"x:y","headers":[["a","\u0100"]]}"#, #"{"url":"x:y","headers":[["a","b\nc"]]}"#,
        #"{"url":"x:y","body":"a","bodyBase64":"YQ=="}"#, #"{"url":"x:y","bodyBase64":"?"}"#, #"{"url":"x:y","cache":"never"}"#,
        #"{"url":"x:y","redirect":"never"}"#, #"{"op":"reset"}"#, #"{"op":"reset","what":"cookies"}"#, #"{"op":"reset","what":["nosuch"]}"#,
        #"{"op":"reset","what":[1]}"#, #"{"url":"x:y","credentials":{"username":"u"}}"#, #"{"url":"x:y","timeoutMs":"1"}"#,
        #"{"url":"x:y","timeoutMs":-1}"#, #"{"url":"x:y","timeoutMs":1e999}"#, #"{"op":"parseMimeType"}"#, #"{"op":7}"#,
        #"{"op":"parseURL"}"#, #"{"op":"parseURL","base":"x:y"}"#, #"{"op":"parseURL","value":null}"#,
        #"{"op":"parseURL","value":["x:y"]}"#,
        #"{"op":"parseURL","value":"x:y","base":1}"#, #"{"op":"parseURL","value":"x:y","base":{}}"#,
        #"{"op":"parseURL","value":"x:y","base":false}"#,
    ])
    func malformedRequestsAreRefused(text: String) throws {
        let error = #expect(throws: LoadError.self) { try StdioRequest(JSONParser.parse(Array(text.utf8))) }
        #expect(error?.code == .badRequest)
    }

    @Test func valueOfAHeaderIsNotQuotedInTheError() throws {
        let error = #expect(throws: LoadError.self) {
            try StdioRequest(["url": "x:y", "headers": [["cookie", "secret\u{0}"]]])
        }
        #expect(error?.message == "the value of the header 'cookie' contains a character that no header may contain")
    }

    @Test(arguments: [
        (#"{"url":"x:y","method":"GET\r\nX: y"}"#, #"'GET\r\nX: y' is not a method"#),
        (#"{"url":"x:y","headers":[["X\r\n","y"]]}"#, #"'X\r\n' is not a header name"#),
        (#"{"url":"x:y","redirect":"\u001b[2J"}"#, #"'\u{1B}[2J' is not a redirect mode; the modes are follow, manual and error"#),
        (
            #"{"url":"x:y","cache":"\n"}"#,
            #"'\n' is not a cache mode; the modes are default, reload, no-store, no-cache, force-cache and only-if-cached"#
        ),
        (
            #"{"op":"\n"}"#,
            #"there is no operation '\n'; the operations are: capabilities, cookieHeader, load, parseCookieDate, parseMimeType, parseURL, reset, setCookies"#
        ),
    ])
    func invalidValueIsQuotedInTheError(_ line: String, _ message: String) {
        let error = #expect(throws: LoadError.self) { try Self.load(line) }
        #expect(error?.message == message)
    }

    @Test func unknownOperationIsNotOffered() throws {
        let error = #expect(throws: LoadError.self) { try StdioRequest(["op": "bake"]) }
        #expect(error?.code == .notOffered)
        #expect(
            error?.message
                == "there is no operation 'bake'; the operations are: capabilities, cookieHeader, load, parseCookieDate, parseMimeType, parseURL, reset, setCookies"
        )
    }
}
