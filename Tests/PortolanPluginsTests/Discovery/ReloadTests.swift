// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reloads of plugins: new loads use the new library file, and running loads finish with the old one.
@Suite(.timeLimit(.minutes(2))) struct ReloadTests {
    private let folder: TestFolder
    private let log = RecordingLog()
    private let registry = ProtocolRegistry()

    init() throws {
        folder = try TestFolder()
        try folder.folder("all")
    }

    private static let library = "all/generation/plugin.so"

    private static func manifest(_ more: [String: String?] = [:]) -> String {
        ManifestText.of("org.portolan.generation", scheme: "generation", more: more)
    }

    /// Registers the first build of the plugin.
    private func registerFirstBuild(copying: Bool = false) throws -> RegisteredPlugin {
        try folder.plugin("all/generation", Self.manifest(), fixture: "generation-1")
        let catalogue = PluginCatalogue(searching: PluginSearchPath([folder("all")]), policy: PluginPolicy(), logger: log.logger)
        var plugin = try #require(catalogue.plugins.first)
        plugin.copiesLibrary = copying
        return RegisteredPlugin(plugin, in: registry, logger: log.logger)
    }

    /// Installs a build as a linker does: creates a new file with the same name.
    private func installBuild(_ number: Int) throws {
        try folder.library(Self.library, "generation-\(number)")
    }

    /// Installs a build as cp(1) does: writes into the existing file.
    ///
    /// - Parameter truncatesFirst: whether to truncate the file first. This also removes relocated pages from memory,
    ///   so the old code can't be called any more.
    private func overwriteLibrary(with number: Int, truncatesFirst: Bool) throws {
        let bytes = try Data(contentsOf: URL(filePath: Fixtures.path("generation-\(number)")))
        let file = unsafe open(folder(Self.library), O_WRONLY | (truncatesFirst ? O_TRUNC : 0))
        defer { close(file) }
        try #require(unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) } == bytes.count)
    }

    private var loader: Loader { Loader(configuration: .init(), registry: registry) }

    /// The number of the build that serves a new load, `count` times.
    private func text(_ count: Int = 1) async throws -> String {
        String(decoding: try await loader.data(from: "generation://\(count)").0, as: UTF8.self)
    }

    /// Reloads the plugin on a thread that may block.
    private func reload(_ plugin: RegisteredPlugin) async throws {
        try await runOnLoadThread { () throws(LoadError) in _ = try plugin.reload() }
    }

    private func expectRefusal(_ plugin: RegisteredPlugin, _ errorText: String, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let error = await #expect(throws: LoadError.self, sourceLocation: sourceLocation) { try await reload(plugin) }
        #expect(error?.message.contains(errorText) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
        #expect(try await text() == "1 ", sourceLocation: sourceLocation)
        #expect(
            log.all.last { $0.hasPrefix("warning") }?.contains("the old version stays in use") == true, sourceLocation: sourceLocation
        )
    }

    // MARK: New file

    @Test(arguments: [true, false])
    func newLoadsUseTheNewFile(_ copying: Bool) async throws {
        let plugin = try registerFirstBuild(copying: copying)
        #expect(try await text() == "1 ")
        for number in [2, 3, 1, 2] {
            try installBuild(number)
            #expect(try await text() != "\(number) ", "nothing changes before the reload")
            try await reload(plugin)
            #expect(try await text() == "\(number) ")
        }
        log.wait { $0.count { $0.hasSuffix("ends") } == 4 }
        #expect(log.all.count { $0.hasSuffix("begins") } == 5)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder("all/generation")).sorted() == [
                "generation.plugin.json", "plugin.so",
            ])
    }

    @Test func reloadOfAnUnchangedFileStartsAnotherInstance() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        try await reload(plugin)
        #expect(try await text() == "1 ")
        log.wait { $0.contains("info org.portolan.generation: 1 ends") }
        #expect(log.all.count { $0.hasSuffix("1 begins") } == 2)
    }

    @Test func reloadOpensAPluginThatWasNeverOpened() async throws {
        let plugin = try registerFirstBuild()
        try installBuild(2)
        try await reload(plugin)
        #expect(try await text() == "2 ")
        #expect(!log.all.contains { $0.contains("1 begins") })
    }

    @Test func reloadReadsTheManifestAgain() async throws {
        let plugin = try registerFirstBuild()
        try folder.plugin("all/generation", Self.manifest(["version": "\"2.0.0\""]))
        try await reload(plugin)
        #expect(plugin.plugin.manifest.version.description == "2.0.0")
    }

    @Test func unregisteredPluginIsNotReloaded() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        await plugin.unregister().finished()
        let error = await #expect(throws: LoadError.self) { try await reload(plugin) }
        #expect(error?.message == "org.portolan.generation was removed from its registry; register it again")
        #expect(registry.handlers.isEmpty)
    }

    @Test func registeringACatalogueReturnsItsPlugins() async throws {
        _ = try registerFirstBuild()
        try folder.plugin("all/other", ManifestText.template())
        let plugins = PluginCatalogue(searching: PluginSearchPath([folder("all")]), policy: PluginPolicy(), logger: log.logger)
            .register(in: ProtocolRegistry())
        #expect(plugins.map(\.plugin.identifier) == ["org.portolan.generation", "org.portolan.template"])
    }

    // MARK: Old file

    /// Reads the first part of a long body, then replaces the library and reloads the plugin. The old plugin delivers
    /// the rest of the body, and then ends.
    ///
    /// - Returns: the numbers of the builds that delivered the body.
    private func readAcrossReload(copying: Bool, _ replaceLibrary: () throws -> Void) async throws -> Set<Substring> {
        let plugin = try registerFirstBuild(copying: copying)
        let count = 999_999
        let (chunks, _) = try await loader.bytes(from: "generation://\(count)")
        var text = ""
        var isReplaced = false
        for try await chunk in chunks {
            text += String(decoding: chunk, as: UTF8.self)
            guard !isReplaced else { continue }
            isReplaced = true
            try replaceLibrary()
            try await reload(plugin)
            #expect(try await self.text() == "2 ")
            #expect(!log.all.contains { $0.hasSuffix("1 ends") })
        }
        #expect(text.count == 2 * count)
        log.wait { $0.contains { $0.hasSuffix("1 ends") } }
        #expect(log.all.last?.hasSuffix("1 ends") == true)
        return Set(text.split(separator: " "))
    }

    @Test func runningLoadFinishesOnTheOldPluginWhichThenEnds() async throws {
        #expect(try await readAcrossReload(copying: false) { try installBuild(2) } == ["1"])
    }

    /// The mapped file is a copy, so a write to the original does not affect the running load.
    @Test func overwritingTheFileDoesNotAffectALoadThatUsesACopy() async throws {
        #expect(try await readAcrossReload(copying: true) { try overwriteLibrary(with: 2, truncatesFirst: true) } == ["1"])
    }

    @Test func overwrittenFileIsOpenedAsACopy() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        for number in [2, 3] {
            try overwriteLibrary(with: number, truncatesFirst: false)
            try await reload(plugin)
            #expect(try await text() == "\(number) ")
        }
    }

    @Test(.enabled(if: !TestFolder.canGiveAway, "root writes everywhere"))
    func overwrittenFileIsRefusedIfNoCopyCanBeMade() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        try overwriteLibrary(with: 1, truncatesFirst: false)
        try folder.chmod("all/generation", 0o555)
        try await expectRefusal(plugin, "it was overwritten after it was opened")
        try folder.chmod("all/generation", 0o755)
    }

    // MARK: Broken new file

    @Test func oldPluginKeepsServingIfTheNewFileIsBroken() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        try folder.library(Self.library, "descriptor-missing_symbol")
        try await expectRefusal(plugin, "DESC-01: the plugin library '\(folder(Self.library))' can't be used: it can't be opened: ")
        try folder.library(Self.library, "descriptor")
        try await expectRefusal(plugin, "MANIF-02: its identifier is org.portolan.generation, but its library plugin.so has org.portolan.")
        try folder.library(Self.library, "generation-refuses")
        try await expectRefusal(plugin, "this build never starts")
        try folder.remove(Self.library)
        try await expectRefusal(plugin, "is missing, but its manifest exists")
        try folder.file(Self.library, "no library")
        try await expectRefusal(plugin, "it is not a shared library (ELF)")
        try installBuild(2)
        try folder.plugin("all/generation", "{")
        try await expectRefusal(plugin, "MANIF-01")
        try folder.plugin("all/generation", ManifestText.of("org.other", scheme: "generation"))
        try await expectRefusal(plugin, "its identifier has changed from org.portolan.generation to org.other")
        try folder.plugin("all/generation", Self.manifest())
        try folder.chmod("all/generation/generation.plugin.json", 0o666)
        try await expectRefusal(plugin, "MANIF-09")
        try folder.chmod("all/generation/generation.plugin.json", 0o644)
        try await reload(plugin)
        #expect(try await text() == "2 ")
    }

    /// If the linker mapped pages beyond the end of the file, the first access would raise SIGBUS.
    @Test func truncatedLibraryIsRefusedAtEveryLength() throws {
        try folder.library("cut.so", "generation-1")
        let path = folder("cut.so")
        let length = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64)
        var shortestLength: UInt64?
        for end in stride(from: Int64(length), through: 0, by: -1) where end < 600 || end % 41 == 0 || end > Int64(length) - 600 {
            try #require(unsafe truncate(path, off_t(end)) == 0)
            do throws(LoadError) {
                try LibraryFile(at: path, calling: path).check()
                #expect(shortestLength ?? UInt64(end) >= UInt64(end), "\(end) bytes are accepted, but a longer file is refused")
                shortestLength = UInt64(end)
            } catch {
                #expect(error.message.contains(end < 20 ? "not a shared library" : "it is incomplete"), "\(end): \(error.message)")
            }
        }
        // Only section headers and debugging symbols follow this offset.
        let neededLength = try #require(shortestLength)
        #expect(neededLength > 0x2000 && neededLength <= length)
    }

    @Test func spellingsOfAPathDifferButNameTheSameFile() {
        let spellings = (1...1000).map { LibraryNames.spelling($0, of: "/a/b.so") }
        #expect(Set(spellings).count == 1000)
        #expect(spellings.prefix(3) == ["/a/./b.so", "/a//./b.so", "/a/././b.so"])
        #expect(LibraryNames.spelling(.max, of: "./b.so").count == 6 + 128)
    }

    /// The memory mappings of the process, one per line. Reads until the end, because the size of the file is 0.
    private static func mappings() throws -> String {
        let file = unsafe open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while true {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }

    // MARK: Many loads

    @Test func thousandLoadsDuringTenReloadsLoseNothing() async throws {
        let plugin = try registerFirstBuild()
        #expect(try await text() == "1 ")
        let newestBuild = ConditionLock(1)
        let loader = loader
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    for number in 0..<100 {
                        let oldestBuild = newestBuild.withLock { $0 }
                        let text = String(decoding: try await loader.data(from: "generation://\(number + 1)").0, as: UTF8.self)
                        let builds = Set(text.split(separator: " "))
                        #expect(builds.count == 1, "one load uses one build")
                        #expect(text.count { $0 == " " } == number + 1)
                        #expect(builds.first.flatMap { Int($0) } ?? 0 >= oldestBuild)
                    }
                }
            }
            for number in 2...11 {
                try installBuild(min(number, 10))
                try await reload(plugin)
                newestBuild.withLock { $0 = min(number, 10) }
            }
            try await group.waitForAll()
        }
        // Each instance except the last has ended, because its loads have ended.
        log.wait { $0.count { $0.hasSuffix(" ends") } == 10 }
        #expect(log.all.count { $0.hasSuffix(" begins") } == 11)
        #expect(log.all.count { $0.hasSuffix(" ends") } == 10)
        // One mapping per file remains.
        let maps = try Self.mappings()
        let starts = maps.split(separator: "\n").filter { $0.contains(folder.path) && $0.contains(" 00000000 ") }
        #expect(starts.count == 11)
    }
}

/// Runs `function` on a thread that may block.
private func runOnLoadThread(_ function: @escaping @Sendable () throws(LoadError) -> Void) async throws {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, LoadError>, Never>) in
        do throws(LoadError) {
            try LoadThreadPool.shared.run(isNested: true) {
                do throws(LoadError) {
                    try function()
                    continuation.resume(returning: .success(()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }
    try result.get()
}
