// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// When the host opens a library, and what it checks.
@Suite(.timeLimit(.minutes(2))) struct OpeningTests {
    private let folder: TestFolder
    private let log = RecordingLog()

    init() throws {
        folder = try TestFolder()
        try folder.folder("all")
    }

    private func catalogue(_ policy: PluginPolicy = PluginPolicy()) -> PluginCatalogue {
        PluginCatalogue(searching: PluginSearchPath([folder("all")]), policy: policy, logger: log.logger)
    }

    private func loader(_ policy: PluginPolicy = PluginPolicy()) -> Loader {
        let registry = ProtocolRegistry()
        catalogue(policy).register(in: registry)
        return Loader(configuration: .init(), registry: registry)
    }

    private func greeting(_ loader: Loader) async throws -> String {
        String(decoding: try await loader.data(from: "template://greet/sea").0, as: UTF8.self)
    }

    private func expectFailure(_ loader: Loader, _ errorText: String, sourceLocation: SourceLocation = #_sourceLocation) async {
        let error = await #expect(throws: LoadError.self, sourceLocation: sourceLocation) { try await greeting(loader) }
        #expect(error?.code == .pluginNotLoadable, sourceLocation: sourceLocation)
        #expect(error?.message.contains(errorText) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
        #expect(error?.message.contains("\n") == false, sourceLocation: sourceLocation)
    }

    @Test func libraryIsOpenedAtTheFirstRequestForItsScheme() async throws {
        try folder.plugin("all/broken", ManifestText.of("org.broken", scheme: "broken"))
        try folder.file("all/broken/plugin.so", "no library")
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let loader = loader()
        #expect(loader.schemes == ["broken", "template"])
        #expect(log.all.isEmpty)
        for _ in 0..<2 { #expect(try await greeting(loader) == "Hello, sea!\n") }
        #expect(log.all.filter { $0.hasSuffix("opened") } == ["debug org.portolan.template: opened"])
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "broken:1") }
        #expect(error?.message.contains("not a shared library (ELF)") == true)
    }

    @Test func restoredLibraryIsOpened() async throws {
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let loader = loader()
        try folder.remove("all/template/plugin.so")
        for _ in 0..<2 {
            await expectFailure(
                loader,
                "\(folder("all/template/plugin.so")): DESC-01: the library of org.portolan.template is missing, but its manifest exists")
        }
        try folder.file("all/template/plugin.so", "no library")
        await expectFailure(loader, "not a shared library")
        try folder.library("all/template/plugin.so", "template")
        #expect(try await greeting(loader) == "Hello, sea!\n")
    }

    @Test func failedOpeningIsRetriedOnlyAfterAFileChanged() throws {
        try folder.plugin("all/template", ManifestText.template(), fixture: "descriptor")
        let provider = InstalledPluginProvider(try #require(catalogue().plugins.first), logger: log.logger)
        let firstError = #expect(throws: LoadError.self) { try provider.makeHandlers() }
        #expect(firstError?.message.contains("MANIF-02") == true)
        // A second attempt would fail with another error, so the same message shows that the host did not try again.
        try folder.chmod("", 0o777)
        #expect(#expect(throws: LoadError.self) { try provider.makeHandlers() }?.message == firstError?.message)
        try folder.chmod("all/template/plugin.so", 0o700)
        #expect(#expect(throws: LoadError.self) { try provider.makeHandlers() }?.message.contains("MANIF-09") == true)
    }

    @Test func failedOpeningIsRetriedAfterFiveSeconds() throws {
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let clock = ManualClock()
        let provider = InstalledPluginProvider(try #require(catalogue().plugins.first), logger: log.logger, clock: clock)
        try folder.chmod("", 0o777)
        let error = #expect(throws: LoadError.self) { try provider.makeHandlers() }
        #expect(error?.message.contains("MANIF-09") == true)
        // None of the checked files changes.
        try folder.chmod("", 0o700)
        clock.advance(by: .milliseconds(4_999))
        #expect(#expect(throws: LoadError.self) { try provider.makeHandlers() }?.message == error?.message)
        clock.advance(by: .milliseconds(1))
        #expect(try provider.makeHandlers().count == 1)
    }

    @Test func libraryIsOpenedAfterItsPermissionsAreCorrected() async throws {
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let loader = loader()
        for name in ["all/template/plugin.so", "all/template"] {
            try folder.chmod(name, 0o777)
            await expectFailure(loader, "\(folder(name)): MANIF-09: it is writable by everybody")
            try folder.chmod(name, 0o755)
        }
        #expect(try await greeting(loader) == "Hello, sea!\n")
    }

    @Test(arguments: [
        (
            ManifestText.of("org.other", scheme: "template"),
            "its identifier is org.other, but its library plugin.so has org.portolan.template; make them the same"
        ),
        (
            ManifestText.of("org.portolan.template", schemes: #"["template", "more"]"#),
            "its schemes are more, template, but its library plugin.so has template;"
        ),
        (
            ManifestText.of("org.portolan.template", schemes: #""any""#),
            "its schemes are any, but its library plugin.so has template;"
        ),
    ])
    func manifestThatDisagreesWithItsLibraryIsReported(manifest: String, errorText: String) async throws {
        try folder.plugin("all/a", manifest, fixture: "template")
        await expectFailure(loader(), "\(folder("all/a/a.plugin.json")): MANIF-02: \(errorText)")
    }

    @Test func anInterposerIsOpenedForARequestOfAnyScheme() async throws {
        try folder.plugin("all/any", ManifestText.of("org.portolan.variant", schemes: #""any""#), fixture: "descriptor-any_scheme")
        let loader = loader()
        #expect(loader.schemes.isEmpty)
        #expect(try await loader.data(from: "whatever:1").0.isEmpty)
        #expect(log.all.contains("debug org.portolan.variant: opened"))
    }

    @Test func unusableInterposerDoesNotPreventOtherPlugins() async throws {
        try folder.plugin("all/any", ManifestText.of("org.portolan.any", schemes: #""any""#))
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        #expect(try await greeting(loader()) == "Hello, sea!\n")
    }

    @Test func libraryOutsideTheFolderIsRefused() async throws {
        try folder.plugin("all/template", ManifestText.template())
        try folder.library("outside.so", "template")
        try folder.link("all/template/plugin.so", to: "../../outside.so")
        await expectFailure(loader(), "\(folder("all/template/plugin.so")): MANIF-03: the library is a link to '\(folder("outside.so"))'")
        // A sibling folder whose name starts with the manifest's folder name is a different folder.
        try folder.folder("all/template-2")
        try folder.library("all/template-2/real.so", "template")
        try folder.remove("all/template/plugin.so")
        try folder.link("all/template/plugin.so", to: "../template-2/real.so")
        await expectFailure(loader(), "MANIF-03")
    }

    @Test func linkInsideTheFolderIsAccepted() async throws {
        try folder.plugin("all/template", ManifestText.template())
        try folder.library("all/template/real.so", "template")
        try folder.link("all/template/plugin.so", to: "real.so")
        #expect(try await greeting(loader()) == "Hello, sea!\n")
    }

    @Test func libraryMustBeARegularFile() async throws {
        try folder.plugin("all/template", ManifestText.template())
        try folder.pipe("all/template/pipe")
        let errorText = "DESC-01: the library of org.portolan.template is not a regular file; build or install it again"
        try folder.link("all/template/plugin.so", to: "pipe")
        await expectFailure(loader(), errorText)
        try folder.remove("all/template/plugin.so")
        try folder.folder("all/template/plugin.so")
        await expectFailure(loader(), errorText)
    }

    // MARK: Pins

    /// The digest of "abc" is the example of FIPS 180-4.
    @Test func digestIsSHA256OfTheWholeFile() throws {
        try folder.plugin("all/a", ManifestText.template())
        #expect(catalogue().plugins.first?.libraryDigest == nil)
        try folder.file("all/a/plugin.so", "abc")
        #expect(catalogue().plugins.first?.libraryDigest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func matchingPinIsAccepted() async throws {
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let digest = try #require(catalogue().plugins.first?.libraryDigest)
        try folder.plugin("all/template", ManifestText.template(["sha256": "\"\(digest.uppercased())\""]))
        var policy = PluginPolicy()
        policy.pins = [("org.portolan.template", digest.uppercased()), ("org.other", String(repeating: "0", count: 64))]
        #expect(try await greeting(loader(policy)) == "Hello, sea!\n")
    }

    @Test func differingPinIsReportedWithBothDigests() async throws {
        let otherDigest = String(repeating: "0f", count: 32)
        try folder.plugin("all/template", ManifestText.template(), fixture: "template")
        let digest = try #require(catalogue().plugins.first?.libraryDigest)
        let errorText = "MANIF-04: the library's SHA-256 is \(digest), but \(otherDigest) is pinned"
        var policy = PluginPolicy()
        policy.pins = [("org.portolan.template", digest), ("org.portolan.template", otherDigest)]
        await expectFailure(loader(policy), errorText)
        try folder.plugin("all/template", ManifestText.template(["sha256": "\"\(otherDigest)\""]))
        await expectFailure(loader(), errorText)
    }
}
