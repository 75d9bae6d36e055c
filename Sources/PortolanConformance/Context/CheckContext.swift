// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// One check being made of one subject: what the check is given, and where it leaves what it finds.
///
/// What a check needs and another rule is about, it asks for here; where that is not to be had, it can't be judged, and the other rule's check is
/// the one that fails.
final class CheckContext {
    let target: ConformanceTarget
    let instanceContext: InstanceContext
    /// Where random input begins; two trials of one seed see the same.
    let seed: UInt64
    private(set) var findings: [Finding] = []
    /// What ``varies(_:)`` has found.
    var varying: [String: Bool] = [:]
    /// How many findings are kept; the first ones tell most.
    private static let largestCount = 20

    /// How long a load may take whose time no rule is about.
    let patience: Duration
    /// … and how long one may take that was told to stop.
    var shortPatience: Duration { min(patience, .seconds(1)) }
    /// When most of the check's time is over.
    let deadline: Duration
    /// How instances that are started from now on are lent memory.
    var argumentMemory = ArgumentMemory.freely
    private var exportedPlugin: DescribedPlugin?
    /// Why a handler of this process could not be made.
    private(set) var handlerProblem: String?
    /// The last calls before the first finding that is a failure, oldest first: what comes after is no part of it.
    private(set) var lastEvents: [String]?
    /// Whether every load came to rest. An instance with one that did not can't be ended.
    var areAllIdle = true

    init(_ target: ConformanceTarget, on instanceContext: InstanceContext, seed: UInt64, timeLimit: Duration) {
        (self.target, self.instanceContext, self.seed) = (target, instanceContext, seed)
        patience = timeLimit / 4
        deadline = MonotonicTime.now + patience * 3
    }

    /// - Throws: where most of the check's time is over: one that makes many loads does not count as hung for that. No instance is ended then, for
    ///   loads of it may be under way.
    func keepsTime() throws(CheckSkipped) {
        guard MonotonicTime.now > deadline else { return }
        areAllIdle = false
        throw CheckSkipped("its loads take too long for so many of them; --timeout gives more")
    }

    /// Where the judge's own temporary files go.
    var temporaryFolder: String { instanceContext.folder }

    func fail(_ detail: String) { note(.failure, detail) }
    func warn(_ detail: String) { note(.warning, detail) }

    /// Fails for each of `details`.
    func fail(_ details: [String]) {
        for detail in details { fail(detail) }
    }

    private func note(_ weight: Finding.Weight, _ detail: String) {
        guard findings.count < Self.largestCount else { return }
        let finding = Finding(weight, Text.oneLine(detail, limit: 1000))
        guard !findings.contains(finding) else { return }
        if weight == .failure, lastEvents == nil { lastEvents = instanceContext.callLog.lines }
        findings.append(finding)
    }

    // MARK: The plugin

    /// The library's path.
    func libraryPath() throws(CheckSkipped) -> String {
        guard let path = target.library else {
            throw CheckSkipped("it is about libraries, and this is a handler of the host's own process")
        }
        return path
    }

    func library() throws(CheckSkipped) -> ProbedLibrary {
        let path = try libraryPath()
        do throws(CheckSkipped) {
            return try ProbedLibrary(at: path)
        } catch {
            throw CheckSkipped("the library does not open (DESC-01): \(error.reason)")
        }
    }

    /// The entry function of the library.
    func entry() throws(CheckSkipped) -> ProbedLibrary.Entry {
        guard let entry = unsafe try library().entry else { throw CheckSkipped("the library exports no portolan_plugin_entry (DESC-02)") }
        return unsafe entry
    }

    /// The plugin as it describes itself; its flaws are DESC-05's.
    func description() throws(CheckSkipped) -> DescribedPlugin {
        if case .handler(let makeHandler) = target.source { return try exported(makeHandler) }
        guard let pointer = unsafe try entry()(PortolanVersion.major) else {
            throw CheckSkipped("the entry function gives NULL to a host of this major version (DESC-04)")
        }
        return try unsafe DescribedPlugin(pointer)
    }

    /// A handler of this process, made once.
    private func exported(_ makeHandler: () throws(LoadError) -> any ProtocolHandler) throws(CheckSkipped) -> DescribedPlugin {
        if let exportedPlugin { return exportedPlugin }
        let handler: any ProtocolHandler
        do throws(LoadError) {
            handler = try makeHandler()
        } catch {
            handlerProblem = error.message
            throw CheckSkipped("the handler could not be made (CAN-01): \(error.message)")
        }
        let export = ExportedPlugin(handler)
        let plugin = try unsafe DescribedPlugin(export.pointer, standingState: export.state, owner: export)
        exportedPlugin = plugin
        return plugin
    }

    /// The plugin, whole as far as its structures go.
    func plugin() throws(CheckSkipped) -> DescribedPlugin {
        let plugin = try description()
        if let flaw = plugin.flaws.first { throw CheckSkipped("the plugin's structures are not whole (DESC-05): \(flaw)") }
        return plugin
    }

    /// What the manifest sets the plugin up with where nobody says more.
    func configuration() throws(CheckSkipped) -> PluginConfiguration {
        guard let manifest = target.manifest else { return PluginConfiguration() }
        do throws(PluginProblem) {
            return try manifest.configuration()
        } catch {
            throw CheckSkipped("the manifest gives no configuration to start with: \(error.detail)")
        }
    }

    /// A started instance. Whoever asks ends it.
    func instance(of plugin: DescribedPlugin? = nil) throws(CheckSkipped) -> ProbedInstance {
        let plugin = if let plugin { plugin } else { try self.plugin() }
        switch try ProbedInstance.start(plugin, configuration(), argumentMemory, on: instanceContext) {
        case .started(let instance): return instance
        case .refused(let reasons):
            throw CheckSkipped(
                "the plugin refused to start (REG-01): \(reasons.last?.value?.message.quoted ?? "it gave no readable reason")")
        }
    }
}
