// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanContent
import PortolanCore
import PortolanHTTP
import PortolanTestSupport
import PortolanTransport
import ServerSupport
import Testing

/// Forms, JSON and events with servers.
@Suite(.timeLimit(.minutes(10))) struct WebServiceTests {
    private func loader(_ configure: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
        var http = HTTPConfiguration()
        (http.proxies, http.threadCount) = (.direct, 1)
        return PortolanTestSupport.loader(handlers: [HTTPHandler(configuration: http)], configure: configure)
    }

    /// What httpbin has understood of a request.
    private struct Echo: Decodable {
        var form: [String: String]
        var files: [String: String]
    }

    @Test func serverReadsTheForms() async throws {
        let loader = loader { $0.baseURL = try? URLRecord(parsing: TestServers.shared.url(.httpbin, "/")) }
        let folder = try TemporaryFolder()
        let large = String(repeating: "0123456789abcdef", count: 20_000)
        var form = MultipartForm()
        form.append("title", "Chart\r\nof \"the\" coast\u{1F5FA}")
        try form.append("chart", file: try folder.write(Array(large.utf8), to: "chart.txt"), contentType: .plainText)
        form.append("a\"b", "quoted")
        var request = try loader.makeRequest("post", method: .post)
        request.setForm(form)
        let echo = try await loader.decode(Echo.self, for: request)
        #expect(echo.form["title"] == "Chart\r\nof \"the\" coast\u{1F5FA}" && echo.files == ["chart": large])
        #expect(echo.form.keys.contains("a%22b") || echo.form.keys.contains("a\"b"))

        request.setForm(["q": "C++ & Swift", "é": "\u{1F5FA}"] as URLEncodedForm)
        let encoded = try await loader.decode(Echo.self, for: request)
        #expect(encoded.form == ["q": "C++ & Swift", "é": "\u{1F5FA}"])
    }

    /// The form is sent again after 307.
    @Test func formFollowsARedirect() async throws {
        let url = try TestServers.shared.url(.httpbin, "/redirect-to?url=%2Fpost&status_code=307")
        var form = MultipartForm()
        form.append("a", "1")
        let echo = try await loader().decode(Echo.self, for: Request(url, form: form))
        #expect(echo.form == ["a": "1"])
    }

    @Test func errorStatusHasTheBody() async throws {
        let server = try ScriptedServer(ScriptedServer.responding("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"))
        let error = try await #require(throws: StatusError.self) { try await loader().decode(Echo.self, from: server.url()) }
        #expect(error.status == .notFound && String(decoding: error.body, as: UTF8.self) == "none")
    }

    @Test func eventsContinueOnANewConnection() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        let server = try ScriptedServer { connection in
            switch connection {
            case 0: [.receiveHead, .send(text: head), .sendByteByByte(Array("\u{FEFF}id: 7\r\ndata: a\r\n\r\ndata: lost".utf8)), .close]
            case 1: [.receiveHead, .send(text: head + "data: b\n\n"), .reset]
            default: ScriptedServer.responding("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let clock = InstantClock()
        let loader = loader {
            $0.clock = clock
            $0.timeouts = Timeouts()
        }
        var events: [ServerSentEvent] = []
        for try await event in try loader.events(from: server.url()) { events.append(event) }
        #expect(events.first == ServerSentEvent(data: "a", id: "7"))
        // The reset can overtake the event.
        #expect(events.dropFirst().allSatisfy { $0 == ServerSentEvent(data: "b", id: "7") })
        let heads = server.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(heads.map { $0.contains("Last-Event-ID: 7\r\n") } == [false, true, true])
        #expect(clock.waits.count == 2)
    }
}
