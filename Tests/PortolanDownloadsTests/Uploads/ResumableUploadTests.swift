// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanDownloads
import PortolanHTTP
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

/// Uploads that are interrupted (draft-ietf-httpbis-resumable-upload-12).
@Suite(.timeLimit(.minutes(2))) struct ResumableUploadTests {
    private static let retries = policy(3)

    private static func policy(_ limit: Int) -> RetryPolicy {
        var retries = RetryPolicy(limit: limit)
        retries.initialDelay = .zero
        return retries
    }

    private static func request(_ bytes: [UInt8], _ method: HTTPRequest.Method = .post) throws -> Request {
        var request = try Request("http://h.example/files", method: method, body: .bytes(bytes))
        request.fields = [.authorization: "Bearer secret", .contentType: "text/plain", .ifMatch: "*", .accept: "a/b"]
        return request
    }

    private static func upload(
        _ request: Request, to server: UploadServer, limit: Int = 3, _ configure: (inout Loader.Configuration) -> Void = { _ in }
    ) async throws -> (text: String, status: Int?) {
        let (body, response) = try await loader(server, configure: configure).upload(for: request, retries: policy(limit))
        return (String(decoding: body, as: UTF8.self), response.status?.code)
    }

    private static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

    @Test func uploadContinuesWhereTheServerHasStopped() async throws {
        for round in 0..<100 {
            let bytes = Self.random(.random(in: 0...5000))
            let interruptions = (0..<Int.random(in: 0...6)).map { _ in
                UploadServer.Interruption(
                    receivedCount: .random(in: 1...max(1, bytes.count)), status: Bool.random() ? nil : .serviceUnavailable)
            }
            let limit = round % 2 == 0 ? nil : "max-append-size=\(Int.random(in: 1...5000)), max-size=5000, other=?1"
            let server = UploadServer(interruptions, limit: limit)
            // An interruption at the end makes no progress.
            let result = try await Self.upload(Self.request(bytes), to: server, limit: 6)
            let state = server.state.withLock { $0 }
            #expect(result == ("done", 201) && state.isComplete)
            #expect(state.received == bytes)
            #expect(state.lines.count { $0 == "POST /files" } == 1)
            #expect(state.lines.dropFirst().allSatisfy { $0.hasSuffix(" /uploads/1") })
        }
    }

    @Test func requestsHaveTheFieldsOfTheDraft() async throws {
        let server = UploadServer([.init(receivedCount: 3), .init(receivedCount: 2)])
        _ = try await Self.upload(Self.request(Self.random(10)), to: server)
        let requests = server.state.withLock { $0.requests }
        func values(_ name: String) -> [String?] { requests.map { $0.field(name) } }
        #expect(requests.map(\.method) == [.post, .head, .patch, .head, .patch])
        #expect(values("Upload-Complete") == ["?1", nil, "?1", nil, "?1"])
        #expect(values("Upload-Offset") == [nil, nil, "3", nil, "5"])
        #expect(values("Upload-Length") == ["10", nil, nil, nil, nil])
        #expect(values("Content-Type") == ["text/plain", nil, "application/partial-upload", nil, "application/partial-upload"])
        #expect(values("If-Match") == ["*", nil, nil, nil, nil])
        #expect(values("Authorization") == Array(repeating: "Bearer secret", count: 5) && values("Accept").allSatisfy { $0 == "a/b" })
    }

    @Test func partsHaveTheSizeThatTheServerAllows() async throws {
        let server = UploadServer([.init(receivedCount: 0, status: .contentTooLarge)], limit: "max-append-size=4")
        let bytes = Self.random(10)
        #expect(try await Self.upload(Self.request(bytes), to: server) == ("done", 201))
        #expect(server.state.withLock { $0.partSizes } == [10, 4, 4, 2] && server.state.withLock { $0.received } == bytes)
        let strict = UploadServer([.init(receivedCount: 1)]) { UploadServer.set(&$0, ("Upload-Limit", "max-size=9")) }
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(bytes), to: strict) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func lostResponseOfACompleteUpload() async throws {
        let server = UploadServer([.init(receivedCount: 10, losesResponse: true)])
        #expect(try await Self.upload(Self.request(Self.random(10)), to: server) == ("", 204))
        #expect(server.state.withLock { $0.lines } == ["POST /files", "HEAD /uploads/1"])
    }

    @Test func serverWithoutResumableUploads() async throws {
        let bytes = Self.random(10)
        let server = UploadServer([.init(receivedCount: 3)], location: nil)
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(bytes), to: server) }
        #expect(error?.code == .connectionLost && server.state.withLock { $0.lines } == ["POST /files"])
        // The loader's own retries begin from the start, and only with an idempotent method.
        for (method, count) in [(HTTPRequest.Method.post, 1), (.put, 3)] {
            let server = UploadServer([.init(receivedCount: 3), .init(receivedCount: 0, status: .badGateway)], location: nil)
            let result = try? await Self.upload(Self.request(bytes, method), to: server) { $0.retries = Self.retries }
            #expect((result?.text == "done") == (method == .put))
            #expect(server.state.withLock { $0.lines.count } == count)
        }
    }

    @Test func retriesAreLimitedUntilBytesArrive() async throws {
        let bytes = Self.random(100)
        let stuck = UploadServer(Array(repeating: .init(receivedCount: 0), count: 50))
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(bytes), to: stuck) }
        #expect(error?.code == .connectionLost && stuck.state.withLock { $0.lines.count { $0.hasPrefix("HEAD") } } == 3)
        let refusing = UploadServer(Array(repeating: .init(receivedCount: 0, status: .serviceUnavailable), count: 50))
        #expect(try await Self.upload(Self.request(bytes), to: refusing).status == 503)
        let slow = UploadServer(Array(repeating: .init(receivedCount: 1), count: 50))
        #expect(try await Self.upload(Self.request(bytes), to: slow).text == "done")
    }

    @Test(arguments: [
        ("Upload-Offset", "11"), ("Upload-Offset", "-1"), ("Upload-Offset", "x"), ("Upload-Offset", "3.0"), ("Upload-Length", "11"),
    ])
    func contradictionsFail(name: String, value: String) async throws {
        let server = UploadServer([.init(receivedCount: 3)]) { UploadServer.set(&$0, (name, value)) }
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(Self.random(10)), to: server) }
        #expect(error?.code == .badResponse)
        #expect(server.state.withLock { $0.lines.count } == 2)
    }

    @Test func offsetThatDecreasesFails() async throws {
        let count = Atomic(0)
        let server = UploadServer([.init(receivedCount: 3), .init(receivedCount: 3)]) { fields in
            if count.add(1, ordering: .relaxed).newValue == 2 { UploadServer.set(&fields, ("Upload-Offset", "2")) }
        }
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(Self.random(10)), to: server) }
        #expect(error?.code == .badResponse && error?.message.contains("2 bytes, and 3 before") == true)
    }

    /// A server must not make the loader send parts without an end.
    @Test func serverThatStoresNothingEndsTheUpload() async throws {
        let server = UploadServer([.init(receivedCount: 3)], quirk: .storesNoPart)
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(Self.random(10)), to: server) }
        #expect(error?.code == .badResponse && server.state.withLock { $0.lines.count } == 4)
        let shrinking = UploadServer([.init(receivedCount: 3)], quirk: .allowsLessEachTime)
        #expect(try await Self.upload(Self.request(Self.random(1000)), to: shrinking).status == 413)
        #expect(shrinking.state.withLock { $0.lines.count } <= 2 + 4)
    }

    @Test func completeUploadMayBeRemoved() async throws {
        let server = UploadServer([.init(receivedCount: 3)], quirk: .removesCompleteUpload)
        #expect(try await Self.upload(Self.request(Self.random(10)), to: server) == ("done", 201))
        #expect(server.state.withLock { $0.lines.last } == "HEAD /uploads/1")
    }

    @Test func uploadAtAnotherOriginReceivesNoSecrets() async throws {
        let server = UploadServer([.init(receivedCount: 3)], location: "https://store.example/u?1")
        #expect(try await Self.upload(Self.request(Self.random(10)), to: server).text == "done")
        let requests = server.state.withLock { $0.requests }
        #expect(requests.map { $0.url.host } == ["h.example", "store.example", "store.example"])
        #expect(requests.map { $0.field("Authorization") } == ["Bearer secret", nil, nil])
    }

    @Test(arguments: ["file:///etc/passwd", "http://", "data:,x"]) func locationThatIsNotAllowedFails(_ location: String) async throws {
        let server = UploadServer([.init(receivedCount: 3)], location: location)
        let error = await #expect(throws: LoadError.self) { try await Self.upload(Self.request(Self.random(10)), to: server) }
        #expect(error?.code == .badResponse && server.state.withLock { $0.lines.count } == 1)
    }

    @Test func secureUploadDoesNotContinueWithoutTLS() async throws {
        var request = try Self.request(Self.random(10))
        request.url = try URLRecord(parsing: "https://h.example/files")
        let server = UploadServer([.init(receivedCount: 3)], location: "http://h.example/uploads/1")
        let error = await #expect(throws: LoadError.self) { try await Self.upload(request, to: server) }
        #expect(error?.code == .badResponse)
    }

    @Test func bodyThatCanBeReadOnlyOnceIsSentAsUsual() async throws {
        var request = try Self.request([])
        request.body = .stream(
            AsyncStream {
                $0.yield([1, 2, 3]); $0.finish()
            })
        let handler = StubHandler { request in
            .text(request.field("Upload-Complete") ?? "as usual")
        }
        let (body, _) = try await loader(handler).upload(for: request)
        #expect(String(decoding: body, as: UTF8.self) == "as usual")
    }

    /// Over a real connection, with more reports of the progress than other interim responses may come.
    @Test func lostConnectionIsContinued() async throws {
        let progress = String(repeating: "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 5\r\n\r\n", count: 1000)
        let server = try ScriptedServer(
            [
                .receiveHead, .send(text: "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /u/1\r\n\r\n"), .send(text: progress),
                .receive(10), .close,
            ],
            ScriptedServer.responding("HTTP/1.1 204 No Content\r\nUpload-Offset: 5\r\nUpload-Complete: ?0\r\nConnection: close\r\n\r\n"),
            [
                .receiveHead, .receive(5),
                .send(text: "HTTP/1.1 200 OK\r\nUpload-Complete: ?1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"),
            ])
        let request = try Request(server.url("/files"), method: .post, body: .text("0123456789"))
        let (body, _) = try await loader(HTTPHandler()).upload(for: request, retries: Self.retries)
        #expect(String(decoding: body, as: UTF8.self) == "ok")
        let texts = server.connections.map(\.text)
        #expect(texts.map { $0.prefix { $0 != "\r\n" } } == ["POST /files HTTP/1.1", "HEAD /u/1 HTTP/1.1", "PATCH /u/1 HTTP/1.1"])
        #expect(texts.last?.hasSuffix("\r\n\r\n56789") == true)
    }

    @Test func cancelEndsTheWait() async throws {
        var retries = RetryPolicy(limit: 3)
        (retries.initialDelay, retries.maximumDelay) = (.seconds(10_000), .seconds(10_000))
        let server = UploadServer([.init(receivedCount: 3)])
        let request = try Self.request(Self.random(10))
        let upload = Task { try await loader(server).upload(for: request, retries: retries) }
        while server.state.withLock({ $0.lines.isEmpty }) { await Task.yield() }
        upload.cancel()
        let error = await #expect(throws: LoadError.self) { try await upload.value }
        #expect(error?.code == .cancelled)
    }
}

/// Parts of bodies.
@Suite struct BodyPartTests {
    @Test func partsHaveTheirBytes() throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try Data(bytes).write(to: URL(filePath: folder.path(of: "a")))
        for body in [Body.bytes(bytes), try .file(path: folder.path(of: "a"))] {
            for range in [0..<200_000, 0..<0, 200_000..<200_000, 1..<200_000, 70_000..<200_000, 0..<1, 65_535..<65_537, 3..<150_000] {
                let part = body.part(Int64(range.lowerBound)..<Int64(range.upperBound))
                #expect(part.length == Int64(range.count) && part.isRewindable)
                for _ in 0..<2 { #expect(try part.allBytes() == Array(bytes[range])) }
            }
        }
    }
}
