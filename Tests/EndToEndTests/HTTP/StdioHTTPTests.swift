// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `portolan stdio` over HTTP.
@Suite(.blocking, .timeLimit(.minutes(2))) struct StdioHTTPTests {
    private let program: Program

    init() throws { program = try Program() }

    private func responses(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let outcome = try program.run("stdio", input: lines.joined(separator: "\n"))
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        return try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    private func response(_ request: [String: Any]) throws -> [String: Any] {
        try #require(try responses([request]).first)
    }

    private func code(_ response: [String: Any]) -> String? { (response["error"] as? [String: String])?["code"] }

    @Test func everyMemberOfTheRequestIsSent() throws {
        let server = try ScriptedServer([.receiveHead, .receive(3)] + ScriptedServer.response("200 OK", [], "ok").dropFirst())
        let headers = [["X-A", "1"], ["X-A", "2"], ["X-B", "\u{E9}\u{FF}"]]
        let response = try response(["url": server.url("/p"), "method": "PUT", "headers": headers, "bodyBase64": "AP8K"])
        #expect(response["status"] as? Int == 200 && response["body"] as? String == "ok")
        let bytes = try #require(server.connections.first?.received)
        #expect(bytes.starts(with: Array("PUT /p HTTP/1.1\r\n".utf8)))
        #expect(bytes.suffix(3) == [0x00, 0xFF, 0x0A])
        let text = String(decoding: bytes, as: Unicode.ASCII.self)
        #expect(text.contains("X-A: 1\r\nX-A: 2\r\n"))
        #expect(bytes.contains(sequence: Array("X-B: ".utf8) + [0xE9, 0xFF, 0x0D]))
    }

    @Test func everyPartOfTheResponseIsReported() throws {
        let head = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Nope\r\nTransfer-Encoding: chunked\r\nX: 1\r\nX: 2\r\nY: "
        let restOfTheResponse = "\r\nContent-Type: text/plain\r\n\r\n2\r\n\u{0}\u{1}\r\n0\r\nZ: t\r\n\r\n"
        let server = try ScriptedServer([.receiveHead, .send(Array(head.utf8) + [0xE9] + Array(restOfTheResponse.utf8))])
        let response = try response(["id": 1, "url": server.url("/#f")])
        #expect(response["status"] as? Int == 404)
        #expect(response["url"] as? String == server.url("/#f"))
        #expect(response["source"] as? String == "network")
        #expect(response["body"] as? String == "\u{0}\u{1}" && response["bodyBase64"] is NSNull)
        let headers = try #require(response["headers"] as? [[String]])
        #expect(headers.filter { $0[0] == "x" } == [["x", "1"], ["x", "2"]])
        #expect(headers.contains(["y", "\u{E9}"]))
        let interim = try #require(response["interim"] as? [[Any]])
        #expect(interim.count == 1 && interim.first?.first as? Int == 103)
        #expect(interim.first?.last as? [[String]] == [["link", "</a>"]])
        #expect(response["trailers"] as? [[String]] == [["z", "t"]])
        #expect(response["error"] is NSNull)
    }

    @Test(arguments: [204, 304]) func missingContentLengthIsNotAdded(_ status: Int) throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 \(status) N\r\nX: 1\r\n\r\n")])
        #expect(try response(["url": server.url()])["headers"] as? [[String]] == [["x", "1"]])
        let serverWithLength = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 304 N\r\nContent-Length: 7\r\n\r\n")])
        #expect(try response(["url": serverWithLength.url()])["headers"] as? [[String]] == [["content-length", "7"]])
    }

    @Test func binaryBodyIsBase64() throws {
        let server = try ScriptedServer([.receiveHead, .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n".utf8) + [0xFF, 0x00])])
        let response = try response(["url": server.url()])
        #expect(response["body"] is NSNull && response["bodyBase64"] as? String == "/wA=")
    }

    @Test func truncatedBodyIsAnError() throws {
        let server = try ScriptedServer(ScriptedServer.cutShort("half", of: 8))
        let response = try response(["url": server.url()])
        #expect(code(response) == "truncated")
        #expect(response["status"] as? Int == 200 && response["body"] is NSNull && response["bodyBase64"] is NSNull)
    }

    @Test func redirectsAreFollowedDeliveredOrRefused() throws {
        let redirect = ScriptedServer.response("302 Found", ["Location: /b"], "moved")
        let redirectsOnce = try ScriptedServer(redirect, ScriptedServer.response("200 OK", [], "b"))
        let followed = try response(["url": redirectsOnce.url()])
        #expect(followed["body"] as? String == "b" && followed["url"] as? String == redirectsOnce.url("/b"))
        let redirectsAlways = try ScriptedServer(redirect)
        let delivered = try response(["url": redirectsAlways.url(), "redirect": "manual"])
        #expect(delivered["status"] as? Int == 302 && delivered["body"] as? String == "moved" && delivered["error"] is NSNull)
        #expect(code(try response(["url": redirectsAlways.url(), "redirect": "error"])) == "badRedirect")
        #expect(code(try response(["url": redirectsAlways.url()])) == "tooManyRedirects")
        let redirectsToAnInvalidURL = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: http://h:99999/"]))
        #expect(code(try response(["url": redirectsToAnInvalidURL.url()])) == "badRedirect")
        #expect(try response(["url": redirectsToAnInvalidURL.url(), "redirect": "manual"])["status"] as? Int == 302)
    }

    @Test(arguments: [
        ("/#a", "/b", "/b#a"), ("/#a", "/b#b", "/b#b"), ("/#a", "/b#", "/b#"), ("/", "/b#b", "/b#b"), ("/", "/b", "/b"),
        ("/#%41%20b", "b?c", "/b?c#%41%20b"),
    ])
    func urlOfTheResponseHasTheFinalFragment(start: String, location: String, end: String) throws {
        let server = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: \(location)"]), ScriptedServer.response("200 OK", [], "b"))
        #expect(try response(["url": server.url(start)])["url"] as? String == server.url(end))
    }

    @Test func fragmentIsInheritedOverEachRedirect() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("301 Moved", ["Location: /b"]), ScriptedServer.response("307 Moved", ["Location: c"]),
            ScriptedServer.response("200 OK", [], "c"))
        #expect(try response(["url": server.url("/#a")])["url"] as? String == server.url("/c#a"))
        let manual = try ScriptedServer(ScriptedServer.response("301 Moved", ["Location: /b#b"]))
        #expect(try response(["url": manual.url("/#a"), "redirect": "manual"])["url"] as? String == manual.url("/#a"))
    }

    @Test func allPartsOfAMultipartBodyAreReported() throws {
        let firstPart = "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\nContent-Type: image/png\r\n"
        let body = firstPart + "X: 1\r\n\r\n\u{0}\r\n--b\r\n\r\nthree\r\n--b--\r\n"
        let type = "Content-Type: multipart/x-mixed-replace; boundary=b"
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [type], body))
        let response = try response(["url": server.url()])
        let parts = try #require(response["parts"] as? [[String: Any]])
        #expect(parts.map { $0["body"] as? String } == ["one", "\u{0}", "three"])
        #expect(parts.first?["bodyBase64"] is NSNull && parts.count == 3)
        #expect((parts.dropFirst().first?["headers"] as? [[String]])?.contains(["x", "1"]) == true)
        #expect(response["body"] as? String == "three" && response["error"] is NSNull && response["status"] as? Int == 200)
        let serverWithOneBody = try ScriptedServer(ScriptedServer.response("200 OK", [], "one"))
        #expect(try self.response(["url": serverWithOneBody.url()]).keys.contains("parts") == false)
        let serverThatEndsEarly = try ScriptedServer(ScriptedServer.cutShort(firstPart + "\r\nhalf", of: 900, [type]))
        let truncatedResponse = try self.response(["url": serverThatEndsEarly.url()])
        #expect(code(truncatedResponse) == "truncated" && truncatedResponse["body"] is NSNull)
        #expect((truncatedResponse["parts"] as? [[String: Any]])?.map { $0["body"] as? String } == ["one"])
    }

    @Test func onlyIfCachedFailsWithoutACache() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "b"))
        for url in [server.url(), "data:,x", "file:///etc/hostname"] {
            let response = try response(["url": url, "cache": "only-if-cached"])
            #expect(code(response) == "notOffered" && response["body"] is NSNull && response["status"] is NSNull)
        }
        #expect(server.connections.isEmpty)
        #expect(try self.response(["url": server.url(), "cache": "force-cache"])["body"] as? String == "b")
    }

    @Test func timeLimitEndsALoad() throws {
        let server = try ScriptedServer([.receiveHead, .stall])
        #expect(code(try response(["url": server.url(), "timeoutMs": 200])) == "timedOut")
    }

    /// The server responds only after all requests have arrived, so no request can wait for the response of another.
    @Test func twoHundredLoadsRunConcurrently() throws {
        let count = 200
        let gate = try Gate()
        let server = try ScriptedServer { connection in
            [.receiveHead, connection == count - 1 ? .open(gate) : .wait(gate)] + ScriptedServer.response("200 OK", [], "x").dropFirst()
        }
        let responses = try responses((0..<count).map { ["id": $0, "url": server.url("/\($0)"), "timeoutMs": 60_000] })
        #expect(responses.compactMap { $0["id"] as? Int }.sorted() == Array(0..<count))
        #expect(responses.allSatisfy { $0["body"] as? String == "x" })
    }

    @Test func connectionsAreKeptUntilTheyAreReset() throws {
        let okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: okResponse)])])
        let loadLine = #"{"id":1,"url":"\#(server.url())"}"#
        try converse { send throws in
            for _ in 0..<3 { #expect(try send(loadLine).contains(#""body":"ok""#)) }
            #expect(server.connections.count == 1)
            #expect(try send(#"{"id":2,"op":"reset","what":["connections"]}"#) == "{\"id\":2,\"reset\":[\"connections\"]}\n")
            #expect(try send(loadLine).contains(#""body":"ok""#))
            #expect(server.connections.count == 2)
        }
    }

    @Test func responsesAreStoredUntilTheyAreReset() throws {
        let response = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: response)])])
        func load(_ mode: String) -> String { #"{"id":1,"url":"\#(server.url())","cache":"\#(mode)"}"# }
        try converse { send throws in
            for (mode, source) in [("default", "network"), ("default", "cache"), ("reload", "network"), ("only-if-cached", "cache")] {
                let answer = try send(load(mode))
                #expect(answer.contains(#""source":"\#(source)""#) && answer.contains(#""body":"ok""#), "\(mode): \(answer)")
            }
            #expect(try send(#"{"id":2,"op":"reset","what":["cache"]}"#) == "{\"id\":2,\"reset\":[\"cache\"]}\n")
            #expect(try send(load("only-if-cached")).contains(#""code":"notOffered""#))
        }
    }

    /// Runs `portolan stdio`, and sends each line after the response to the line before it.
    private func converse(_ body: (_ send: (String) throws -> String) throws -> Void) throws {
        let process = Process()
        process.executableURL = Program.executable
        process.arguments = ["stdio"]
        process.environment = program.environment
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        try body { line in
            try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
            return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}

extension [UInt8] {
    /// Whether the array contains `bytes`.
    fileprivate func contains(sequence bytes: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: bytes) }
    }
}
