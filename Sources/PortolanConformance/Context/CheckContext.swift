// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// One run of a check on one target: the input and the findings of the check.
///
/// A check gets the library, the descriptor and the instances of the plugin from its context. If one of them is not
/// available because the plugin violates another rule, this check is skipped, and the check of the other rule fails.
final class CheckContext {
    let target: ConformanceTarget
    let instanceContext: InstanceContext
    /// The seed of random input. Two runs with one seed see the same input.
    let seed: UInt64
    private(set) var findings: [Finding] = []
    /// The results of ``varies(_:)`` for each URL.
    var variesByURL: [String: Bool] = [:]
    /// The maximum number of findings; the first ones are the most useful.
    private static let maximumFindingCount = 20

    /// The time limit of a load, if no rule sets another one.
    let loadTimeLimit: Duration
    /// The time in which a stopped load must become idle.
    var stopTimeLimit: Duration { min(loadTimeLimit, .seconds(1)) }
    /// The time at which most of the check's time is over.
    let deadline: Duration
    /// How instances that start from now on borrow memory.
    var argumentMemory = ArgumentMemory.freely
    private var exportedPlugin: DescribedPlugin?
    /// Why a handler of this process could not be made.
    private(set) var handlerProblem: String?
    /// The last calls before the first finding that is a failure, oldest first. Later calls do not belong to the
    /// finding.
    private(set) var lastEvents: [String]?
    /// The loads that did not end although nothing disturbed them, in this check or an earlier one.
    var hungLoads = HungLoads()
    /// Whether every load became idle. An instance with a load that is not idle cannot be ended.
    var areAllLoadsIdle = true

    init(_ target: ConformanceTarget, on instanceContext: InstanceContext, seed: UInt64, timeLimit: Duration) {
        (self.target, self.instanceContext, self.seed) = (target, instanceContext, seed)
        loadTimeLimit = timeLimit / 4
        deadline = MonotonicTime.now + loadTimeLimit * 3
    }

    /// - Throws: If most of the check's time is over, so that a check with many loads does not count as hung. No
    ///   instance is ended then, because it may have running loads.
    func checkDeadline() throws(CheckSkipped) {
        guard MonotonicTime.now > deadline else { return }
        areAllLoadsIdle = false
        throw CheckSkipped("its loads are too slow for the number that this check needs; give it more time with --timeout")
    }

    /// The folder for the runner's temporary files.
    var temporaryFolder: String { instanceContext.folder }

    /// - Parameters:
    ///   - remedy: How to repair what the finding shows; `nil` if the rule's remedy fits.
    /// - load: The load that the finding is about, if others run at the same time. The last calls are then only its
    /// own.
    func fail(_ detail: String, remedy: String? = nil, about load: ProbedLoad? = nil) { add(.failure, detail, remedy, about: load) }
    func warn(_ detail: String) { add(.warning, detail) }

    /// Adds one failure for each of `details`.
    func fail(_ details: [String]) {
        for detail in details { fail(detail) }
    }

    private func add(_ weight: Finding.Weight, _ detail: String, _ remedy: String? = nil, about load: ProbedLoad? = nil) {
        guard findings.count < Self.maximumFindingCount, instanceContext.steps.refusal == nil else { return }
        let finding = Finding(weight, Text.oneLine(target.abbreviatingURLs(in: detail), limit: 1000), remedy: remedy)
        guard !findings.contains(finding) else { return }
        if weight == .failure, lastEvents == nil {
            let lines = instanceContext.callLog.lines
            lastEvents = load.map { load in lines.filter { CallLogEntry($0)?.load == load.client.loadNumber } } ?? lines
        }
        findings.append(finding)
    }

    // MARK: The plugin

    /// The path of the library.
    func libraryPath() throws(CheckSkipped) -> String {
        guard let path = target.library else {
            throw CheckSkipped("the rule is about libraries, but this handler is part of the host's own process")
        }
        return path
    }

    func library() throws(CheckSkipped) -> ProbedLibrary {
        let path = try libraryPath()
        do throws(CheckSkipped) {
            return try ProbedLibrary(at: path, on: instanceContext)
        } catch {
            if let refusal = instanceContext.steps.refusal { throw refusal }
            throw CheckSkipped("the library does not open (DESC-01): \(error.reason)")
        }
    }

    /// The entry function of the library.
    func entry() throws(CheckSkipped) -> ProbedLibrary.Entry {
        guard let entry = try library().entry else { throw CheckSkipped("the library exports no portolan_plugin_entry (DESC-02)") }
        return entry
    }

    /// The plugin as it describes itself. DESC-05 reports its flaws.
    func description() throws(CheckSkipped) -> DescribedPlugin {
        if case .handler(let makeHandler) = target.source { return try exported(makeHandler) }
        guard let pointer = unsafe try entry()(PORTOLAN_ABI_MAJOR) else {
            throw CheckSkipped("the entry function returns NULL to a host of this major version (DESC-04)")
        }
        return try unsafe DescribedPlugin(pointer)
    }

    /// Exports a handler of this process, once per context.
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
        let plugin = try unsafe DescribedPlugin(export.pointer, instanceState: export.state, owner: export)
        exportedPlugin = plugin
        return plugin
    }

    /// The plugin, with complete structures.
    func plugin() throws(CheckSkipped) -> DescribedPlugin {
        let plugin = try description()
        if let flaw = plugin.flaws.first { throw CheckSkipped("the plugin's structures are not complete (DESC-05): \(flaw.detail)") }
        return plugin
    }

    /// The configuration that the manifest gives by default.
    func configuration() throws(CheckSkipped) -> PluginConfiguration {
        guard let manifest = target.manifest else { return PluginConfiguration() }
        do throws(PluginProblem) {
            return try manifest.configuration()
        } catch {
            throw CheckSkipped("the configuration in the manifest can't be used: \(error.detail)")
        }
    }

    /// A started instance. The caller ends it.
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
