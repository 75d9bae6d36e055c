// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanContent
import PortolanCore
import PortolanTestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct JSONTests {
    private struct Point: Codable, Hashable { var x: Int, y: Int }

    @Test func requestSendsAValue() async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let request = try Request("x://h/", json: Point(x: 1, y: 2), encoder: encoder)
        #expect(request.method == .post && request.field("Content-Type") == "application/json")
        #expect(try await request.body?.text() == #"{"x":1,"y":2}"#)
        let patch = try Request("x://h/", method: .patch, fields: [.contentType: "application/merge-patch+json"], json: ["x": 1])
        #expect(patch.method == .patch && patch.field("Content-Type") == "application/merge-patch+json")
    }

    @Test func valueWithoutJSONIsABadRequest() throws {
        let error = try #require(throws: LoadError.self) { try Request("x://h/", json: Double.infinity) }
        #expect(error.code == .badRequest && error.underlyingError is EncodingError)
    }

    @Test func valueIsLoaded() async throws {
        let handler = StubHandler { request in
            #expect(request.field("Accept") == (request.url.path == "/own" ? "own/type" : "application/json"))
            return .json(text: #"{"x":1,"y":2}"#)
        }
        let loader = loader(handler) { $0.baseURL = try? URLRecord(parsing: "x://h/") }
        #expect(try await loader.decode(Point.self, from: "point") == Point(x: 1, y: 2))
        let request = try Request("x://h/own", fields: [.accept: "own/type"])
        let point: Point = try await loader.decode(for: request)
        #expect(point == Point(x: 1, y: 2))
    }

    @Test func otherJSONIsADecodingError() async throws {
        let loader = loader(StubHandler { _ in .json(text: "[]") })
        await #expect(throws: DecodingError.self) { try await loader.decode(Point.self, from: "x://h/") }
    }

    /// The status is checked before the body is decoded.
    @Test func errorStatusIsAStatusError() async throws {
        let loader = loader(StubHandler { _ in .json(text: #"{"x":1,"y":2}"#, status: .notFound) })
        let error = try await #require(throws: StatusError.self) { try await loader.decode(Point.self, from: "x://u:p@h/") }
        #expect(error.status == .notFound && String(decoding: error.body, as: UTF8.self) == #"{"x":1,"y":2}"# && error.isBodyComplete)
        #expect(error.description == "the response for x://h/ is 404 Not Found")
    }
}

@Suite(.timeLimit(.minutes(2))) struct StatusErrorTests {
    @Test(arguments: [nil, 100, 200, 204, 304, 399, 400, 404, 499, 500, 599, 999])
    func statusesFrom400OnAreErrors(code: Int?) throws {
        let response = Response(url: try URLRecord(parsing: "x://h"), status: code.map { .init(code: $0) })
        if let code, code >= 400 {
            let error = try #require(throws: StatusError.self) { try response.validated() }
            #expect(error.status.code == code && error.body.isEmpty)
        } else {
            #expect(try response.validated().status?.code == code)
        }
    }

    @Test(arguments: [0, 1, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 200_000])
    func errorHasTheFirst64KiB(count: Int) async throws {
        let bytes = [UInt8](repeating: 7, count: count)
        var stub = StubResponse.pieces(stride(from: 0, to: count, by: 10_000).map { Array(bytes[$0..<min($0 + 10_000, count)]) })
        stub.status = .internalServerError
        let loader = loader(StubHandler { [stub] _ in stub })
        let (chunks, response) = try await loader.bytes(from: "x://h/")
        let streamed = try await #require(throws: StatusError.self) { try await chunks.validated(for: response) }
        let whole = try await #require(throws: StatusError.self) {
            let (body, response) = try await loader.data(from: "x://h/")
            try response.validated(body: body)
        }
        for error in [streamed, whole] {
            #expect(error.body.count == min(count, StatusError.bodyLimit) && error.body.allSatisfy { $0 == 7 })
            #expect(error.isBodyComplete == (count <= StatusError.bodyLimit))
        }
        #expect(chunks.task.state == .ended)
    }

    @Test func failureDuringTheBodyIsNotReported() async throws {
        var stub = StubResponse.text("half")
        (stub.status, stub.announcesLength, stub.failure) = (.badGateway, false, LoadError(.connectionLost, message: "lost"))
        let (chunks, response) = try await loader(StubHandler { [stub] _ in stub }).bytes(from: "x://h/")
        let error = try await #require(throws: StatusError.self) { try await chunks.validated(for: response) }
        #expect(error.status == .badGateway && error.body == Data("half".utf8) && !error.isBodyComplete)
    }

    @Test func otherStatusLeavesTheBodyUnread() async throws {
        let (chunks, response) = try await loader(StubHandler { _ in .text("all") }).bytes(from: "x://h/")
        #expect(try await chunks.validated(for: response).collect() == Data("all".utf8))
    }
}
