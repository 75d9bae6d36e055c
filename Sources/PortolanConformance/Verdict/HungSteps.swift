// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A call that most checks need. If a plugin never returned from it, each of these checks would last until its time
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
    /// For each step, the number of checks in which it hung.
    private var counts = [UInt16](repeating: 0, count: PluginStep.allCases.count)
    /// For each step, the ID of the rule whose check was the last in which it hung.
    private var ruleIDs = [String](repeating: "", count: PluginStep.allCases.count)

    /// The number of bytes that store an ID. The end of a longer ID is not stored.
    private static let idSize = 16
    private static let entrySize = 2 + idSize

    /// The number of ``bytes``: for each step the number of checks, high byte first, and the ID, followed by zeros.
    static let size = entrySize * PluginStep.allCases.count

    init() {}

    /// - Parameter bytes: Exactly ``size`` bytes; otherwise the result is `nil`.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        let bytes = Array(bytes)
        for index in counts.indices {
            let entry = bytes[index * Self.entrySize..<(index + 1) * Self.entrySize]
            counts[index] = entry.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
            ruleIDs[index] = String(decoding: entry.dropFirst(2).prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    var bytes: [UInt8] {
        zip(counts, ruleIDs).flatMap { count, id in
            let idBytes = Array(id.utf8.prefix(Self.idSize))
            return [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + idBytes
                + [UInt8](repeating: 0, count: Self.idSize - idBytes.count)
        }
    }

    /// Adds the step in which the check of `result` hung, if it hung in a step.
    mutating func add(_ result: CheckResult) {
        guard result.verdict == .hung, let function = CallLogEntry.openFunction(after: result.lastEvents),
            let step = PluginStep(rawValue: function), let index = PluginStep.allCases.firstIndex(of: step)
        else { return }
        counts[index] = min(counts[index], .max - 1) + 1
        ruleIDs[index] = result.rule.id
    }

    /// Why checks leave out the step; `nil` if they do not.
    func objection(to step: PluginStep) -> String? {
        guard let index = PluginStep.allCases.firstIndex(of: step), counts[index] >= step.limit else { return nil }
        return "\(step.phrase) did not return in the check of \(ruleIDs[index])"
    }
}

/// Refuses, in one check, the steps that hung in earlier checks.
final class StepGate: Sendable {
    private let hungSteps: HungSteps
    private let firstRefusal = Mutex<CheckSkipped?>(nil)

    init(_ hungSteps: HungSteps) { self.hungSteps = hungSteps }

    /// The first refusal; `nil` if there was none. After a refusal, the check cannot pass, and its further findings are
    /// ignored.
    var refusal: CheckSkipped? { firstRefusal.withLock(\.self) }

    /// - Throws: If one of `steps` hung in earlier checks.
    func require(_ steps: PluginStep...) throws(CheckSkipped) {
        for step in steps {
            guard let objection = hungSteps.objection(to: step) else { continue }
            let skipped = CheckSkipped(objection)
            firstRefusal.withLock { if $0 == nil { $0 = skipped } }
            throw skipped
        }
    }
}
