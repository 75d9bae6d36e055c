// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanPlugins

/// Checks a plugin against the catalogue.
///
///     let runner = ConformanceRunner(ConformanceTarget(library: "/usr/lib/portolan/tide.so"))
///     let result = runner.result(of: check)
public struct ConformanceRunner: Sendable {
    public package(set) var target: ConformanceTarget
    /// The seed of random input.
    public var seed: UInt64 = 0
    /// The time after which a check counts as hung. Each load in the check can take a quarter of this time.
    public var timeLimit = Duration.seconds(20)

    /// The loads that hung in earlier checks.
    var hungLoads = HungLoads()
    /// The steps that hung in earlier checks.
    var hungSteps = HungSteps()

    /// Valgrind's logs; `nil` if this process does not run under Valgrind.
    var memcheck: MemcheckRun?

    /// The temporary folder of the run; if it is `nil`, ``run(_:jobs:_:)`` makes a new one.
    package var folder: RunFolder?

    /// Makes the loader for nested loads. Called in the process that runs the check, before its first nested load. If
    /// two threads begin the first nested loads at the same time, both call it, and one of the loaders is discarded.
    public var makeNestedLoader: @Sendable () -> Loader = { Loader(configuration: .init(), registry: ProtocolRegistry()) }

    public init(_ target: ConformanceTarget) {
        self.target = target
    }

    /// Runs a check in this process, for debuggers. If the plugin crashes or hangs, so does this process.
    public func result(of check: ConformanceCheck) -> CheckResult {
        do throws(CheckSkipped) {
            return result(of: check, try CallLog())
        } catch {
            return CheckResult(check.rule, .skipped, note: error.reason)
        }
    }

    /// - Parameter isSupervised: Whether a supervisor sees the processes that the check leaves behind.
    func result(of check: ConformanceCheck, _ callLog: CallLog, isSupervised: Bool = false) -> CheckResult {
        if let objection = target.objection(to: check.rule) { return CheckResult(check.rule, .skipped, note: objection) }
        // Creates the resources that the runner's own watches need, before a check counts resources.
        if target.library != nil { DescriptorWatches.prepare() }
        var instanceContext = InstanceContext(callLog: callLog, nestedLoads: NestedLoadCache(makeNestedLoader))
        if let folder { instanceContext.folder = folder.path }
        instanceContext.isSupervised = isSupervised
        instanceContext.steps = StepGate(hungSteps)
        let context = CheckContext(target, on: instanceContext, seed: seed, timeLimit: timeLimit)
        // LIFE-02 itself is about loads that do not end.
        if check.id != "LIFE-02" { context.hungLoads = hungLoads }
        let start = MonotonicTime.now
        var problem: CheckSkipped?
        do throws(CheckSkipped) {
            try check.body(context)
        } catch {
            problem = error
        }
        // A check that goes on without a refused step does not pass.
        problem = instanceContext.steps.refusal ?? problem
        let verdict = Verdict.of(context.findings, check.rule, wasSkipped: problem != nil)
        var result = CheckResult(
            check.rule, verdict, findings: context.findings, note: problem.map { target.abbreviatingURLs(in: $0.reason) })
        if problem?.isResourceShortage == true { result.shortage = .later }
        result.duration = MonotonicTime.now - start
        // In a FAULT check, a load can hang because the system refuses a resource. Such a load is not known to hang.
        if check.rule.category != "FAULT" { result.hungLoads = context.hungLoads }
        result.hasLeftOpen = !instanceContext.openCount.isZero
        if result.verdict == .failed { result.lastEvents = context.lastEvents ?? [] }
        return result
    }
}
