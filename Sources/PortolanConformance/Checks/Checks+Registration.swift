// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// REG: start and end of an instance.
extension ConformanceCheck {
    static let registration: [ConformanceCheck] = [
        ConformanceCheck("REG-01") { trial throws(Unjudged) in
            var seen: Set<[String]> = []
            for turn in ["first", "second", "third"] {
                let plugin = try trial.plugin()
                switch try JudgedInstance.start(plugin, trial.configuration(), on: trial.bench) {
                case .refused(let reasons):
                    return trial.fail(
                        "the \(turn) start is refused: \(reasons.last?.value?.message.quoted ?? "no readable reason is given")")
                case .started(let instance):
                    seen.insert(plugin.handlers.map { "\($0.identifier.quoted) \($0.schemes.map(\.quoted))" })
                    instance.end()
                }
            }
            if seen.count > 1 { trial.fail("the handlers differ from one start to the next") }
        },
        ConformanceCheck("REG-02") { trial throws(Unjudged) in
            switch try JudgedInstance.start(trial.plugin(), trial.configuration(), offering: [], on: trial.bench) {
            case .started(let instance):
                instance.end()
            case .refused(let reasons):
                let text = reasons.last?.value?.message.text
                if text?.isEmpty != false { trial.fail("it refuses a host without extensions, and gives no text that says why") }
            }
        },
        ConformanceCheck("REG-03", needsProcess: true) { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            var refusals = 0
            let configurations = try trial.wrongConfigurations()
            for (_, _, configuration) in configurations {
                // The first time, a library may keep what it needs for good.
                if case .started(let instance) = try JudgedInstance.start(plugin, configuration, on: trial.bench) {
                    instance.end()
                    continue
                }
                refusals += 1
                func startAgain() throws(Unjudged) {
                    try trial.keepsTime()
                    if case .started(let instance) = try JudgedInstance.start(plugin, configuration, on: trial.bench) { instance.end() }
                }
                let before = ProcessCensus.taken()
                for _ in 0..<3 { try startAgain() }
                trial.fail(ProcessCensus.settledAdditions(since: before, within: .milliseconds(500)))
                let growth = Trial.heapGrowth(within: trial.patience / configurations.count, startAgain)
                if let growth { trial.fail("each of \(growth.rounds) rounds of \(growth.length) refusals left \(growth.words)") }
            }
            if refusals == 0 { throw Unjudged("no configuration was found that it refuses (REG-06)") }
        },
        ConformanceCheck("REG-04") { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            let loads = try trial.loads(.succeeds)
            let first = try trial.instance(of: plugin)
            let alone = try loads.map { load throws(Unjudged) in try trial.follow(load, of: first).last?.body }
            func compare(_ when: String) throws(Unjudged) {
                for (load, body) in zip(loads, alone) where try trial.follow(load, of: first).last?.body != body && !trial.varies(load) {
                    trial.fail("'\(load.url)' gives other bytes \(when)")
                }
            }
            let second: JudgedInstance
            switch try JudgedInstance.start(plugin, trial.configuration(), on: trial.bench) {
            case .started(let instance): second = instance
            case .refused(let reasons):
                first.end()
                let message = reasons.last?.value?.message.quoted ?? "no readable reason"
                return trial.fail("a second instance is refused while the first lives: \(message)")
            }
            try compare("while a second instance lives")
            for load in loads { _ = try trial.follow(load, of: second) }
            second.end()
            try compare("after a second instance has ended")
            // A setting that is kept in static memory is one that two instances share.
            for (name, configuration) in try trial.otherConfigurations() {
                let apart = try trial.bodies(of: loads, with: configuration)
                guard case .started(let other) = try JudgedInstance.start(plugin, configuration, on: trial.bench) else { continue }
                try compare("while another instance has another '\(name)'")
                // … and the other way round.
                for (load, body) in zip(loads, apart ?? [])
                where try trial.follow(load, of: other).last?.body != body && !trial.varies(load) {
                    trial.fail("'\(load.url)': an instance with another '\(name)' gives other bytes beside the first than alone")
                }
                other.end()
            }
            first.end()
        },
        ConformanceCheck("REG-05", needsProcess: true) { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            let loads = try trial.loads(.any)
            func live() throws(Unjudged) {
                let instance = try trial.instance(of: plugin)
                for load in loads { _ = try trial.follow(load, of: instance) }
                instance.end()
            }
            // The first time, a library may keep what it needs for good.
            try live()
            let before = ProcessCensus.taken()
            try live()
            trial.fail(ProcessCensus.settledAdditions(since: before, within: .seconds(1)))
            trial.fail(ProcessCensus.taken().losses(since: before))
        },
        ConformanceCheck("REG-06") { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            for (name, wrong, configuration) in try trial.wrongConfigurations() {
                switch try JudgedInstance.start(plugin, configuration, on: trial.bench) {
                case .started(let instance):
                    instance.end()
                    trial.fail("it starts with \(wrong) for the setting '\(name)'")
                case .refused(let reasons):
                    let message = reasons.last?.value?.message
                    if message?.text?.contains(name) != true {
                        trial.fail("it refuses \(wrong) for '\(name)', and its message does not name it: \(message?.quoted ?? "(none)")")
                    }
                }
            }
        },
        ConformanceCheck("REG-07") { trial throws(Unjudged) in
            let instance = try trial.instance()
            for load in try trial.loads(.any) { _ = try trial.follow(load, of: instance) }
            instance.end()
            Patience.watch(.milliseconds(100))
            for call in instance.host.calls where call.isAfterEnd {
                trial.fail("it called host.\(call.function) after deinit had returned: \(call.text)")
            }
        },
    ]
}

extension Trial {
    /// What each of `loads` gives in an instance that is alone: of a copy of the library, which has static memory of its own. `nil` where a copy does not
    /// start, such as in a folder where it does not find what it needs.
    fileprivate func bodies(of loads: [ConformanceLoad], with configuration: PluginConfiguration) throws(Unjudged) -> [[UInt8]?]? {
        // `try?` because whether a copy opens is DESC-13's.
        guard let path = subject.library, let copy = try? JudgedLibrary.copy(of: path), let library = try? JudgedLibrary(at: copy.path),
            let entry = unsafe library.entry, let pointer = unsafe entry(PortolanVersion.major),
            case .started(let alone)? = try? unsafe JudgedInstance.start(DescribedPlugin(pointer), configuration, on: bench)
        else { return nil }
        let bodies = try loads.map { load throws(Unjudged) in try follow(load, of: alone).last?.body }
        alone.end()
        return bodies
    }
}
