// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
public import PortolanPlugins

/// The target of the checks: a plugin library with its manifest, or a handler of this process.
public struct ConformanceTarget: Sendable {
    enum Source: Sendable {
        /// The path of the library.
        case library(String)
        case handler(@Sendable () throws(LoadError) -> any ProtocolHandler)
        /// No library is known, because the manifest cannot be read.
        case nothing
    }

    let source: Source
    /// `nil` for a library without a manifest, and for a handler that no manifest describes.
    public let manifest: InstalledPlugin?
    /// Why the manifest cannot be read; `nil` if it can.
    let problem: PluginProblem?
    /// The URLs with their expected results. If it is empty, the checks know no URL to load.
    public private(set) var loads: [ConformanceLoad]
    /// The servers that loads can need, by name. `portolan check` starts them in ``servicesFolder``.
    package private(set) var services: [String: ConformanceService] = [:]
    package private(set) var servicesFolder = "."
    /// Why a server that loads need does not run, by its name. A name without an entry is described nowhere.
    private(set) var missingServers: [String: String] = [:]

    /// A library without a manifest.
    public init(library: String) {
        (source, manifest, problem, loads) = (.library(library), nil, nil, [])
    }

    /// A manifest that cannot be read.
    ///
    /// - Parameters:
    ///   - problem: The problem of the manifest.
    ///   - library: The library beside the manifest. It is checked without a manifest; `nil` if none is known.
    public init(_ problem: PluginProblem, library: String?) {
        (source, manifest, self.problem, loads) = (library.map(Source.library) ?? .nothing, nil, problem, [])
    }

    /// A plugin with its manifest, including the conformance section: `InstalledPlugin.readingConformance()`.
    ///
    /// If the manifest binds a library without plugin code, the checks run on the handler that the host makes for it,
    /// because that library is no plugin.
    public init(_ plugin: InstalledPlugin) {
        if plugin.manifest.bindsLibrary {
            source = .handler { () throws(LoadError) in
                guard let handler = try plugin.open().handlers.first else {
                    throw LoadError(.pluginNotLoadable, message: "the manifest has no handler")
                }
                return handler
            }
        } else {
            source = .library(plugin.libraryPath)
        }
        (manifest, problem, loads) = (plugin, nil, plugin.manifest.conformance?.loads ?? [])
        (services, servicesFolder) = (plugin.manifest.conformance?.services ?? [:], plugin.folder)
    }

    /// A handler of this process. The rules about libraries and their start do not apply to it.
    ///
    /// - Parameters:
    ///   - loads: URLs with their expected results.
    ///   - makeHandler: Makes the handler; called once in each check that needs the handler, in the process of the
    ///     check.
    public init(loads: [ConformanceLoad], handler makeHandler: @escaping @Sendable () throws(LoadError) -> any ProtocolHandler) {
        (source, manifest, problem, self.loads) = (.handler(makeHandler), nil, nil, loads)
    }

    /// A handler of this process, with the URLs and the servers of a section.
    ///
    /// - Parameter folder: The folder in which the servers start.
    package init(_ section: ConformanceSection, in folder: String, handler makeHandler: @escaping @Sendable () -> any ProtocolHandler) {
        self.init(loads: section.loads, handler: makeHandler)
        (services, servicesFolder) = (section.services, folder)
    }

    /// Returns the target with loads that use these servers.
    ///
    /// - Parameters:
    ///   - addresses: The host and the port of each server that runs, by its name.
    ///   - missing: Why other servers do not run.
    package func withServers(at addresses: [String: String], missing: [String: String] = [:]) -> Self {
        var target = self
        target.loads = loads.map { $0.withAddresses(addresses) }
        target.missingServers = missing
        return target
    }

    /// Returns a text about loads with the middle of their longest URLs left out. Otherwise a `data:` URL with an
    /// archive would hide what the text says. If two URLs then look the same, each has its number in the manifest.
    func abbreviatingURLs(in text: String) -> String {
        let longURLs = loads.map(\.url).enumerated().filter { $1.count > 200 }.map { (number: $0 + 1, url: $1) }
        func ends(of url: String) -> [Substring] { [url.prefix(120), url.suffix(60)] }
        return longURLs.sorted { $0.url.count > $1.url.count }.reduce(text) { text, long in
            guard text.contains(long.url) else { return text }
            let isUnique = longURLs.allSatisfy { $0.url == long.url || ends(of: $0.url) != ends(of: long.url) }
            return text.replacing(long.url, with: ends(of: long.url).joined(separator: isUnique ? "…" : "…(URL \(long.number))…"))
        }
    }

    /// The path of the library; `nil` for a handler of this process.
    public var library: String? {
        if case .library(let path) = source { path } else { nil }
    }

    /// Why a rule does not apply to this target; `nil` if it applies.
    func objection(to rule: ConformanceRule) -> String? {
        if case .nothing = source, rule.category != "MANIF" { return "the manifest can't be read (MANIF-01)" }
        guard case .handler = source else { return nil }
        if Self.categoriesOfLibraries.contains(rule.category) || (rule.category == "MANIF" && manifest == nil) {
            return "the rule is about libraries, but this handler is part of the host's own process"
        }
        return Self.rulesOfTheHost.contains(rule.id) ? "the host itself keeps this rule for a handler in its own process" : nil
    }

    static let categoriesOfLibraries: Set<String> = ["DESC", "REG", "UNLOAD"]

    /// Rules that the host itself keeps for a handler in its process. In a check, the runner's adapter does so: it
    /// passes only requests of declared schemes, parses URLs, copies borrowed values, serializes calls, and resumes
    /// only paused loads. A handler in this process has no nested load, configuration or second instance of its own.
    static let rulesOfTheHost: Set<String> = [
        "CAN-02", "CAN-06", "FLOW-02", "FLOW-04", "BODY-03", "BODY-04", "ORDER-05", "THREAD-01", "LIFE-11", "LOAD-04", "FUZZ-05",
        "UPLOAD-03",
        "NEST-01", "NEST-02", "NEST-08", "CANCEL-08",
    ]
}
