// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanPlugins

/// REG: start and end of an instance.
extension RuleCatalogue {
    static let registration: [CheckedRule] = [
        .must(
            "REG-01", level: 1,
            "After 'init', 'deinit' and 'init' again, each start succeeds and gives the same handlers.",
            because: "The host starts a plugin again when its settings change.",
            remedy: "Undo in 'deinit' everything that 'init' did, and leave nothing in static memory that disturbs a second start."
        ) { context throws(CheckSkipped) in
            var handlerLists: Set<[String]> = []
            for ordinal in ["first", "second", "third"] {
                let plugin = try context.plugin()
                switch try ProbedInstance.start(plugin, context.configuration(), on: context.instanceContext) {
                case .refused(let reasons):
                    return context.fail(
                        "the \(ordinal) start is refused: \(reasons.last?.value?.message.quoted ?? "no readable reason is given")")
                case .started(let instance):
                    handlerLists.insert(plugin.handlers.map { "\($0.identifier.quoted) \($0.schemes.map(\.quoted))" })
                    instance.end()
                }
            }
            if handlerLists.count > 1 { context.fail("the handlers differ from one start to the next") }
        },
        .must(
            "REG-02", level: 1,
            "If the host offers no extension, 'init' succeeds or refuses with a message.",
            because: "Extensions are optional. A host may have none.",
            remedy: "Check the result of 'extension' before you use it. If you need the extension, refuse with PORTOLAN_ERROR_NOT_OFFERED."
        ) { context throws(CheckSkipped) in
            switch try ProbedInstance.start(context.plugin(), context.configuration(), offering: [], on: context.instanceContext) {
            case .started(let instance):
                instance.end()
            case .refused(let reasons):
                let text = reasons.last?.value?.message.text
                if text?.isEmpty != false { context.fail("it refuses a host without extensions, but gives no message that says why") }
            }
        },
        .must(
            "REG-03", level: 2,
            "If 'init' refuses, it leaks no memory, thread or file descriptor.",
            because: "The host does not call 'deinit' after a refusal, so nothing frees the rest.",
            remedy: "Free everything that 'init' created before you call 'give'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            var refusals = 0
            var noTime: CheckSkipped?
            let configurations = try context.wrongConfigurations()
            for (_, _, configuration) in configurations {
                // The first time, a library can create permanent state.
                if case .started(let instance) = try ProbedInstance.start(plugin, configuration, on: context.instanceContext) {
                    instance.end()
                    continue
                }
                refusals += 1
                func startAgain() throws(CheckSkipped) {
                    try context.checkDeadline()
                    if case .started(let instance) = try ProbedInstance.start(plugin, configuration, on: context.instanceContext) {
                        instance.end()
                    }
                }
                let before = ProcessResources.snapshot()
                for _ in 0..<3 { try startAgain() }
                context.fail(ProcessResources.settledAdditions(since: before, within: .milliseconds(500)))
                do throws(CheckSkipped) {
                    let growth = try CheckContext.heapGrowth(within: context.loadTimeLimit / configurations.count, startAgain)
                    if let growth {
                        context.fail("each of \(growth.rounds) rounds of \(growth.loadsPerRound) refusals left \(growth.phrase)")
                    }
                } catch {
                    noTime = error
                }
            }
            if let noTime { throw noTime }
            if refusals == 0 { throw CheckSkipped("no configuration was found that it refuses (REG-06)") }
        },
        .must(
            "REG-04", level: 3,
            "Two instances in one process share no state that a caller can see.",
            because: "Two loaders in a program may configure the same plugin differently.",
            remedy: "Store settings and state in the instance that 'init' returns."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let loads = try context.loads(.succeeds)
            let first = try context.instance(of: plugin)
            let usualBodies = try loads.map { load throws(CheckSkipped) in try context.follow(load, of: first).last?.body }
            func compare(_ circumstances: String) throws(CheckSkipped) {
                for (load, body) in zip(loads, usualBodies)
                where try context.follow(load, of: first).last?.body != body && !context.varies(load) {
                    context.fail("'\(load.url)' gave different bytes \(circumstances)")
                }
            }
            let second: ProbedInstance
            switch try ProbedInstance.start(plugin, context.configuration(), on: context.instanceContext) {
            case .started(let instance): second = instance
            case .refused(let reasons):
                first.end()
                let message = reasons.last?.value?.message.quoted ?? "no readable reason"
                return context.fail("a second instance is refused while the first lives: \(message)")
            }
            try compare("while a second instance lives")
            for load in loads { _ = try context.follow(load, of: second) }
            second.end()
            try compare("after a second instance has ended")
            // If a plugin stores a setting in static memory, two instances share the setting.
            for (name, configuration) in try context.otherConfigurations() {
                let separateBodies = try context.bodies(of: loads, with: configuration)
                guard case .started(let otherInstance) = try ProbedInstance.start(plugin, configuration, on: context.instanceContext) else {
                    continue
                }
                try compare("while another instance has another '\(name)'")
                // Also compares the results of the other instance with those of an instance of a copy of the library.
                for (load, body) in zip(loads, separateBodies ?? [])
                where try context.follow(load, of: otherInstance).last?.body != body && !context.varies(load) {
                    context.fail("'\(load.url)': an instance with another '\(name)' gave different bytes beside the first and alone")
                }
                otherInstance.end()
            }
            first.end()
        },
        .must(
            "REG-05", level: 2,
            "'deinit', called after the last load, leaves no thread, file descriptor or timer.",
            because: "A leftover thread or timer runs code of an instance that no longer exists.",
            remedy: "Join threads and close file descriptors in 'deinit'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let loads = try context.loads(.any)
            func runInstanceOnce() throws(CheckSkipped) {
                let instance = try context.instance(of: plugin)
                for load in loads { _ = try context.follow(load, of: instance) }
                instance.end()
            }
            // The first time, a library can create permanent state.
            try runInstanceOnce()
            let before = ProcessResources.snapshot()
            try runInstanceOnce()
            context.fail(ProcessResources.settledAdditions(since: before, within: .seconds(1)))
            context.fail(ProcessResources.snapshot().closedDescriptors(since: before))
        },
        .must(
            "REG-06", level: 2, needs: .setting,
            "If a setting has the wrong type, 'init' refuses with a message that names the setting.",
            because: "Without the name, the user has to search the whole settings file for the mistake.",
            remedy: "Check the kind of each setting, and put the name of the setting into the message."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            for (name, wrong, configuration) in try context.wrongConfigurations() {
                switch try ProbedInstance.start(plugin, configuration, on: context.instanceContext) {
                case .started(let instance):
                    instance.end()
                    context.fail("it starts with \(wrong) for the setting '\(name)'")
                case .refused(let reasons):
                    let message = reasons.last?.value?.message
                    if message?.text?.contains(name) != true {
                        context.fail(
                            "it refuses \(wrong) for '\(name)', but its message does not name the setting: \(message?.quoted ?? "(none)")")
                    }
                }
            }
        },
        .must(
            "REG-07", level: 2,
            "The plugin calls no function of the host after 'deinit' has returned.",
            because: "The memory of the host structure is freed by then.",
            remedy: "Before 'deinit' returns, stop every thread that may call the host."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) { _ = try context.follow(load, of: instance) }
            instance.end()
            Polling.sleep(.milliseconds(100))
            for call in instance.host.calls where call.isAfterEnd {
                context.fail("it called host.\(call.function) after deinit had returned: \(call.text)")
            }
        },
    ]
}

extension CheckContext {
    /// Returns the bodies of `loads` in the only instance of a copy of the library, which has its own static memory.
    /// Returns `nil` if the copy does not start, for example because its files are not in the folder of the copy.
    fileprivate func bodies(of loads: [ConformanceLoad], with configuration: PluginConfiguration) throws(CheckSkipped) -> [[UInt8]?]? {
        // `try?` because DESC-13 checks whether a copy opens.
        guard let path = target.library, let copy = try? ProbedLibrary.copy(of: path),
            let library = try? ProbedLibrary(at: copy.path, on: instanceContext),
            let entry = try? library.entry, let pointer = unsafe entry(PORTOLAN_ABI_MAJOR),
            case .started(let instance)? = try? unsafe ProbedInstance.start(DescribedPlugin(pointer), configuration, on: instanceContext)
        else { return nil }
        let bodies = try loads.map { load throws(CheckSkipped) in try follow(load, of: instance).last?.body }
        instance.end()
        return bodies
    }
}
