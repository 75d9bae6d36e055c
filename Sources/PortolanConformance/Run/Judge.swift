// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanPlugins

/// Judges a plugin by the catalogue.
///
///     let judge = Judge(Subject(library: "/usr/lib/portolan/tide.so"))
///     let result = judge.result(of: check)
public struct Judge: Sendable {
    public let subject: Subject
    /// Where random input begins.
    public var seed: UInt64 = 0
    /// How long one check may take before it counts as hung. A load in it may take a quarter of that.
    public var timeLimit = Duration.seconds(20)

    /// Whether this process runs under Valgrind, and where its logs lie.
    var memcheck: MemcheckRun?

    /// The temporary folder of the run; `nil`: ``judge(_:jobs:_:)`` makes one of its own.
    package var folder: RunFolder?

    /// Makes what loads inside of loads go through. Called at most once in a check, in the process that makes it.
    public var makeInnerLoader: @Sendable () -> Loader = { Loader(configuration: .default, registry: ProtocolRegistry()) }

    public init(_ subject: Subject) {
        self.subject = subject
    }

    /// Makes a check in this process. A plugin that crashes or hangs takes the process with it: for debuggers.
    public func result(of check: ConformanceCheck) -> CheckResult {
        do throws(Unjudged) {
            return result(of: check, try Journal())
        } catch {
            return CheckResult(check.rule, .skipped, note: error.reason)
        }
    }

    /// - Parameter isKept: whether a keeper sees what processes the check leaves.
    func result(of check: ConformanceCheck, _ journal: Journal, isKept: Bool = false) -> CheckResult {
        if let ability = check.rule.awaits {
            return CheckResult(check.rule, .skipped, note: "it comes with the loader's \(ability.rawValue)")
        }
        if let objection = subject.objection(to: check.rule) { return CheckResult(check.rule, .skipped, note: objection) }
        // What the judge's own watches need is there before anything is counted.
        if subject.library != nil { LoadWatches.prepare() }
        var bench = Bench(journal: journal, inner: InnerLoads(makeInnerLoader))
        if let folder { bench.folder = folder.path }
        bench.isKept = isKept
        let trial = Trial(subject, on: bench, seed: seed, timeLimit: timeLimit)
        let start = MonotonicTime.now
        var problem: Unjudged?
        do throws(Unjudged) {
            try check.judge(trial)
        } catch {
            problem = error
        }
        let verdict = Verdict.of(trial.findings, check.rule, isUnjudged: problem != nil)
        var result = CheckResult(check.rule, verdict, findings: trial.findings, note: problem?.reason)
        if problem?.isLack == true { result.lack = .later }
        result.duration = MonotonicTime.now - start
        result.hasLeftOpen = !bench.open.isZero
        if result.verdict == .failed { result.lastEvents = trial.lastEvents ?? [] }
        return result
    }
}
