// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP

/// A multipart body, and the parts that the client must receive.
struct MultipartBody: Sendable, CustomTestStringConvertible {
    struct Part: Equatable {
        var type: String?
        var data: String
    }

    let name: String
    let boundary: String
    let text: String
    let expectedParts: [Part]
    /// The code of the expected error; `nil` if the load must finish.
    let expectedCode: LoadError.Code?

    var testDescription: String { name }
    var bytes: [UInt8] { Array(text.utf8) }

    init(_ name: String, boundary: String = "b", _ text: String, _ parts: [(type: String?, data: String)], _ code: LoadError.Code? = nil) {
        self.name = name
        self.boundary = boundary
        self.text = text
        expectedParts = parts.map { Part(type: $0.type, data: $0.data) }
        expectedCode = code
    }

    /// Sends the pieces of the body through a `MultipartReplaceStage` to a recording client.
    ///
    /// - Parameter onEvent: receives the number and each event of the client, and returns its flow.
    func load(
        in pieces: [[UInt8]], limits: MultipartLimits = MultipartLimits(), endsInPause: Bool = false,
        onEvent: @escaping @Sendable (Int, RecordingClient.Event) -> Flow = { _, _ in .keepGoing }
    ) throws -> RecordingClient {
        let client = RecordingClient(onEvent: onEvent)
        let stage = MultipartReplaceStage(for: try Request("http://a/"), limits: limits, next: client)
        var load = StagedLoad(try Self.response("multipart/x-mixed-replace; boundary=\(boundary)"), pieces)
        load.endsInPause = endsInPause
        #expect(load.play(to: stage) { stage.resume() }, "the stage still asks for a resume after the end")
        return client
    }

    /// Expects that the client received the parts, the error, and exactly one end.
    func check(_ client: RecordingClient, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(Self.parts(client) == expectedParts, sourceLocation: sourceLocation)
        #expect(client.error?.code == expectedCode, sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count == 1 && client.events.last?.isEnd == true, sourceLocation: sourceLocation)
        #expect(!client.events.contains(.data(0)), sourceLocation: sourceLocation)
        // The cache stores no parts.
        #expect(client.responses.allSatisfy { $0.isBodyPart }, sourceLocation: sourceLocation)
    }

    /// The parts that the client received.
    static func parts(_ client: RecordingClient) -> [Part] {
        var (parts, position): ([Part], Int) = ([], 0)
        for event in client.events {
            switch event {
            case .response: parts.append(Part(type: client.responses.dropFirst(parts.count).first?.mimeType?.description, data: ""))
            case .data(let count) where !parts.isEmpty:
                parts[parts.count - 1].data += String(decoding: client.bytes.dropFirst(position).prefix(count), as: UTF8.self)
                position += count
            default: break
            }
        }
        return parts
    }

    static func response(_ type: String, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) throws -> Response {
        var fields = fields
        fields[.contentType] = type
        return Response(
            url: try Request("http://a/").url, mimeType: MIMEType(parsing: type), expectedLength: 1000, status: status, fields: fields)
    }
}
