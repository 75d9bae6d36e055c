// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// A request matches a recorded request only if nothing that is known about the two bodies differs.
@Suite(.timeLimit(.minutes(2))) struct SentBodyTests {
    /// A recorded POST request of `http://h/` with this body.
    private func transaction(_ body: Body?, _ response: String = "answer") throws -> Transaction {
        var request = try Request("http://h/", method: .post, body: body)
        request.fields[.contentType] = "application/x-www-form-urlencoded"
        var transaction = Transaction(request, began: 0)
        if body != nil { transaction.setBody(BodyCollector.contents(of: body)) }
        transaction.append(.response(Response(url: transaction.url, status: .ok)), at: .zero)
        transaction.append(.data(Array(response.utf8), count: response.utf8.count), at: .zero)
        transaction.append(.finished, at: .zero)
        return transaction
    }

    /// The text of the replayed response to a request with this body, or the name of the error code.
    private func outcome(_ body: Body?, from recording: Recording) throws -> String {
        var request = try Request("http://h/", method: .post, body: body)
        request.fields[.contentType] = "application/x-www-form-urlencoded"
        let delegate = RecordingDelegate()
        loader(ReplayHandler(recording), StubHandler { _ in .text("") }).task(for: request, delegate: delegate).resume()
        return delegate.error?.code.description ?? delegate.text
    }

    @Test(
        arguments: [
            (nil, nil, true), (nil, "", true), ("", nil, true), (nil, "abc", false), ("abc", nil, false), ("abc", "abc", true),
            ("abc", "abd", false), ("password=x", "password=another", true), ("password=x", nil, false), ("password=x", "", false),
        ] as [(String?, String?, Bool)], Recording.Form.allCases)
    func requestsMatchIfTheirBodiesMatch(row: (recordedBody: String?, sentBody: String?, matches: Bool), form: Recording.Form) throws {
        var recording = Recording()
        recording.add(try transaction(row.recordedBody.map { .text($0) }))
        let parsedRecording = try Recording(parsing: recording.bytes(as: form))
        #expect(try outcome(row.sentBody.map { .text($0) }, from: parsedRecording) == (row.matches ? "answer" : "notFound"))
    }

    /// For a body that did not fit in the file, the file contains a digest.
    @Test(arguments: Recording.Form.allCases) func omittedBodyIsComparedByItsDigest(form: Recording.Form) throws {
        let text = "password=hidden&a=" + String(repeating: "x", count: 9000)
        var recording = Recording()
        recording.add(try transaction(.text(text), String(repeating: "y", count: 9000)))
        let file = recording.file(as: form, limit: 3000)
        #expect(file.entriesWithoutBody == 1)
        let parsedRecording = try Recording(parsing: file.bytes)
        #expect(parsedRecording.transactions.first?.body == nil)
        for (body, outcome) in [
            (text, "truncated"), (text.replacing("hidden", with: "another"), "truncated"), (text + "x", "notFound"),
            (text.replacing("a=x", with: "a=y"), "notFound"), ("", "notFound"),
        ] {
            #expect(try self.outcome(.text(body), from: parsedRecording) == outcome)
        }
        #expect(try outcome(nil, from: parsedRecording) == "notFound")
    }

    /// Earlier releases and browsers write only the size of the body.
    @Test(
        arguments: [
            (#""bodySize":3"#, "abc", true), (#""bodySize":3"#, "abcd", false), (#""bodySize":3"#, nil, false),
            (#""bodySize":0"#, nil, true),
            (#""bodySize":0"#, "abc", false), (#""bodySize":-1"#, "abc", true), (#""bodySize":"""#, "abc", true), (#""x":0"#, "abc", true),
            (#""bodySize":0,"postData":{"mimeType":"","params":[]}"#, "abc", true),
        ] as [(String, String?, Bool)])
    func onlyTheSizeIsComparedIfNothingElseIsKnown(member: String, sentBody: String?, matches: Bool) throws {
        let entry = #"{"request":{"method":"POST","url":"http://h/",\#(member)},"response":{"status":200,"content":{"text":"answer"}}}"#
        let recording = try Recording(parsing: Array(#"{"log":{"entries":[\#(entry)]}}"#.utf8))
        #expect(try outcome(sentBody.map { .text($0) }, from: recording) == (matches ? "answer" : "notFound"))
    }

    /// A redirect that keeps the method keeps the body.
    @Test(arguments: [
        (307, "POST", "abc", "answer"), (307, "POST", "abcd", "notFound"), (303, "GET", nil, "answer"), (303, "GET", "abc", "notFound"),
    ])
    func redirectThatKeepsTheMethodKeepsTheBody(status: Int, method: String, sentBody: String?, outcome: String) throws {
        let events = #"""
            {"event":"started","url":"http://h/a","method":"POST","bodyBytes":3},
            {"event":"redirect","status":\#(status),"url":"http://h/"},
            {"event":"response","status":200},{"event":"data","bytes":6,"base64":"YW5zd2Vy"},{"event":"finished"}
            """#
        let recording = try Recording(parsing: Array(#"{"loads":[{"events":[\#(events)]}]}"#.utf8))
        var request = try Request("http://h/", body: sentBody.map { .text($0) })
        request.method = try #require(HTTPRequest.Method(method))
        let delegate = RecordingDelegate()
        loader(ReplayHandler(recording), StubHandler { _ in .text("") }).task(for: request, delegate: delegate).resume()
        #expect((delegate.error?.code.description ?? delegate.text) == outcome)
    }

    /// An entry that another process has recorded for another body does not match this request.
    @Test func entriesForOtherBodiesAreAdded() throws {
        var recording = Recording()
        recording.add(try transaction(.text("abc")))
        recording.add([try transaction(nil), try transaction(.text("abc")), try transaction(.text("abcd"))], besidesFirst: 0)
        #expect(recording.transactions.map(\.bodyLength) == [3, 0, 4])
        recording = Recording()
        recording.add(try transaction(nil))
        recording.add([try transaction(.text("abc")), try transaction(nil)], besidesFirst: 0)
        #expect(recording.transactions.map(\.bodyLength) == [0, 3])
    }
}
