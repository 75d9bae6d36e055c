// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// The changes of the response, and the bodies that are not decoded.
@Suite struct ContentDecodingTests {
    private func load(
        _ response: Response, _ body: [UInt8] = CodedBody.gzip, _ change: (inout Request) -> Void = { _ in }
    ) throws -> RecordingClient {
        var request = try Request("http://a/")
        change(&request)
        let client = RecordingClient()
        let stage = ContentDecodingStage(for: request, next: client)
        StagedLoad(response, body.isEmpty ? [] : [body]).play(to: stage) { stage.resume() }
        #expect(client.events.last == .finished)
        return client
    }

    @Test func expectedLengthIsUnknownAndFieldsStay() throws {
        let client = try load(try CodedBody.response("gzip"))
        let response = try #require(client.response)
        #expect(response.expectedLength == nil)
        #expect(response.fields[.contentEncoding] == "gzip" && response.fields[.contentLength] == "1000")
        #expect(response.remainingContentCodings.isEmpty)
        #expect(client.bytes == CodedBody.hello)
    }

    @Test func uncodedBodyIsLeftAlone() throws {
        for codings in ["", "identity", ", identity ,"] {
            let client = try load(try CodedBody.response(codings))
            #expect(client.events == [.response(1000), .data(CodedBody.gzip.count), .finished])
            #expect(client.bytes == CodedBody.gzip)
            #expect(client.response?.remainingContentCodings == [])
        }
    }

    @Test(arguments: [
        ("br", ["br"]), ("ZStd", ["zstd"]), ("gzip, br", ["gzip", "br"]), ("compress", ["compress"]), ("gzip;x", ["gzip;x"]),
        ("br, deflate, gzip", ["br", "deflate", "gzip"]),
    ]) func unknownCodingIsDeliveredAndListed(codings: String, remaining: [String]) throws {
        let client = try load(try CodedBody.response(codings))
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == remaining)
        #expect(client.response?.expectedLength == 1000)
    }

    /// The content coding, the transfer codings over it, and the remaining codings.
    @Test(arguments: [("", [ContentCoding.gzip], []), ("deflate", [.gzip], []), ("br", [.gzip], ["br"])])
    func transferCodingsAreDecodedFirst(content: String, transfer: [ContentCoding], remaining: [String]) throws {
        let bytes = content == "deflate" ? Deflated.make(CodedBody.zlib, .gzip) : CodedBody.gzip
        for keepsCoding in [false, true] {
            var request = try Request("http://a/")
            request.decodesContent = !keepsCoding
            let client = RecordingClient()
            let stage = ContentDecodingStage(
                ContentDecoding(for: request, transferCodings: transfer, limits: ContentDecodingLimits()), next: client)
            StagedLoad(try CodedBody.response(content), [bytes]).play(to: stage) { stage.resume() }
            #expect(client.events.last == .finished)
            let keepsContent = keepsCoding && content == "deflate"
            #expect(client.bytes == (keepsContent ? CodedBody.zlib : CodedBody.hello))
            #expect(client.response?.remainingContentCodings == (keepsContent ? ["deflate"] : remaining))
        }
    }

    @Test func severalFieldsAreOneList() throws {
        var response = try CodedBody.response("deflate")
        response.fields.append(HTTPField(name: .contentEncoding, value: "gzip"))
        #expect(try load(response, Deflated.make(CodedBody.zlib, .gzip)).bytes == CodedBody.hello)
    }

    @Test func decodingCanBeDisabled() throws {
        let client = try load(try CodedBody.response("deflate, gzip")) { $0.decodesContent = false }
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == ["deflate", "gzip"])
    }

    @Test func rangeOfCodedBytesIsLeftAlone() throws {
        let client = try load(try CodedBody.response("gzip", status: .partialContent))
        #expect(client.bytes == CodedBody.gzip)
        #expect(client.response?.remainingContentCodings == ["gzip"])
    }

    @Test func responsesWithoutABodyAreNotDecoded() throws {
        for status in [HTTPResponse.Status.noContent, .notModified] {
            #expect(try load(try CodedBody.response("gzip", status: status), []).response?.expectedLength == 1000)
        }
        let head = try load(try CodedBody.response("gzip, x, x, x, x, x, x"), []) { $0.method = .head }
        #expect(head.events == [.response(1000), .finished])
    }

    @Test func errorPagesAreDecodedToo() throws {
        #expect(try load(try CodedBody.response("gzip", status: .notFound)).bytes == CodedBody.hello)
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
