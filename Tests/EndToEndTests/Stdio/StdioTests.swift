// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

@Suite(.blocking) struct StdioTests {
    private let program: Program

    init() throws { program = try Program() }

    /// Compares exact lines, because programs in other languages depend on them.
    @Test(arguments: [
        (
            #"{"id":7,"url":"data:,Hello#f"}"#,
            #"{"id":7,"status":200,"headers":[["content-type","text/plain;charset=US-ASCII"]],"body":"Hello","bodyBase64":null,"#
                + #""url":"data:,Hello#f","source":"network","interim":[],"trailers":[],"error":null}"#
        ),
        (
            #"{"id":"a","url":"data:;base64,/w==","op":"load"}"#,
            #"{"id":"a","status":200,"headers":[["content-type","text/plain;charset=US-ASCII"]],"body":null,"bodyBase64":"/w==","#
                + #""url":"data:;base64,/w==","source":"network","interim":[],"trailers":[],"error":null}"#
        ),
        (
            #"{"url":"data:text/html,%00%0A\ud800"}"#,
            #"{"id":null,"status":200,"headers":[["content-type","text/html"]],"body":"\u0000\n�","bodyBase64":null,"#
                + #""url":"data:text/html,%00%0A%EF%BF%BD","source":"network","interim":[],"trailers":[],"error":null}"#
        ),
        (
            #"{"id":{"b":[1e2,null]},"op":"capabilities"}"#,
            #"{"id":{"b":[1e2,null]},"ops":["capabilities","cookieHeader","load","parseCookieDate","parseMimeType","parseURL","reset","setCookies"],"schemes":["data","file","http","https"]}"#
        ),
        (#"{"id":1,"op":"parseMimeType","value":"Text/HTML;charset=é"}"#, #"{"id":1,"mime":"text/html;charset=\"é\""}"#),
        (#"{"id":1,"op":"parseMimeType","value":"a/b;c=\u0100;d=\u00ff"}"#, #"{"id":1,"mime":"a/b;d=\"ÿ\""}"#),
        (#"{"id":1,"op":"parseMimeType","value":"x"}"#, #"{"id":1,"mime":null}"#),
        (
            ##"{"id":1,"op":"parseURL","value":"//xn--/?#f","base":"HTTPS://h"}"##,
            ##"{"id":1,"url":{"href":"https://xn--/?#f","protocol":"https:","username":"","password":"","hostname":"xn--","port":"","##
                + ##""pathname":"/","search":"","hash":"#f"}}"##
        ),
        (#"{"id":1,"op":"parseURL","value":"x","base":"y"}"#, #"{"id":1,"url":null}"#),
        (#"{"id":1,"op":"parseURL"}"#, #"{"id":1,"error":{"code":"badRequest","message":"the member 'value' is missing"}}"#),
        (
            #"{"id":1,"op":"bake"}"#,
            #"{"id":1,"error":{"code":"notOffered","message":"there is no operation 'bake'; the operations are: "#
                + #"capabilities, cookieHeader, load, parseCookieDate, parseMimeType, parseURL, reset, setCookies"}}"#
        ),
        (#"{"id":1,"op":"parseCookieDate","value":"Sun Nov  6 08:49:37 1994"}"#, #"{"id":1,"time":784111777}"#),
        (#"{"id":1,"op":"parseCookieDate","value":"soon"}"#, #"{"id":1,"time":null}"#),
        (#"{"id":1,"op":"cookieHeader","url":"http://example.com/"}"#, #"{"id":1,"cookie":""}"#),
        (
            #"{"id":1,"op":"setCookies","url":"http://example.com/","headers":["a=b","c=d; Domain=com"]}"#,
            #"{"id":1,"results":[{"stored":true},{"stored":false,"reason":"its domain is a public suffix (RFC 6265bis §5.7)"}]}"#
        ),
        (
            #"{"id":1,"op":"setCookies","url":"data:,x","headers":["a=b"]}"#,
            #"{"id":1,"results":[{"stored":false,"reason":"the URL has no host"}]}"#
        ),
        (
            #"{"id":1,"op":"setCookies","url":"http://example.com/"}"#,
            #"{"id":1,"error":{"code":"badRequest","message":"the member 'headers' has to be an array"}}"#
        ),
        (
            #"{"id":1,"op":"cookieHeader","url":"http://example.com/","now":"x"}"#,
            #"{"id":1,"error":{"code":"badRequest","message":"the member 'now' has to be a number of seconds since 1970"}}"#
        ),
        (
            #"{"id":1,"op":"cookieHeader","url":"http://example.com/","topLevelSite":"a b"}"#,
            #"{"id":1,"error":{"code":"badRequest","message":"the member 'topLevelSite' is neither a URL nor a domain"}}"#
        ),
        (
            #"{"id":1,"op":"cookieHeader","url":"http://example.com/","isHTTPAPI":1}"#,
            #"{"id":1,"error":{"code":"badRequest","message":"the member 'isHTTPAPI' has to be true or false"}}"#
        ),
        (#"{"id":1,"op":"reset","what":["connections","cookies"]}"#, #"{"id":1,"reset":["cookies","connections"]}"#),
        (#"{"id":1,"op":"reset","what":[]}"#, #"{"id":1,"reset":[]}"#),
        (#"{"id":1"#, #"{"id":null,"error":{"code":"badRequest","message":"bad JSON at byte 7: the text ends too early"}}"#),
    ])
    func eachRequestLineGetsOneResponseLine(request: String, response: String) throws {
        let outcome = try program.run("stdio", input: request + "\n")
        #expect(outcome.text == response + "\n")
        #expect(outcome.errors.isEmpty && outcome.status == 0)
    }

    @Test(arguments: [
        (#"{"url":"nosuch:x"}"#, "unsupportedScheme"), (#"{"url":"x"}"#, "badURL"), (#"{"url":"data:;base64,a"}"#, "badURL"),
        (#"{"url":"file:///nosuch/file"}"#, "notFound"), ("{}", "badRequest"), ("[]", "badRequest"), ("\"x\"", "badRequest"),
        (#"{"url":"data:,x","timeoutMs":0}"#, "badRequest"),
    ])
    func errorIsAResponseWithoutABody(request: String, code: String) throws {
        let outcome = try program.run("stdio", input: request)
        let response = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect((response["error"] as? [String: String])?["code"] == code)
        #expect(response["body"] is NSNull && response["bodyBase64"] is NSNull && response["status"] is NSNull)
        #expect(outcome.status == 0)
    }

    @Test func fileHasNoStatusAndItsTypeIsAField() throws {
        let file = try program.makeFile("a.bin", "text")
        let outcome = try program.run("stdio", input: #"{"id":1,"url":"\#(file.absoluteString)"}"#)
        let response = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect(response["status"] is NSNull)
        #expect(response["body"] as? String == "text")
        let headers = try #require(response["headers"] as? [[String]])
        #expect(headers.filter { $0[0] == "content-type" }.count == 1)
        #expect(headers.allSatisfy { $0[0] == $0[0].lowercased() })
    }

    @Test func everyRequestGetsOneResponse() throws {
        let file = try program.makeFile("file", String(repeating: "x", count: 10_000))
        let requests = (0..<1000).map { id in #"{"id":\#(id),"url":"\#(id % 2 == 0 ? "data:,\(id)" : file.absoluteString)"}"# }
        let outcome = try program.run("stdio", input: requests.joined(separator: "\n\n"))
        let responses = try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        #expect(responses.compactMap { $0["id"] as? Int }.sorted() == Array(0..<1000))
        for response in responses {
            guard let id = response["id"] as? Int, id % 2 == 0 else { continue }
            #expect(response["body"] as? String == "\(id)")
        }
    }

    @Test func malformedLineDoesNotStopTheServer() throws {
        let outcome = try program.run("stdio", input: "{\n\u{0}\n \n{\"id\":1,\"op\":\"parseMimeType\",\"value\":\"a/b\"}\r\n")
        #expect(outcome.lines.count == 3)
        #expect(outcome.lines.last == #"{"id":1,"mime":"a/b"}"#)
    }

    @Test func longLineIsAccepted() throws {
        let text = String(repeating: "a", count: 5_000_000)
        let outcome = try program.run("stdio", input: #"{"id":1,"url":"data:,\#(text)"}"#)
        let response = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect((response["body"] as? String)?.count == 5_000_000)
    }

    @Test(.enabled(if: !Program.isSanitized, "AddressSanitizer keeps freed memory"))
    func memoryStaysFlatOverTenThousandTasks() throws {
        func loads(_ count: Int) -> String { String(repeating: #"{"url":"data:,text"}"# + "\n", count: count) }
        let status = #"{"id":"status","url":"file:///proc/self/status"}"# + "\n"
        let outcome = try program.run("stdio", input: loads(2000) + status + loads(8000) + status)
        #expect(outcome.lines.count == 10_002)
        let sizes = try outcome.lines.filter { $0.hasPrefix(#"{"id":"status""#) }.map { line in
            let response = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let lines = try #require(response["body"] as? String).split(separator: "\n")
            let size = try #require(lines.first { $0.hasPrefix("RssAnon:") }?.split(whereSeparator: \.isWhitespace).dropFirst().first)
            return try #require(Int(size))
        }
        try #require(sizes.count == 2)
        // In KiB. A load that leaves 64 bytes would exceed it.
        #expect(sizes[1] - sizes[0] < 500, "\(sizes)")
    }

    @Test func closedPipeEndsTheServer() throws {
        let outcome = try program.runScript(
            #"{ yes '{"url":"data:,x"}' | { "$portolan" stdio; echo $? > status; }; } | head -n 1 | wc -l"#)
        #expect(outcome.text.trimmingCharacters(in: .whitespaces) == "1\n")
        #expect(program.contents(of: "status") == "23\n")
        #expect(!outcome.errors.contains { $0.hasPrefix("portolan") })
    }

    @Test func terminationEndsAServerThatWaitsForInput() throws {
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = ["stdio"]
        process.environment = program.environment
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        // After the first response, the program handles signals.
        try input.fileHandleForWriting.write(contentsOf: Data("{\"op\":\"capabilities\"}\n".utf8))
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 0)
    }
}
