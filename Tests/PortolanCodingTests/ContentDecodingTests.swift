// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// How `ContentDecodingStage` changes the response, and which bodies it does not decode.
@Suite struct ContentDecodingTests {
    /// Sends the response and the body through a decoding stage, and returns the client with the recorded events.
    private func decode(
        _ response: Response, _ body: [UInt8] = CodedBody.gzip, changingRequest changeRequest: (inout Request) -> Void = { _ in }
    ) throws -> RecordingClient {
        var request = try Request("http://a/")
        changeRequest(&request)
        let client = RecordingClient()
        let stage = ContentDecodingStage(for: request, next: client)
        StagedLoad(response, body.isEmpty ? [] : [body]).play(to: stage) { stage.resume() }
        #expect(client.events.last == .finished)
        return client
    }

    @Test func decodingRemovesTheExpectedLengthAndKeepsTheFields() throws {
        let client = try decode(try CodedBody.response("gzip"))
        let response = try #require(client.response)
        #expect(response.expectedLength == nil)
        #expect(response.fields[.contentEncoding] == "gzip" && response.fields[.contentLength] == "1000")
        #expect(response.remainingContentCodings.isEmpty)
        #expect(client.bytes == CodedBody.hello)
    }

    @Test func bodyWithoutACodingIsNotChanged() throws {
        for codings in ["", "identity", ", identity ,"] {
            let client = try decode(try CodedBody.response(codings))
            #expect(client.events == [.response(1000), .data(CodedBody.gzip.count), .finished])
            #expect(client.bytes == CodedBody.gzip)
            #expect(client.response?.remainingContentCodings == [])
        }
    }

    @Test(arguments: [
        ("br", ["br"]), ("ZStd", ["zstd"]), ("gzip, br", ["gzip", "br"]), ("compress", ["compress"]), ("gzip;x", ["gzip;x"]),
        ("br, deflate, gzip", ["br", "deflate", "gzip"]),
    ]) func bodyWithAnUnknownCodingIsDeliveredCoded(codings: String, remaining: [String]) throws {
        let client = try decode(try CodedBody.response(codings))
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == remaining)
        #expect(client.response?.expectedLength == 1000)
    }

    /// The content coding, the transfer codings that were applied after it, and the codings that stay in the body.
    @Test(arguments: [("", [ContentCoding.gzip], []), ("deflate", [.gzip], []), ("br", [.gzip], ["br"])])
    func transferCodingsAreDecodedFirst(content: String, transfer: [ContentCoding], remaining: [String]) throws {
        let bytes = content == "deflate" ? Zlib.compress(CodedBody.zlib, .gzip) : CodedBody.gzip
        for keepsContentCoding in [false, true] {
            var request = try Request("http://a/")
            request.decodesContent = !keepsContentCoding
            let client = RecordingClient()
            let stage = ContentDecodingStage(
                ContentDecoding(for: request, transferCodings: transfer, limits: ContentDecodingLimits()), next: client)
            StagedLoad(try CodedBody.response(content), [bytes]).play(to: stage) { stage.resume() }
            #expect(client.events.last == .finished)
            let isStillDeflated = keepsContentCoding && content == "deflate"
            #expect(client.bytes == (isStillDeflated ? CodedBody.zlib : CodedBody.hello))
            #expect(client.response?.remainingContentCodings == (isStillDeflated ? ["deflate"] : remaining))
        }
    }

    @Test func codingsOfSeveralFieldsAreDecoded() throws {
        var response = try CodedBody.response("deflate")
        response.fields.append(HTTPField(name: .contentEncoding, value: "gzip"))
        #expect(try decode(response, Zlib.compress(CodedBody.zlib, .gzip)).bytes == CodedBody.hello)
    }

    @Test func decodingCanBeDisabled() throws {
        let client = try decode(try CodedBody.response("deflate, gzip")) { $0.decodesContent = false }
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == ["deflate", "gzip"])
    }

    @Test func partialResponseIsNotDecoded() throws {
        let client = try decode(try CodedBody.response("gzip", status: .partialContent))
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == ["gzip"])
    }

    @Test func responsesWithoutABodyAreNotDecoded() throws {
        for status in [HTTPResponse.Status.noContent, .notModified] {
            #expect(try decode(try CodedBody.response("gzip", status: status), []).response?.expectedLength == 1000)
        }
        let headClient = try decode(try CodedBody.response("gzip, x, x, x, x, x, x"), []) { $0.method = .head }
        #expect(headClient.events == [.response(1000), .finished])
    }

    @Test func bodiesOfErrorResponsesAreDecoded() throws {
        #expect(try decode(try CodedBody.response("gzip", status: .notFound)).bytes == CodedBody.hello)
    }

    @Test func acceptEncodingOfTheCallerIsKept() throws {
        var request = try Request("http://a/")
        #expect(ContentDecoding.acceptEncoding(for: request) == "gzip, deflate")
        request.fields[.range] = "bytes=3-"
        #expect(ContentDecoding.acceptEncoding(for: request) == "identity")
        request.fields[.acceptEncoding] = "br"
        #expect(ContentDecoding.acceptEncoding(for: request) == nil)
    }
}
