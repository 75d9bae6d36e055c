// SPDX-License-Identifier: Apache-2.0

import Glibc
import Portolan
import PortolanHandlers
import PortolanPlugins
import Synchronization

/// A loader with the gzip plugin, made once and shared by all cases.
struct GzipFixture {
    let loader: Loader
    let files: InnerFiles
    /// The limit of bytes that a load may deliver.
    let limit: Int
    /// Keeps the plugin loaded, because the loader retains only the plugin's handlers.
    private let plugin: Plugin

    /// The larger limit exceeds one buffer of the plugin.
    private static let small = Result { () throws(LoadError) in try GzipFixture(limit: 100) }
    private static let large = Result { () throws(LoadError) in try GzipFixture(limit: 300_000) }

    static func of(isSmall: Bool) throws(FuzzFinding) -> GzipFixture {
        do throws(LoadError) {
            return try (isSmall ? small : large).get()
        } catch {
            throw FuzzFinding("the gzip plugin does not load; build it with 'make fixtures': \(error)")
        }
    }

    private init(limit: Int) throws(LoadError) {
        self.limit = limit
        var configuration = Loader.Configuration()
        configuration.timeouts = Timeouts()
        configuration.logger = SilentLog.logger
        files = InnerFiles()
        loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        plugin = try Plugin(
            contentsOf: Self.library, configuration: PluginConfiguration(json: #"{"maximumBytes": \#(limit)}"#), logger: SilentLog.logger)
        for handler in [files] + plugin.handlers as [any ProtocolHandler] { loader.handlers.register(handler) }
    }

    /// The path of the plugin's library: the value of FUZZ_GZIP, which `make fuzz` sets to an instrumented library, or
    /// the path of the tests' library, relative to this file.
    private static var library: String {
        if let path = unsafe getenv("FUZZ_GZIP") { return unsafe String(cString: path) }
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        return (parts + [".build", "fixtures", "gzip.so"]).joined(separator: "/")
    }
}

/// The handler of `inner:` URLs, which can each be loaded once.
final class InnerFiles: ProtocolHandler {
    let identifier = "org.portolan.inner"
    let schemes = SchemeSet.only(["inner"])
    private let files = Mutex((count: 0, eventsByURL: [String: [ScriptedLoad.Event]]()))

    /// Adds a file.
    ///
    /// - Parameter events: the events of the file's load after the response.
    /// - Returns: The URL of the file.
    func add(_ events: [ScriptedLoad.Event]) -> String {
        files.withLock { files in
            files.count += 1
            let url = "inner:\(files.count)"
            files.eventsByURL[url] = events
            return url
        }
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let events = files.withLock { $0.eventsByURL.removeValue(forKey: request.url.description) } ?? []
        return ScriptedLoad([.response(Response(url: request.url))] + events, client: client)
    }
}
