// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A call that most checks need, so that a plugin that never returns from it would delay each of them until its time
/// limit. The raw value is the call's name in the call log.
enum PluginStep: String, CaseIterable, Sendable {
    /// The host opens the plugin, from `dlopen(3)` to `init`.
    case hostOpening = "open"
    case dlopen
    case entry = "portolan_plugin_entry"
    case initialize = "init"
    case canInit = "can_init"
    case make, destroy
    case deinitialize = "deinit"

    /// The number of checks in which the call may hang before other checks leave it out. Opening is the same in each
    /// check; the other calls can hang because of what one check does.
    fileprivate var limit: Int {
        switch self {
        case .hostOpening, .dlopen, .entry: 1
        case .initialize, .canInit, .make, .destroy, .deinitialize: 2
        }
    }

    fileprivate var phrase: String {
        switch self {
        case .hostOpening: "the plugin does not open: the host's opening"
        case .dlopen: "the library does not load: dlopen(3), with the constructors,"
        case .entry: "the library does not load: portolan_plugin_entry"
        case .initialize, .canInit, .make, .destroy, .deinitialize: "'\(rawValue)'"
        }
    }
}

/// The steps that did not return in earlier checks.
struct HungSteps: Hashable, Sendable {
    /// For each step, the number of checks in which it hung, and the place of the last of them in the catalogue plus
    /// one.
    private var counts = [UInt16](repeating: 0, count: PluginStep.allCases.count)
    private var rules = [UInt16](repeating: 0, count: PluginStep.allCases.count)

    /// The size of ``bytes``.
    static let size = 4 * PluginStep.allCases.count

    init() {}

    /// - Parameter bytes: Exactly ``size`` bytes; otherwise the result is `nil`.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        let bytes = Array(bytes)
        let numbers = stride(from: 0, to: Self.size, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        (counts, rules) = (Array(numbers.prefix(counts.count)), Array(numbers.dropFirst(counts.count)))
    }

    var bytes: [UInt8] { (counts + rules).flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } }

    /// Notes the step in which the check of `result` hung, if it hung in one.
    mutating func add(_ result: CheckResult) {
        guard result.verdict == .hung, let function = CallLogEntry.openFunction(after: result.lastEvents),
            let step = PluginStep(rawValue: function), let index = PluginStep.allCases.firstIndex(of: step)
        else { return }
        counts[index] = min(counts[index], .max - 1) + 1
        rules[index] = UInt16(clamping: (RuleCatalogue.rules.firstIndex { $0.id == result.rule.id } ?? -1) + 1)
    }

    /// Why checks leave out the step; `nil` if they do not.
    func objection(to step: PluginStep) -> String? {
        guard let index = PluginStep.allCases.firstIndex(of: step), counts[index] >= step.limit else { return nil }
        let place = Int(rules[index]) - 1
        let id = RuleCatalogue.rules.indices.contains(place) ? "the check of \(RuleCatalogue.rules[place].id)" : "an earlier check"
        return "\(step.phrase) did not return in \(id)"
    }
}

/// Refuses the steps of one check that hung in earlier checks.
final class StepGate: Sendable {
    private let hungSteps: HungSteps
    private let firstRefusal = Mutex<CheckSkipped?>(nil)

    init(_ hungSteps: HungSteps) { self.hungSteps = hungSteps }

    /// The first refusal. The check has no verdict then, and what it finds after it is not the plugin's fault.
    var refusal: CheckSkipped? { firstRefusal.withLock(\.self) }

    /// - Throws: If one of `steps` is not to be called.
    func require(_ steps: PluginStep...) throws(CheckSkipped) {
        for step in steps {
            guard let objection = hungSteps.objection(to: step) else { continue }
            let skipped = CheckSkipped(objection)
            firstRefusal.withLock { if $0 == nil { $0 = skipped } }
            throw skipped
        }
    }
}
