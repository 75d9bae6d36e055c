// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The nested request of the gzip plugin, and the response that it delivers.
@Suite(.timeLimit(.minutes(2))) struct GzipMessageTests {
    private static let file = GzipSample().member(Array("Ahoy\n".utf8))

    /// Returns a harness whose `inner:` handler records the request and responds with a gzip file. `edit` changes the
    /// response.
    private func harness(
        _ nestedRequests: ConditionLock<[Request]> = ConditionLock([]), _ edit: @escaping @Sendable (inout StubResponse) -> Void = { _ in }
    ) throws -> GzipHarness {
        try GzipHarness(
            PortolanTestSupport.StubHandler(schemes: .only(["inner"])) { request in
                nestedRequests.withLock { $0.append(request) }
                var response = StubResponse.pieces([Self.file])
                edit(&response)
                return response
            })
    }

    @Test func responseDoesNotDescribeTheCompressedFile() throws {
        let harness = try harness {
            $0.mimeType = MIMEType(parsing: "application/gzip")
            $0.fields[.contentType] = "application/gzip"
            $0.status = .ok
        }
        let response = try harness.response(to: Request("gzip:inner://u/chart.txt.gz?x=1#legend"))
        #expect(response.url.description == "gzip:inner://u/chart.txt.gz?x=1#legend")
        #expect(response.mimeType == nil)
        #expect(response.expectedLength == nil)
        #expect(response.fields.isEmpty)
        #expect(response.status == .ok)
        #expect(harness.violations.isEmpty)
    }

    @Test(arguments: [
        ("chart.txt.gz", "chart.txt"), ("CHART.GZ", "CHART"), ("chart.z", "chart"), ("chart.tgz", "chart.tar"), ("chart.txt", "chart.txt"),
        (".gz", ".gz"), ("a.TGZ", "a.tar"), ("chart.tar.gz", "chart.tar"),
    ])
    func suggestedFilenameLosesTheGzipExtension(_ name: String, _ expected: String) throws {
        let response = try harness().response(to: Request("gzip:inner://u/\(name)"))
        #expect(response.suggestedFilename == expected)
    }

    @Test(arguments: ["gzip:inner:x?a=b&c", "gzip:inner:x?a=b&c#part", "GZIP:inner:x?a=b&c#"])
    func nestedRequestHasTheQueryButNotTheFragment(_ url: String) throws {
        let nestedRequests = ConditionLock<[Request]>([])
        _ = try harness(nestedRequests).response(to: Request(url))
        #expect(nestedRequests.withLock { $0.map(\.url.description) } == ["inner:x?a=b&c"])
    }

    @Test func nestedRequestHasNoFieldsAndNoBody() throws {
        let nestedRequests = ConditionLock<[Request]>([])
        var request = try Request("gzip:inner:x")
        request.fields[.range] = "bytes=1-2"
        request.fields[.ifNoneMatch] = "\"tag\""
        request.fields[.acceptEncoding] = "br"
        request.body = .bytes([1, 2, 3])
        _ = try harness(nestedRequests).response(to: request)
        let nestedRequest = try #require(nestedRequests.withLock { $0.first })
        #expect(nestedRequest.fields.isEmpty)
        #expect(nestedRequest.body == nil)
        #expect(nestedRequest.method == .get)
    }

    @Test func responseToHEADHasNoBody() throws {
        let nestedRequests = ConditionLock<[Request]>([])
        let harness = try harness(nestedRequests) { $0.pieces = [] }
        let (body, response) = try harness.loader.waitForData(for: Request("gzip:inner://u/chart.gz", method: .head))
        #expect(body.isEmpty)
        #expect(response.suggestedFilename == "chart")
        #expect(nestedRequests.withLock { $0.map(\.method) } == [.head])
        #expect(harness.violations.isEmpty)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete])
    func methodsExceptGETAndHEADAreRefused(_ method: HTTPRequest.Method) throws {
        let nestedRequests = ConditionLock<[Request]>([])
        let error = #expect(throws: LoadError.self) { try harness(nestedRequests).response(to: Request("gzip:inner:x", method: method)) }
        #expect(error?.code == .badRequest)
        #expect(nestedRequests.withLock { $0.isEmpty })
    }

    @Test(arguments: ["gzip:", "gzip:file.gz", "gzip:/folder/file.gz", "gzip://u:s3cr3t@host/file.gz", "gzip:?x:y", "gzip:#data:,x"])
    func urlWithoutAnAbsoluteNestedURLIsABadURL(_ url: String) throws {
        let error = try #require(harness().load(url).error)
        #expect(error.code == .badURL)
        #expect(error.underlyingError == nil)
        #expect(error.message.contains("write it as in gzip:") && !error.message.contains("s3cr3t"))
    }

    @Test func malformedNestedURLIsABadURL() throws {
        let error = try #require(harness().load("gzip:http://u:s3cr3t@x%20y/").error)
        #expect(error.codes == [.badURL, .badURL])
        #expect(!"\(error)".contains("s3cr3t"))
    }

    @Test func unknownNestedSchemeIsUnsupported() throws {
        #expect(try harness().load("gzip:nobody:x").error?.code == .unsupportedScheme)
    }

    @Test(arguments: [
        (206, LoadError.Code.badResponse), (302, .badResponse), (401, .authenticationRequired), (403, .accessDenied), (404, .notFound),
        (410, .notFound), (500, .badResponse),
    ])
    func unsuccessfulStatusFails(_ status: Int, _ code: LoadError.Code) throws {
        let harness = try harness { $0.status = .init(code: status) }
        let error = try #require(harness.load().error)
        #expect(error.code == code)
        #expect(error.message.contains("status \(status)"))
        #expect(harness.violations.isEmpty)
    }
}
