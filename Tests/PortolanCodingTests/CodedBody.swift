// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// A coded body, and the expected result.
struct CodedBody: Sendable, CustomTestStringConvertible {
    let name: String
    let codings: String
    let bytes: [UInt8]
    let contents: [UInt8]
    /// The code of the error; `nil` if the coding is correct.
    let code: LoadError.Code?
    /// Words of the error's message.
    let phrase: String

    var testDescription: String { name }

    init(_ name: String, _ codings: String, _ bytes: [UInt8], _ contents: [UInt8], _ code: LoadError.Code? = nil, _ phrase: String = "") {
        self.name = name
        self.codings = codings
        self.bytes = bytes
        self.contents = contents
        self.code = code
        self.phrase = phrase
    }

    /// Decodes the body in `pieces`.
    func decode(
        in pieces: [[UInt8]], limits: ContentDecodingLimits = ContentDecodingLimits(), endsInPause: Bool = false,
        onEvent: @escaping @Sendable (Int, RecordingClient.Event) -> Flow = { _, _ in .keepGoing }
    ) throws -> RecordingClient {
        let client = RecordingClient(onEvent: onEvent)
        let stage = ContentDecodingStage(for: try Request("http://a/"), limits: limits, next: client)
        var load = StagedLoad(try Self.response(codings), pieces)
        load.endsInPause = endsInPause
        #expect(load.play(to: stage) { stage.resume() }, "the stage still asks for a resume after the end")
        return client
    }

    func check(_ client: RecordingClient, sourceLocation: SourceLocation = #_sourceLocation) {
        let isSame = client.bytes == contents  // not in the expectation, which would list the differences in megabytes of data
        #expect(isSame, "\(client.bytes.count) bytes of \(contents.count), and not the same", sourceLocation: sourceLocation)
        #expect(client.error?.code == code, sourceLocation: sourceLocation)
        #expect(client.error?.message.contains(phrase) ?? true, "\(client.error?.message ?? "")", sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count == 1 && client.events.last?.isEnd == true, sourceLocation: sourceLocation)
    }

    static func response(_ codings: String, status: HTTPResponse.Status = .ok) throws -> Response {
        var fields = HTTPFields()
        if !codings.isEmpty { fields[.contentEncoding] = codings }
        fields[.contentLength] = "1000"
        return Response(url: try Request("http://a/").url, expectedLength: 1000, status: status, fields: fields)
    }
}

extension [UInt8] {
    var whole: [[UInt8]] { [self] }
    var byteByByte: [[UInt8]] { map { [$0] } }
    func cut(at index: Int) -> [[UInt8]] { [Array(self[..<index]), Array(self[index...])] }
}
