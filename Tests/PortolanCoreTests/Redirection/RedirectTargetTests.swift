// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

/// Redirect responses that a handler delivers as responses, without `wasRedirected`.
@Suite(.timeLimit(.minutes(10))) struct RedirectTargetTests {
    /// A handler that responds to `x://h/` with this status and these locations, and to all other URLs with a text.
    private static func responding(_ status: Int, _ locations: [String], body: String = "moved") -> StubHandler {
        StubHandler(identifier: "answering") { request in
            guard request.url.path == "/" else { return .text("landed") }
            var response = StubResponse.text(body)
            response.status = .init(code: status)
            for location in locations { response.fields.append(HTTPField(name: .location, value: location)) }
            return response
        }
    }

    @Test(
        arguments: [301, 302, 303, 307, 308],
        [["http://a:99999/"], ["http://"], ["http://a b/"], ["http://[::1"], ["x://h/a", "x://h/b"]])
    func invalidLocationFailsTheLoad(status: Int, locations: [String]) async throws {
        let loader = loader(Self.responding(status, locations))
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x://h/") }
        #expect(error.code == .badRedirect)
        #expect(error.message.hasPrefix("the redirect (\(status)) from 'x://h/' can't be followed: "), "\(error)")
    }

    /// Targets with bytes that are UTF-8, and with bytes that are not.
    @Test(
        arguments: [
            ([0xFF], "%FF"), ([0xC3, 0xA4], "%C3%A4"), ([0xC3, 0xA4, 0xE4], "%C3%A4%E4"), ([0x25, 0x45, 0x32, 0xE2], "%E2%E2"),
        ] as [([UInt8], String)])
    func locationBytesArePercentEncodedUnchanged(bytes: [UInt8], text: String) throws {
        for place in ["x://h/a", "?", "/b?", "#"] {
            let field = HTTPField(name: .location, value: Array(place.utf8) + bytes)
            var response = Response(url: try URLRecord(parsing: "x://h/"), status: .found)
            response.fields.append(field)
            guard case .url(let url) = RedirectTarget(of: response) else {
                Issue.record("no target")
                continue
            }
            #expect(url.description.hasSuffix(place + text), "\(url)")
        }
    }

    @Test func invalidLocationMessageIsShortPrintableAndHidesThePassword() async throws {
        let location = "http://h:99999/\u{9B}31m\u{202E}" + String(repeating: "a", count: 60_000)
        let long = Self.responding(302, [location])
        let error = try await #require(throws: LoadError.self) { try await loader(long).data(from: "x://h/") }
        #expect(error.message.utf8.count < 400)
        #expect(
            !error.message.unicodeScalars.contains { $0.properties.generalCategory == .control || $0.properties.generalCategory == .format }
        )
        let secret = Self.responding(302, ["http://me:s3cr3t@h:99999/"])
        let other = try await #require(throws: LoadError.self) { try await loader(secret).data(from: "x://h/") }
        #expect(!other.message.contains("s3cr3t"))
    }

    @Test(arguments: [
        (302, [String]()), (200, ["http://a:99999/"]), (304, ["http://a:99999/"]), (300, ["http://a:99999/"]), (302, ["x://h/a"]),
    ])
    func responsesThatAreNoRedirectsAreDelivered(status: Int, locations: [String]) async throws {
        let (body, response) = try await loader(Self.responding(status, locations)).data(from: "x://h/")
        #expect(response.status?.code == status)
        #expect(String(decoding: body, as: UTF8.self) == "moved")
    }

    @Test func manualModeDeliversAnInvalidRedirect() async throws {
        let loader = loader(Self.responding(302, ["http://a:99999/"])) { $0.redirects.mode = .manual }
        #expect(try await loader.data(from: "x://h/").1.status == .found)
    }

    @Test(arguments: [[String](), ["x://h/a"], ["http://a:99999/"]])
    func errorModeFailsOnEveryRedirectStatus(locations: [String]) async throws {
        let loader = loader(Self.responding(302, locations)) { $0.redirects.mode = .error }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x://h/") }
        #expect(error.code == .badRedirect)
    }
}
