// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanContent
import PortolanCore
import PortolanTestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct MultipartFormTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [1, 7, 1000])
    func partsHaveTheFormOfRFC7578(capacity: Int) async throws {
        let path = try folder.write(Array("PNG".utf8), to: "chart.png")
        var form = MultipartForm(boundary: "B")
        form.append("title", "Chart\nof the coast")
        try form.append("chart", file: path, contentType: MIMEType(parsing: "image/png"))
        try form.append("raw", file: path, filename: "x")
        form.append("data", body: .bytes([1, 2]), fields: [.contentType: "x/y", .contentDisposition: "form-data; name=evil"])
        let expected = """
            --B\r
            Content-Disposition: form-data; name="title"\r
            \r
            Chart\nof the coast\r
            --B\r
            Content-Disposition: form-data; name="chart"; filename="chart.png"\r
            Content-Type: image/png\r
            \r
            PNG\r
            --B\r
            Content-Disposition: form-data; name="raw"; filename="x"\r
            Content-Type: application/octet-stream\r
            \r
            PNG\r
            --B\r
            Content-Disposition: form-data; name="data"\r
            Content-Type: x/y\r
            \r
            \u{1}\u{2}\r
            --B--\r

            """
        let body = form.body
        #expect(body.length == Int64(expected.utf8.count) && body.isRewindable)
        for _ in 0..<2 { #expect(try await body.text(capacity: capacity) == expected) }
    }

    /// HTML, "multipart/form-data encoding algorithm": line breaks in the name of a field become CRLF, in the name of a
    /// file they stay.
    @Test(
        arguments: [
            ("plain", "plain", "plain"), ("a\"b", "a%22b", "a%22b"), ("é\u{1F5FA}\\%'", "é\u{1F5FA}\\%'", "é\u{1F5FA}\\%'"), ("", "", ""),
            ("\n", "%0D%0A", "%0A"), ("\r", "%0D%0A", "%0D"), ("\r\n", "%0D%0A", "%0D%0A"),
            ("\r\r\n\n", "%0D%0A%0D%0A%0D%0A", "%0D%0D%0A%0A"),
            ("\n\r", "%0D%0A%0D%0A", "%0A%0D"), ("\"\r\nX: y", "%22%0D%0AX: y", "%22%0D%0AX: y"),
        ])
    func namesCannotEndTheirLine(name: String, fieldName: String, filename: String) async throws {
        var form = MultipartForm(boundary: "B")
        form.append(name, body: .text(""), filename: name)
        let text = try await form.body.text()
        #expect(text == "--B\r\nContent-Disposition: form-data; name=\"\(fieldName)\"; filename=\"\(filename)\"\r\n\r\n\r\n--B--\r\n")
    }

    @Test func partOfAnyBodyHasTheGivenHead() async throws {
        var form = MultipartForm(boundary: "B")
        form.append(nil, name: "ignored", filename: nil, fields: [.contentDisposition: "x"], body: .text("1"))
        form.append(.attachment, name: "n", filename: "f", fields: [.contentType: "a/b"], body: .text("2"))
        form.append(.formData, name: nil, filename: nil, fields: [:], body: .text("3"))
        let expected = """
            --B\r
            Content-Disposition: x\r
            \r
            1\r
            --B\r
            Content-Disposition: attachment; name="n"; filename="f"\r
            Content-Type: a/b\r
            \r
            2\r
            --B\r
            Content-Disposition: form-data\r
            \r
            3\r
            --B--\r

            """
        #expect(try await form.body.text() == expected)
    }

    @Test func formWithoutPartsIsOnlyItsEnd() async throws {
        #expect(try await MultipartForm(boundary: "B").body.text() == "--B--\r\n")
    }

    /// A copy of a form is another form with the same boundary, and a body is not changed afterwards.
    @Test func formsAreValues() async throws {
        var form = MultipartForm(boundary: "B")
        form.append("a", "1")
        let (copy, body) = (form, form.body)
        form.append("b", body: .text("2"))
        let onlyFirst = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n"
        #expect(try await copy.body.text() == onlyFirst)
        #expect(try await body.text() == onlyFirst)
        #expect(try await form.body.text().contains("name=\"b\""))
    }

    @Test func eachFormHasAnotherBoundary() throws {
        let boundaries = (0..<100).map { _ in MultipartForm().boundary }
        #expect(Set(boundaries).count == 100)
        // RFC 2046 §5.1.1. A boundary of these characters needs no quotes.
        for boundary in boundaries {
            // Requests have the length of curl's.
            #expect(boundary.hasPrefix(String(repeating: "-", count: 24)) && boundary.count == 40)
            #expect(boundary.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        }
        let form = MultipartForm()
        let request = try Request("x://h/", form: form)
        #expect(request.method == .post && request.field("Content-Type") == "multipart/form-data; boundary=\(form.boundary)")
    }

    @Test func streamMakesTheLengthUnknownAndTheFormUnrepeatable() async throws {
        let pipe = BodyWriter()
        var form = MultipartForm(boundary: "B")
        form.append("live", body: pipe.body())
        let body = form.body
        #expect(body.length == nil && !body.isRewindable)
        async let text = body.text()
        try await pipe.write(Array("streamed".utf8))
        pipe.finish()
        #expect(try await text.contains("\r\n\r\nstreamed\r\n--B--\r\n"))
    }

    /// The end of the load releases the writer of a part, also if its bytes were never read.
    @Test func discardedFormEndsItsStreams() async throws {
        let pipe = BodyWriter()
        var form = MultipartForm()
        form.append("live", body: pipe.body())
        form.body.discard()
        let error = try await #require(throws: LoadError.self) { try await pipe.write([1]) }
        #expect(error.code == .cancelled)
    }

    @Test func missingFileIsAnErrorAtOnce() throws {
        var form = MultipartForm()
        let error = try #require(throws: LoadError.self) { try form.append("a", file: folder.path(of: "none")) }
        #expect(error.code == .notFound)
    }

    /// A file that was changed after its length was promised fails the body.
    @Test func fileThatBecameShorterFailsTheBody() async throws {
        let path = try folder.write(Array("long".utf8), to: "f")
        var form = MultipartForm()
        try form.append("a", file: path)
        try folder.write(Array("l".utf8), to: "f")
        let body = form.body
        let error = try await #require(throws: LoadError.self) { try await body.allBytes() }
        #expect(error.code == .bodyFailed)
    }

    /// A redirect with the status 307 and a load that is tried again send the form a second time.
    @Test func formIsSentAgainAfterARedirect() async throws {
        var form = MultipartForm(boundary: "B")
        form.append("a", "1")
        let handler = AsyncHandler(identifier: "org.portolan.test", schemes: ["x"]) { request, client in
            let text = try await request.body?.text() ?? "no body"
            if request.url.path == "/" {
                var next = request
                next.url = try URLRecord(parsing: "x://h/b")
                try await client.wasRedirected(to: next, response: Response(url: request.url, status: .temporaryRedirect))
            }
            try await client.didReceive(Response(url: request.url))
            try await client.didLoad(text)
        }
        let (body, _) = try await loader(handler).data(for: try Request("x://h/", form: form))
        #expect(String(decoding: body, as: UTF8.self).hasSuffix("\r\n\r\n1\r\n--B--\r\n"))
    }
}
