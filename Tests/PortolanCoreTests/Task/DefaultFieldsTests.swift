// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct DefaultFieldsTests {
    /// A handler that responds with the fields of the request, one line each.
    private static let handler = StubHandler { request in
        if request.url.path == "/away" { return .redirect(to: try URLRecord(parsing: "x://other/")) }
        return .text(request.fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: "\n"))
    }

    private static func loader() -> Loader {
        PortolanTestSupport.loader(handler) {
            $0.baseURL = try? URLRecord(parsing: "x://h/v1/")
            $0.defaultFields = [.userAgent: "me/1", .authorization: "Bearer secret", .accept: "a/b"]
            $0.defaultFields.append(HTTPField(name: .accept, value: "c/d"))
        }
    }

    private func fields(_ request: Request) async throws -> String {
        String(decoding: try await Self.loader().data(for: request).0, as: UTF8.self)
    }

    @Test func requestHasTheFieldsThatItDoesNotSetItself() async throws {
        #expect(try await fields(Request("x://h/")) == "User-Agent: me/1\nAuthorization: Bearer secret\nAccept: a/b\nAccept: c/d")
        #expect(
            try await fields(Request("x://h/", fields: [.accept: "own", .userAgent: ""]))
                == "Accept: own\nUser-Agent: \nAuthorization: Bearer secret")
    }

    @Test func credentialsDoNotFollowARedirectToAnotherOrigin() async throws {
        #expect(try await fields(Request("x://h/away")) == "User-Agent: me/1\nAccept: a/b\nAccept: c/d")
    }

    /// RFC 3986 §5, WHATWG URL
    @Test(
        arguments: [
            ("users/7", "x://h/v1/users/7"), ("/users/7", "x://h/users/7"), ("?q=1", "x://h/v1/?q=1"), ("", "x://h/v1/"),
            ("y://other/a", "y://other/a"),
            ("//other/a", "x://other/a"), ("../a", "x://h/a"),
        ])
    func relativeURLRefersToTheBase(text: String, url: String) throws {
        #expect(try Self.loader().makeRequest(text).url.string == url)
    }

    @Test func callsWithATextUseTheBase() async throws {
        #expect(try await Self.loader().data(from: "users/7").1.url.string == "x://h/v1/users/7")
        #expect(try await Self.loader().bytes(from: "users/7").1.url.string == "x://h/v1/users/7")
    }

    @Test func relativeURLWithoutABaseIsBad() throws {
        let error = try #require(throws: LoadError.self) { try PortolanTestSupport.loader(Self.handler).makeRequest("users/7") }
        #expect(error.code == .badURL)
    }
}
