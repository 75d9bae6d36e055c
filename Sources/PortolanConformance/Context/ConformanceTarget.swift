// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
public import PortolanPlugins

/// What is judged: a plugin library, and the manifest that tells of it; or a handler of this process.
public struct ConformanceTarget: Sendable {
    enum Source: Sendable {
        /// The library's path.
        case library(String)
        case handler(@Sendable () throws(LoadError) -> any ProtocolHandler)
        /// A manifest that can't be read alone, so that nobody knows what it is for.
        case nothing
    }

    let source: Source
    /// `nil` for a library that was named alone, and a handler that no manifest tells of.
    public let manifest: InstalledPlugin?
    /// Why the manifest can't be read, where that is so.
    let problem: PluginProblem?
    /// What is promised of URLs. None: then no URL is known that could be loaded.
    public let loads: [ConformanceLoad]

    /// A library by itself.
    public init(library: String) {
        (source, manifest, problem, loads) = (.library(library), nil, nil, [])
    }

    /// A manifest that can't be read.
    ///
    /// - Parameters:
    ///   - problem: what is wrong with it.
    ///   - library: the library that it lies beside, which is judged by itself; `nil`: none is known.
    public init(_ problem: PluginProblem, library: String?) {
        (source, manifest, self.problem, loads) = (library.map(Source.library) ?? .nothing, nil, problem, [])
    }

    /// A plugin with its manifest, the conformance section included: `InstalledPlugin.readingConformance()`.
    ///
    /// Of one that binds a library without code the handler is judged that the host makes for it: that library is no plugin.
    public init(_ plugin: InstalledPlugin) {
        if plugin.manifest.bindsLibrary {
            source = .handler { () throws(LoadError) in
                guard let handler = try plugin.open().handlers.first else {
                    throw LoadError(.pluginNotLoadable, message: "the manifest gives no handler")
                }
                return handler
            }
        } else {
            source = .library(plugin.libraryPath)
        }
        (manifest, problem, loads) = (plugin, nil, plugin.manifest.conformance?.loads ?? [])
    }

    /// A handler of this process. The rules of libraries and their start are not for it.
    ///
    /// - Parameters:
    ///   - loads: URLs, and what they have to yield.
    ///   - makeHandler: makes the handler; called once in each check, in the process that makes it.
    public init(loads: [ConformanceLoad], handler makeHandler: @escaping @Sendable () throws(LoadError) -> any ProtocolHandler) {
        (source, manifest, problem, self.loads) = (.handler(makeHandler), nil, nil, loads)
    }

    /// The library's path; `nil` of a handler of this process.
    public var library: String? {
        if case .library(let path) = source { path } else { nil }
    }

    /// Why a rule is not for this subject; `nil` where it is.
    func objection(to rule: ConformanceRule) -> String? {
        if case .nothing = source, rule.category != "MANIF" { return "the manifest can't be read (MANIF-01)" }
        guard case .handler = source else { return nil }
        if Self.categoriesOfLibraries.contains(rule.category) || (rule.category == "MANIF" && manifest == nil) {
            return "it is about libraries, and this is a handler of the host's own process"
        }
        return Self.rulesOfTheHost.contains(rule.id) ? "of a handler in its own process the host sees to it" : nil
    }

    static let categoriesOfLibraries: Set<String> = ["DESC", "REG", "UNLOAD"]

    /// What the host, and here the judge's adapter, does for handlers of its own process: it asks of declared schemes alone, parses what was asked, copies
    /// what is lent, puts calls in turn, resumes nothing unasked; an inner load, a configuration and a second instance are not the handler's.
    static let rulesOfTheHost: Set<String> = [
        "CAN-02", "CAN-06", "FLOW-02", "FLOW-04", "BODY-03", "BODY-04", "ORDER-05", "THREAD-01", "LIFE-11", "LOAD-04", "FUZZ-05",
        "UPLOAD-03",
        "NEST-01", "NEST-02", "NEST-08", "CANCEL-08",
    ]
}
