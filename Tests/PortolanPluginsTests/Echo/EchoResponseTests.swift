// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

/// The responses of commands that only deliver a body, and the effects of the parameters.
@Suite(.timeLimit(.minutes(2))) struct EchoResponseTests {
    @Test(arguments: [
        ("echo:text?text=a+b%2Bc%2541%00", Array("a+b+c%41\0".utf8)),
        ("echo:text?text=%FF%0D%0A", [0xFF, 13, 10]),
        ("echo:text?text=a=b", Array("a=b".utf8)),
        ("echo:%74ext", nil),
        ("echo:text?&&text=a&", Array("a".utf8)),
        ("echo:text?t%65xt=a", Array("a".utf8)),
        ("echo:text?text", []),
        ("echo:text", []),
        ("echo://host.example/text?text=a", Array("a".utf8)),
        ("echo:bytes", []),
        ("echo:bytes?base64=AP8=", [0, 255]),
        ("echo:bytes?base64=AP8", [0, 255]),
        ("echo:bytes?base64=-_-_%2B/%2b%2F", [251, 255, 191, 251, 255, 191]),
        ("echo:size?bytes=0", []),
        ("echo:size?bytes=600", Echo.pattern(0..<600)),
    ])
    func responseHasTheRequestedBytes(_ url: String, _ bytes: [UInt8]?) throws {
        let client = try Echo.run(url)
        guard let bytes else { return #expect(client.error?.code == .badURL) }
        #expect(client.bytes == bytes)
        #expect(client.response?.expectedLength == Int64(bytes.count))
        #expect(client.events.last == .finished)
    }

    @Test func eachResponseHasItsMediaType() throws {
        for (url, type, charset) in [
            ("echo:text", "text/plain", "utf-8" as String?), ("echo:bytes", "application/octet-stream", nil),
            ("echo:size?bytes=1", "application/octet-stream", nil), ("echo:request", "application/json", nil),
            ("echo:sink", "text/plain", "utf-8"), ("echo:text?type=image/png", "image/png", nil),
            ("echo:text?type=text/html&charset=latin1", "text/html", "latin1"), ("echo:text?charset=koi8-r", "text/plain", "koi8-r"),
        ] {
            let response = try Echo.run(url).response
            #expect(response?.mimeType?.essence == type)
            #expect(response?.textEncodingName == charset)
            #expect(response?.status == nil)
        }
    }

    @Test func parametersSetTheResponseHead() throws {
        let client = try Echo.run("echo:text?text=abc&status=404&name=sea%20chart.txt&field=X-A:1&field=x-a:%20%C3%BC%20&field=B:")
        let response = try #require(client.response)
        #expect(response.status?.code == 404)
        #expect(response.suggestedFilename == "sea chart.txt")
        #expect(try response.fields[values: #require(HTTPField.Name("X-A"))] == ["1", "ü"])
        #expect(try response.fields[#require(HTTPField.Name("B"))] == "")
    }

    @Test func eventsArriveInOrder() throws {
        let steps = LoadStep.allCases.map { "step=\($0.name)" }.joined(separator: "&")
        let client = try Echo.run("echo:text?text=abcde&piece=2&interim=103&interim=102&trailer=X-T:%20v&trailer=u:w&\(steps)")
        let eventsBeforeTheResponse: [RecordingClient.Event] = LoadStep.allCases.map { .step($0) } + [.interim(103), .interim(102)]
        #expect(client.events == eventsBeforeTheResponse + [.response(5), .data(2), .data(2), .data(1), .trailers, .finished])
        #expect(try client.trailers?[#require(HTTPField.Name("X-T"))] == "v")
        #expect(try client.trailers?[#require(HTTPField.Name("u"))] == "w")
    }

    @Test func piecesHaveTheRequestedSize() throws {
        let client = try Echo.run("echo:size?bytes=1000&piece=300")
        #expect(client.events == [.response(1000), .data(300), .data(300), .data(300), .data(100), .finished])
        #expect(client.bytes == Echo.pattern(0..<1000))
        let responseInDefaultPieces = try Echo.run("echo:size?bytes=70000")
        #expect(responseInDefaultPieces.events == [.response(70000), .data(65536), .data(4464), .finished])
        #expect(responseInDefaultPieces.bytes == Echo.pattern(0..<70000))
    }

    @Test func propertyTakesPrecedenceOverTheParameter() throws {
        let client = try Echo.run("echo:text?text=abc&piece=3") { $0.properties["org.portolan.echo.piece"] = .integer(1) }
        #expect(client.events == [.response(3), .data(1), .data(1), .data(1), .finished])
    }

    @Test(arguments: [PropertyValue.text("1"), .real(1), .boolean(true), .bytes([1]), .integer(0), .integer(1_048_577)])
    func propertyOfTheWrongKindIsNamedInTheError(_ value: PropertyValue) throws {
        let client = try Echo.run("echo:text") { $0.properties["org.portolan.echo.piece"] = value }
        #expect(client.error?.code == .badRequest)
        #expect(client.error?.message.contains("org.portolan.echo.piece") == true)
        #expect(client.events.count == 1)
    }

    @Test func parametersWaitAndPauseDelayTheResponse() throws {
        let clock = ContinuousClock()
        #expect(try clock.measure { try Echo.run("echo:text?wait=30") } >= .milliseconds(30))
        #expect(try clock.measure { try Echo.run("echo:text?text=abc&piece=1&pause=20") } >= .milliseconds(40))
    }

    @Test func parameterSetsTheExpectedLength() throws {
        #expect(try Echo.run("echo:text?text=abc&length=unknown").events == [.response(nil), .data(3), .finished])
        #expect(try Echo.run("echo:text?text=abc&length=3").events == [.response(3), .data(3), .finished])
        let truncatedLoad = try Echo.run("echo:text?text=abc&length=4")
        #expect(truncatedLoad.events.prefix(2) == [.response(4), .data(3)])
        #expect(truncatedLoad.error?.code == .truncated)
        let tooLongLoad = try Echo.run("echo:text?text=abc&length=2&piece=1")
        #expect(tooLongLoad.events.dropLast() == [.response(2), .data(1), .data(1)])
        #expect(tooLongLoad.error?.code == .badResponse)
    }

    @Test func parameterCutTruncatesTheBody() throws {
        for (cut, pieces) in [(0, []), (1, [1]), (2, [2]), (3, [2, 1]), (5, [2, 2, 1])] {
            let client = try Echo.run("echo:text?text=abcde&piece=2&cut=\(cut)&trailer=a:b")
            #expect(client.events.dropLast() == [.response(5)] + pieces.map { .data($0) })
            #expect(client.error?.code == .truncated)
        }
        #expect(try Echo.run("echo:text?text=abcde&cut=6").events == [.response(5), .data(5), .finished])
    }

    @Test(arguments: [
        "text?text=abc&cut=0", "size?bytes=1099511627776", "upload", "sink", "request", "challenge?user=u&password=p",
        "bytes?base64=AAAA&trailer=a:b",
    ])
    func responseToHEADHasNoBody(_ url: String) throws {
        let client = RecordingClient(onChallenge: { $0.answer(.use(.password(user: "u", password: "p"))) })
        try Echo.run("echo:\(url)", client) { $0.method = .head }
        #expect(client.response != nil)
        #expect(client.bytes.isEmpty)
        #expect(client.events.suffix(2).first.map { if case .response = $0 { true } else { false } } == true)
        #expect(client.events.last == .finished)
    }

    @Test func requestIsReportedAsJSON() throws {
        let client = try Echo.run("echo://us%65r:pass@host.example:81/request?name=a#part") {
            $0.method = try #require(HTTPRequest.Method("BREW"))
            $0.fields.append(HTTPField(name: try #require(HTTPField.Name("X-A")), value: "\"\\\tx"))
            $0.fields.append(HTTPField(name: try #require(HTTPField.Name("x-a")), value: Array("ü".utf8)))
            $0.properties["a"] = .text("line\n\u{1}ü")
            $0.properties["b"] = .bytes([0, 255])
            $0.properties["c"] = .integer(.min)
            $0.properties["d"] = .real(0.5)
            $0.properties["e"] = .boolean(false)
            $0.properties["f"] = .real(.infinity)
            $0.body = .text("Grüße")
        }
        #expect(
            client.text == #"{"url":"echo://host.example:81/request?name=a#part","method":"BREW","#
                + #""headers":[["X-A","\"\\\tx"],["x-a","Ã¼"]],"#
                + #""properties":{"a":"line\n\u0001ü","b":{"base64":"AP8="},"c":-9223372036854775808,"d":0.5,"e":false,"f":null},"#
                + #""body":"Grüße","bodyBase64":null,"length":7}"#)
    }

    @Test(arguments: [([255], "/w=="), ([255, 0], "/wA="), ([255, 0, 1], "/wAB"), ([255, 0, 1, 2], "/wABAg==")])
    func binaryBodyIsReportedInBase64(_ body: [UInt8], _ base64: String) throws {
        let client = try Echo.run("echo:") { $0.body = .bytes(body) }
        #expect(client.text.hasSuffix(#""body":null,"bodyBase64":"\#(base64)","length":\#(body.count)}"#))
    }
}
