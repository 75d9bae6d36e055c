// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Testing

@testable import PortolanCore

/// Redirect responses that a handler delivers as responses, without `wasRedirected`.
@Suite(.timeLimit(.minutes(10))) struct RedirectTargetTests {
    /// A handler that responds to `x://h/` with this status and these Location fields, and to all other URLs with a
    /// text.
    private static func handler(_ status: Int, _ locations: [String], body: String = "moved") -> StubHandler {
        StubHandler(identifier: "answering") { request in
            guard request.url.path == "/" else { return .text("landed") }
            var response = StubResponse.text(body)
            response.status = .init(code: status)
            for location in locations { response.fields.append(HTTPField(name: .location, value: location)) }
            return response
        }
    }

    @Test(arguments: [[""], ["", ""]])
    func emptyLocationIsNoRedirect(locations: [String]) async throws {
        let (body, response) = try await loader(Self.handler(302, locations)).data(from: "x://h/")
        #expect(String(decoding: body, as: UTF8.self) == "moved" && response.status?.code == 302)
    }

    @Test(
        arguments: [301, 302, 303, 307, 308],
        [["http://a:99999/"], ["http://"], ["http://a b/"], ["http://[::1"], ["x://h/a", "x://h/b"]])
    func invalidLocationFailsTheLoad(status: Int, locations: [String]) async throws {
        let loader = loader(Self.handler(status, locations))
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x://h/") }
        #expect(error.code == .badRedirect)
        #expect(error.message.hasPrefix("the redirect (\(status)) from 'x://h/' can't be followed: "), "\(error)")
    }

    /// The bytes of a Location field and their form in the URL. Not all of them are UTF-8.
    @Test(
        arguments: [
            ([0xFF], "%FF"), ([0xC3, 0xA4], "%C3%A4"), ([0xC3, 0xA4, 0xE4], "%C3%A4%E4"), ([0x25, 0x45, 0x32, 0xE2], "%E2%E2"),
        ] as [([UInt8], String)])
    func locationBytesArePercentEncodedUnchanged(bytes: [UInt8], text: String) throws {
        for prefix in ["x://h/a", "?", "/b?", "#"] {
            let field = HTTPField(name: .location, value: Array(prefix.utf8) + bytes)
            var response = Response(url: try URLRecord(parsing: "x://h/"), status: .found)
            response.fields.append(field)
            guard case .url(let url) = RedirectTarget(of: response) else {
                Issue.record("no target")
                continue
            }
            #expect(url.description.hasSuffix(prefix + text), "\(url)")
        }
    }

    @Test func invalidLocationMessageIsShortPrintableAndHidesThePassword() async throws {
        let location = "http://h:99999/\u{9B}31m\u{202E}" + String(repeating: "a", count: 60_000)
        let handlerWithLongLocation = Self.handler(302, [location])
        let error = try await #require(throws: LoadError.self) { try await loader(handlerWithLongLocation).data(from: "x://h/") }
        #expect(error.message.utf8.count < 400)
        #expect(
            !error.message.unicodeScalars.contains { $0.properties.generalCategory == .control || $0.properties.generalCategory == .format }
        )
        let handlerWithPassword = Self.handler(302, ["http://me:s3cr3t@h:99999/"])
        let passwordError = try await #require(throws: LoadError.self) { try await loader(handlerWithPassword).data(from: "x://h/") }
        #expect(!passwordError.message.contains("s3cr3t"))
    }

    @Test(arguments: [
        (302, [String]()), (200, ["http://a:99999/"]), (304, ["http://a:99999/"]), (300, ["http://a:99999/"]), (302, ["x://h/a"]),
    ])
    func responsesThatDoNotRedirectAreDelivered(status: Int, locations: [String]) async throws {
        let (body, response) = try await loader(Self.handler(status, locations)).data(from: "x://h/")
        #expect(response.status?.code == status)
        #expect(String(decoding: body, as: UTF8.self) == "moved")
    }

    @Test func manualModeDeliversAnInvalidRedirect() async throws {
        let loader = loader(Self.handler(302, ["http://a:99999/"])) { $0.redirects.mode = .manual }
        #expect(try await loader.data(from: "x://h/").1.status == .found)
    }

    @Test(arguments: [[String](), ["x://h/a"], ["http://a:99999/"]])
    func errorModeFailsOnEveryRedirectStatus(locations: [String]) async throws {
        let loader = loader(Self.handler(302, locations)) { $0.redirects.mode = .error }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x://h/") }
        #expect(error.code == .badRedirect)
    }
}
