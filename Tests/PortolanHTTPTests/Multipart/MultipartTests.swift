// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP

@Suite(.timeLimit(.minutes(10))) struct MultipartTests {
    @Test(arguments: MultipartBody.samples) func partsAreDelivered(body: MultipartBody) throws {
        body.check(try body.load(in: [body.bytes]))
    }

    @Test(arguments: MultipartBody.samples) func pieceSizesDoNotChangeTheParts(body: MultipartBody) throws {
        let bytes = body.bytes
        body.check(try body.load(in: bytes.map { [$0] }))
        for index in bytes.indices {
            body.check(try body.load(in: [Array(bytes[..<index]), Array(bytes[index...])]))
            body.check(try body.load(in: [Array(bytes[..<index])] + bytes[index...].map { [$0] }))
        }
    }

    @Test(arguments: MultipartBody.samples) func pausesDoNotChangeTheParts(body: MultipartBody) throws {
        for endsInPause in [false, true] {
            let pauseAll = try body.load(in: [body.bytes], endsInPause: endsInPause) { _, _ in .pause }
            body.check(pauseAll)
            body.check(try body.load(in: body.bytes.map { [$0] }, endsInPause: endsInPause) { _, _ in .pause })
            for pauseIndex in pauseAll.events.indices {
                body.check(
                    try body.load(in: [body.bytes], endsInPause: endsInPause) { index, _ in index == pauseIndex ? .pause : .keepGoing })
            }
        }
    }

    /// A truncated body is no error, because the stream of a camera ends like this. The parts that arrived are correct.
    @Test(arguments: MultipartBody.samples.filter { $0.expectedCode == nil }) func truncatedBodyDeliversItsBeginning(body: MultipartBody)
        throws
    {
        for count in body.bytes.indices {
            let client = try body.load(in: [Array(body.bytes[..<count])])
            let parts = MultipartBody.parts(client)
            #expect(client.error?.code == (parts.isEmpty ? .badResponse : nil))
            #expect(parts.dropLast() == body.expectedParts.prefix(max(0, parts.count - 1)))
            if let last = parts.last {
                let expectedPart = try #require(body.expectedParts.dropFirst(parts.count - 1).first)
                #expect(last.data.utf8.starts(with: expectedPart.data.utf8) || expectedPart.data.utf8.starts(with: last.data.utf8))
            }
        }
    }

    @Test func noEventFollowsAStop() throws {
        let body = MultipartBody("", "--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--", [])
        for stopIndex in 0..<4 {
            let client = try body.load(in: [body.bytes]) { index, _ in index == stopIndex ? .stopped : .keepGoing }
            #expect(client.events.count == stopIndex + 1)
        }
    }

    @Test func largeHeadsAreRefused() throws {
        let line = "X: " + String(repeating: "y", count: 20) + "\r\n"
        let body = MultipartBody("", "--b\r\n" + line + line + "\r\none", [(nil, "one")])
        let sufficientLimits = MultipartLimits(maximumHeadBytes: 52, maximumFields: 2)
        body.check(try body.load(in: [body.bytes], limits: sufficientLimits))
        for (limits, setting) in [
            (MultipartLimits(maximumHeadBytes: 51, maximumFields: 2), "maximumHeadBytes"),
            (MultipartLimits(maximumHeadBytes: 52, maximumFields: 1), "maximumFields"),
        ] {
            for pieces in [[body.bytes], body.bytes.map { [$0] }] {
                let error = try body.load(in: pieces, limits: limits).error
                #expect(error?.code == .limitExceeded && error?.message.contains("MultipartLimits.\(setting)") == true)
            }
        }
    }

    // MARK: Responses

    /// Sends the response with a multipart body of one part through the stage.
    private func load(_ response: Response, _ method: HTTPRequest.Method = .get) throws -> RecordingClient {
        var request = try Request("http://a/")
        request.method = method
        let client = RecordingClient()
        let stage = MultipartReplaceStage(for: request, next: client)
        StagedLoad(response, [Array("--b\r\n\r\none\r\n--b--".utf8)]).play(to: stage) { stage.resume() }
        return client
    }

    @Test(arguments: [
        ("multipart/x-mixed-replace", HTTPResponse.Status.ok, HTTPRequest.Method.get),
        ("multipart/x-mixed-replace;boundary=\"\"", .ok, .get),
        ("multipart/mixed;boundary=b", .ok, .get), ("multipart/x-mixed-replace;boundary=b", .notFound, .get),
        ("multipart/x-mixed-replace;boundary=b", .ok, .head),
        ("multipart/x-mixed-replace;boundary=\(String(repeating: "b", count: 257))", .ok, .get),
    ]) func otherResponsesAreDeliveredUnchanged(type: String, status: HTTPResponse.Status, method: HTTPRequest.Method) throws {
        let client = try load(try MultipartBody.response(type, status: status), method)
        #expect(client.events == [.response(1000), .data(17), .finished])
        #expect(client.response?.fields[.contentType] == type)
    }

    @Test func bodyWithARemainingCodingIsDeliveredUnchanged() throws {
        var response = try MultipartBody.response("multipart/x-mixed-replace;boundary=b")
        response.remainingContentCodings = ["br"]
        #expect(try load(response).events == [.response(1000), .data(17), .finished])
    }

    @Test func partHasItsOwnFieldsAndTheFieldsOfTheResponse() throws {
        let time = try #require(HTTPField.Name("X-Time"))
        let body = MultipartBody(
            "", "--b\r\nContent-Type: image/png\r\nContent-Length: 3\r\nX-Time: 5\r\nContent-Encoding: x\r\n\r\none\r\n--b\r\n\r\ntwo", [])
        let client = RecordingClient()
        let stage = MultipartReplaceStage(for: try Request("http://a/"), next: client)
        let outer = try MultipartBody.response(
            "Multipart/X-Mixed-Replace ; Boundary=b",
            fields: [.server: "camera", .setCookie: "a=b", .contentLength: "1000", .contentEncoding: "gzip", time: "4"])
        StagedLoad(outer, [body.bytes]).play(to: stage) { stage.resume() }
        try #require(client.responses.count == 2)
        let (first, second) = (client.responses[0], client.responses[1])
        #expect(
            first.fields == [
                .server: "camera", .setCookie: "a=b", .contentType: "image/png", .contentLength: "3", time: "5", .contentEncoding: "x",
            ])
        #expect(second.fields == [.server: "camera", time: "4"])
        #expect(first.status == .ok && first.url == outer.url && first.expectedLength == nil)
        #expect(first.remainingContentCodings == ["x"] && second.remainingContentCodings == [])
    }

    // MARK: Multipart bodies with a content coding

    @Test func codedPartsAreDeliveredDespitePauses() throws {
        let text = Array("--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--".utf8)
        let count = UInt8(text.count)
        let deflatedText = [0x01, count, 0, ~count, 0xFF] + text  // a stored block
        let outer = try MultipartBody.response("multipart/x-mixed-replace;boundary=b", fields: [.contentEncoding: "deflate"])
        for pauseInterval in 1...4 {
            for pieces in [[deflatedText], deflatedText.map { [$0] }] {
                let client = RecordingClient { index, _ in index % pauseInterval == 0 ? .pause : .keepGoing }
                let stage = try #require(BodyStages().make(for: outer, to: try Request("http://a/"), client: client))
                #expect(StagedLoad(outer, pieces).play(to: stage) { stage.resume() })
                #expect(MultipartBody.parts(client).map(\.data) == ["one", "two"])
                #expect(client.events.last == .finished)
            }
        }
    }

    /// The decoding stage has already delivered the whole body when the multipart stage, which is paused, still has
    /// buffered events.
    @Test func endBufferedByThePausedMultipartStageIsDelivered() throws {
        let text = Array("--b\r\n\r\none\r\n--".utf8)
        let deflatedText = [0x01, UInt8(text.count), 0, ~UInt8(text.count), 0xFF] + text
        let outer = try MultipartBody.response("multipart/x-mixed-replace;boundary=b", fields: [.contentEncoding: "deflate"])
        for (body, code) in [
            (deflatedText, nil), (deflatedText + [7], nil), ([0] + deflatedText.dropFirst() + [7], LoadError.Code.decodingFailed),
        ] {
            let client = RecordingClient { _, event in event.isEnd ? .keepGoing : .pause }
            let stage = try #require(BodyStages().make(for: outer, to: try Request("http://a/"), client: client))
            #expect(stage.didReceive(outer, storage: .allowed) == .keepGoing)
            let bytes = unsafe body.span.bytes
            #expect(stage.didLoad(bytes) == .pause)
            stage.didFinishLoading()
            while stage.resume() == .pause { #expect(stage.hasBufferedEvents || client.events.last?.isEnd == true) }
            #expect(stage.resume() == .stopped && !stage.hasBufferedEvents)
            #expect(client.error?.code == code && client.events.last?.isEnd == true)
            #expect(MultipartBody.parts(client).map(\.data) == [code == nil ? "one\r\n--" : "one"])
        }
    }

    @Test func stagesAreMadeOnlyIfTheyAreNeeded() throws {
        let request = try Request("http://a/")
        let client = RecordingClient()
        let multipart = "multipart/x-mixed-replace;boundary=b"
        let plain = try MultipartBody.response("text/plain")
        #expect(BodyStages().make(for: plain, to: request, client: client) == nil)
        let coded = try MultipartBody.response("text/plain", fields: [.contentEncoding: "br"])
        #expect(BodyStages().make(for: coded, to: request, client: client) is ContentDecodingStage)
        let parts = try MultipartBody.response(multipart)
        #expect(BodyStages().make(for: parts, to: request, client: client) is MultipartReplaceStage)
        let both = try MultipartBody.response(multipart, fields: [.contentEncoding: "gzip"])
        let outer = try #require(BodyStages().make(for: both, to: request, client: client) as? ContentDecodingStage)
        #expect(outer.next is MultipartReplaceStage)
    }

    // MARK: Random boundaries and data

    @Test func randomDataInRandomPiecesIsDelivered() throws {
        var generator = SeededGenerator(seed: 3)
        let alphabet = Array("\r\n-b".utf8)
        for _ in 0..<400 {
            let boundary = (0..<Int.random(in: 1...4, using: &generator)).map { _ in "-bc".randomElement(using: &generator) ?? "b" } + ["d"]
            let delimiter = "\r\n--" + String(boundary)
            let parts = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                String(
                    decoding: (0..<Int.random(in: 0...40, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? 0 },
                    as: UTF8.self)
            }
            let text = parts.reduce("") { $0 + delimiter + "\r\n\r\n" + $1 } + delimiter + "--"
            let body = MultipartBody("", boundary: String(boundary), text, parts.map { (nil, $0) })
            var (pieces, remainingBytes): ([[UInt8]], ArraySlice<UInt8>) = ([], body.bytes[...])
            while !remainingBytes.isEmpty {
                let length = Int.random(in: 1...9, using: &generator)
                pieces.append(Array(remainingBytes.prefix(length)))
                remainingBytes = remainingBytes.dropFirst(length)
            }
            body.check(try body.load(in: pieces) { index, _ in index % 3 == 0 ? .pause : .keepGoing })
        }
    }
}
