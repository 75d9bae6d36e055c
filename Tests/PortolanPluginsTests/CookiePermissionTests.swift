// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCookies
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Loads of the fixture `cookies`, whose handler sets PORTOLAN_COOKIES, with and without the permission in the
/// manifest.
@Suite(.timeLimit(.minutes(1))) struct CookiePermissionTests {
    private let folder: TestFolder
    private let log = RecordingLog()
    private let storage = CookieStorage()

    init() throws { folder = try TestFolder() }

    private func loader(permissions: String?) throws -> Loader {
        try folder.plugin(
            "all/jar", ManifestText.of("org.portolan.jar", scheme: "jar", more: ["permissions": permissions]), fixture: "cookies")
        let registry = ProtocolRegistry()
        PluginCatalogue(searching: PluginSearchPath([folder("all")]), logger: log.logger).register(in: registry)
        var configuration = Loader.Configuration()
        configuration.cookies = storage
        return Loader(configuration: configuration, registry: registry)
    }

    private func text(_ loader: Loader, _ url: String) async throws -> String {
        String(decoding: try await loader.data(from: url).0, as: UTF8.self)
    }

    @Test func permittedLoadsStoreAndSendCookies() async throws {
        let loader = try loader(permissions: "[\"cookies\"]")
        #expect(try await text(loader, "jar://shop.example/?set=a=1") == "none")
        #expect(try await text(loader, "jar://shop.example/") == "a=1")
        #expect(try await text(loader, "jar://other.example/") == "none")
        #expect(log.all.allSatisfy { !$0.contains("cookies") })
    }

    @Test func cookieOfARedirectReachesTheTarget() async throws {
        let loader = try loader(permissions: "[\"cookies\"]")
        #expect(try await text(loader, "jar://shop.example/?set=a=1&to=jar://shop.example/next") == "a=1")
    }

    @Test func redirectToAnotherHostSendsNoCookie() async throws {
        let loader = try loader(permissions: "[\"cookies\"]")
        #expect(try await text(loader, "jar://shop.example/?set=a=1&to=jar://other.example/") == "none")
    }

    @Test func secureCookieNeedsASecureScheme() async throws {
        let loader = try loader(permissions: "[\"cookies\"]")
        _ = try await text(loader, "jar://shop.example/?set=a=1;Secure")
        #expect(storage.isEmpty)
    }

    @Test(arguments: [nil, "[]"])
    func loadsWithoutThePermissionSendAndStoreNoCookies(permissions: String?) async throws {
        let loader = try loader(permissions: permissions)
        #expect(try await text(loader, "jar://shop.example/?set=a=1") == "none")
        #expect(storage.isEmpty)
        #expect(try await text(loader, "jar://shop.example/") == "none")
        let warnings = log.all.filter { $0.hasPrefix("warning org.portolan.jar: ") }
        #expect(
            warnings == [
                "warning org.portolan.jar: the handler org.portolan.jar sets PORTOLAN_COOKIES, but the plugin does not have the permission 'cookies': its loads send and store no cookies; add \"permissions\": [\"cookies\"] to the plugin's manifest"
            ])
    }

    @Test func requestWithoutCookieHandlingSendsAndStoresNone() async throws {
        let loader = try loader(permissions: "[\"cookies\"]")
        var request = try Request("jar://shop.example/?set=a=1")
        request.handlesCookies = false
        _ = try await loader.data(for: request)
        #expect(storage.isEmpty)
    }

    /// The fixture `descriptor-any_scheme` sets PORTOLAN_COOKIES, too.
    @Test func handlerOfAnySchemeHasNoCookies() throws {
        let handler = try #require(Plugin(contentsOf: Fixtures.path("descriptor-any_scheme"), permissions: [.cookies]).handlers.first)
        #expect(handler.schemes == .any && !handler.traits.contains(.cookies))
    }

    @Test func handlerOfTheSwiftKitCanRequestCookies() throws {
        guard let entry = unsafe PluginKitTestHandler.entry(contractMajor: PORTOLAN_ABI_MAJOR) else {
            Issue.record("the kit has no entry")
            return
        }
        let descriptor = unsafe try PluginDescriptor(entry.pointee)
        let requestsCookies = descriptor.handlers.map(\.requestsCookies)
        #expect(requestsCookies == [true])
    }

    @Test func pluginWithoutAManifestGetsItsPermissionsFromTheCaller() throws {
        let handler = try #require(Plugin(contentsOf: Fixtures.path("cookies"), permissions: [.cookies]).handlers.first)
        #expect(handler.traits.contains(.cookies))
    }
}
