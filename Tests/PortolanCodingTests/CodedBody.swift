// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// A body in one or more content codings, and the expected result of its decoding.
struct CodedBody: Sendable, CustomTestStringConvertible {
    let name: String
    /// The value of the Content-Encoding field.
    let contentEncoding: String
    let bytes: [UInt8]
    /// The decoded bytes; those before the error if the decoding fails.
    let expectedContents: [UInt8]
    /// The code of the error; `nil` if the body can be decoded.
    let expectedCode: LoadError.Code?
    /// A part of the error's message.
    let expectedMessagePart: String

    var testDescription: String { name }

    init(
        _ name: String, _ contentEncoding: String, _ bytes: [UInt8], _ expectedContents: [UInt8], _ expectedCode: LoadError.Code? = nil,
        _ expectedMessagePart: String = ""
    ) {
        self.name = name
        self.contentEncoding = contentEncoding
        self.bytes = bytes
        self.expectedContents = expectedContents
        self.expectedCode = expectedCode
        self.expectedMessagePart = expectedMessagePart
    }

    /// Sends `pieces` through a decoding stage, and returns the client with the recorded events. `pieces` are the bytes
    /// of the body. `onEvent` returns the flow for the event with the given index.
    func decode(
        in pieces: [[UInt8]], limits: ContentDecodingLimits = ContentDecodingLimits(), endsInPause: Bool = false,
        onEvent: @escaping @Sendable (Int, RecordingClient.Event) -> Flow = { _, _ in .keepGoing }
    ) throws -> RecordingClient {
        let client = RecordingClient(onEvent: onEvent)
        let stage = ContentDecodingStage(for: try Request("http://a/"), limits: limits, next: client)
        var load = StagedLoad(try Self.response(contentEncoding), pieces)
        load.endsInPause = endsInPause
        #expect(load.play(to: stage) { stage.resume() }, "the stage still asks for a resume after the end")
        return client
    }

    /// Checks that the events of the client are the expected result.
    func check(_ client: RecordingClient, sourceLocation: SourceLocation = #_sourceLocation) {
        // Not compared in the expectation, because a failed one lists the differences in megabytes of data.
        let hasExpectedContents = client.bytes == expectedContents
        #expect(
            hasExpectedContents, "\(client.bytes.count) bytes differ from the \(expectedContents.count) expected bytes",
            sourceLocation: sourceLocation)
        #expect(client.error?.code == expectedCode, sourceLocation: sourceLocation)
        #expect(
            client.error?.message.contains(expectedMessagePart) ?? true, "\(client.error?.message ?? "")", sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count == 1 && client.events.last?.isEnd == true, sourceLocation: sourceLocation)
    }

    /// Returns a response with the Content-Encoding field, and with a Content-Length field of 1000 bytes.
    static func response(_ contentEncoding: String, status: HTTPResponse.Status = .ok) throws -> Response {
        var fields = HTTPFields()
        if !contentEncoding.isEmpty { fields[.contentEncoding] = contentEncoding }
        fields[.contentLength] = "1000"
        return Response(url: try Request("http://a/").url, expectedLength: 1000, status: status, fields: fields)
    }
}

extension [UInt8] {
    /// One piece with all bytes.
    var inOnePiece: [[UInt8]] { [self] }
    /// One piece for each byte.
    var byteByByte: [[UInt8]] { map { [$0] } }
    /// The two pieces before and after the index.
    func split(at index: Int) -> [[UInt8]] { [Array(self[..<index]), Array(self[index...])] }
}
