// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import HTTPTypes
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// FAULT, for failures of the system or the host: memory, threads, space, peers, and functions of the host.
extension ConformanceCheck {
    static let refusals: [ConformanceCheck] = [
        refused("FAULT-01", .memory, "allocation") { file in
            let language = file.hasSwift ? "Swift" : file.hasRust ? "Rust" : nil
            return language.map { "the library contains \($0), whose runtime ends the process when there is no memory" }
        },
        refused("FAULT-03", .threads, "thread") { _ in nil },
        ConformanceCheck("FAULT-05", needsProcess: true) { context throws(CheckSkipped) in
            // The default disposition, as in a program without sockets (`signal(7)`): SIGPIPE ends it. The load's
            // thread blocks the signal; the thread of a stop need not.
            signal(SIGPIPE, SIG_DFL)
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                for stops in [false, true] {
                    let before = Set(ProcessResources.descriptors().keys)
                    let closed = Mutex(false)
                    let slot = Mutex<ProbedLoad?>(nil)
                    let (request, plain) = try context.scene(load)
                    var script = plain
                    script.whileDelivering = { index, call in
                        guard index == 0 else { return }
                        for number in ProcessResources.descriptors().keys where !before.contains(number) {
                            if shutdown(number, Int32(SHUT_RDWR)) == 0 { closed.withLock { $0 = true } }
                        }
                        if stops, !call.isEnd, let made = slot.withLock(\.self) { stopElsewhere(made) }
                    }
                    let made = try context.make(request, of: instance, script)
                    slot.withLock { $0 = made }
                    defer { slot.withLock { $0 = nil } }
                    try made.start()
                    guard context.settled(made, within: context.patience) != nil else {
                        return context.fail("'\(load.url)' did not end when its sockets had been shut down")
                    }
                    guard closed.withLock(\.self) else { throw CheckSkipped.other("'\(load.url)' has no socket open at its first event") }
                }
            }
        },
        ConformanceCheck("FAULT-06", needsProcess: true) { context throws(CheckSkipped) in
            // No file may grow: write(2) returns EFBIG, as it returns ENOSPC on a full disk.
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = SIG_IGN
            var (none, limit) = (rlimit(), rlimit())
            let file = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            guard unsafe sigaction(SIGXFSZ, &action, &old) == 0, unsafe getrlimit(file, &limit) == 0 else {
                throw CheckSkipped("the limit of files can't be read")
            }
            defer { unsafe sigaction(SIGXFSZ, &old, nil) }
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                let (request, script) = try context.scene(load)
                let alone = LoadResult(try context.perform(request, of: instance, script))
                none = limit
                none.rlim_cur = 0
                guard unsafe setrlimit(file, &none) == 0 else { throw CheckSkipped("the limit of files can't be set") }
                defer { _ = unsafe setrlimit(file, &limit) }
                guard let record = try context.settled(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end when no file could grow")
                }
                context.expect(record, alone, load, "when no file can grow")
            }
        },
        ConformanceCheck("FAULT-07") { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let scenes = try context.loads(.any).map { load throws(CheckSkipped) in (load, try context.scene(load)) }
            let full = try context.instance(of: plugin)
            let usual = try scenes.map { _, scene throws(CheckSkipped) in LoadResult(try context.perform(scene.0, of: full, scene.1)) }
            full.end()
            let all = TestHost.allExtensions
            // A host without each of the extensions, a host without any, and a host that has no more watches.
            for offered in all.map({ all.subtracting([$0]) }) + [[], all] {
                let start = try ProbedInstance.start(plugin, context.configuration(), offering: offered, on: context.instanceContext)
                guard case .started(let instance) = start else { continue }
                let words =
                    offered == all
                    ? "when nothing can be watched"
                    : "with a host that offers \(offered.sorted().first.map { "only \($0)" } ?? "no extension")"
                for (index, (load, scene)) in scenes.enumerated() {
                    // A handler that refuses the request then has responded correctly.
                    guard try context.handler(for: scene.0, of: instance) != nil else { continue }
                    var script = scene.1
                    script.refusesWatches = offered == all
                    guard let record = try context.settled(scene.0, of: instance, script) else {
                        context.fail("'\(load.url)' did not end \(words)")
                        continue
                    }
                    context.expect(record, usual[index], load, words)
                }
                if context.areAllIdle { instance.end() }
            }
        },
        ConformanceCheck("ERR-07", needsProcess: true) { context throws(CheckSkipped) in
            let library = try context.library()
            _ = FaultInjection.serve(.end, to: library)
            signal(SIGPIPE, SIG_DFL)
            let before = ProcessEnvironment.taken()
            let instance = try context.instance()
            for load in try context.loads(.any) {
                // Methods that may change something use a path that does not exist.
                for method in ["GET", "JUDGE", "DELETE"] {
                    for rest in method == "GET"
                        ? ["", "/judge/nothing-there", "?judge=%00%ff", "%00", "/%0d%0a"] : ["/judge/nothing-there"]
                    {
                        // `try?` because a text that is no URL never reaches a plugin.
                        guard var request = try? context.request(load.url + rest) else { continue }
                        request.method = .init(method) ?? .get
                        guard let handler = try context.handler(for: request, of: instance) else { continue }
                        let isOver = try context.isOver(request, handler, CheckContext.script(for: load))
                        if let function = FaultInjection.triedToEndBy {
                            return context.fail("\(method) of \(request.url.shortDescription) called \(function)")
                        }
                        if !isOver { throw CheckSkipped("\(request.url.shortDescription) was still running after a stop (LIFE-06)") }
                    }
                }
            }
            let changed = ProcessEnvironment.taken().signals(handledOtherwiseThan: before)
            if !changed.isEmpty {
                context.fail("it changed the handlers of the signals \(changed.map(String.init).joined(separator: ", "))")
            }
            instance.end()
        },
    ]

    /// Stops a load on a thread that does not block SIGPIPE, so that the signal may end the process. Waits up to a
    /// second.
    private static func stopElsewhere(_ made: ProbedLoad) {
        let hasReturned = ConditionLock(false)
        // `try?` because without a thread nothing is stopped, and the load reaches its end.
        try? PlatformThread.start {
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGPIPE)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            made.stop()
            hasReturned.withLockBroadcasting { $0 = true }
        }
        _ = hasReturned.wait(atMost: .seconds(1)) { $0 ? true : nil }
    }

    /// Performs each load with its n-th call for `resource` refused, and with all calls from the n-th on refused, for
    /// every n.
    private static func refused(
        _ id: String, _ resource: FaultInjection.Resource, _ noun: String, unless objection: @escaping @Sendable (ELFFile) -> String?
    ) -> ConformanceCheck {
        ConformanceCheck(id, needsProcess: true) { context throws(CheckSkipped) in
            if let objection = objection(try ELFFile(at: context.libraryPath())) { throw CheckSkipped(objection) }
            guard FaultInjection.serve(resource, to: try context.library()) else {
                throw CheckSkipped("it does not apply: the library requests no \(noun) from the system")
            }
            var reason: CheckSkipped?
            do throws(CheckSkipped) {
                try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                    _ = try context.perform(request, of: instance, CheckContext.script(for: load))
                    let before = ProcessResources.taken()
                    func refuseAll() throws(CheckSkipped) {
                        guard try context.expectAnswers(where: noun, isRefusedTo: load, "", { instance }, { _ in }) else {
                            throw CheckSkipped.other("'\(load.url)' requests no \(noun) from the system")
                        }
                    }
                    try refuseAll()
                    var left = ProcessResources.settledAdditions(since: before, within: .seconds(1))
                    // A pool that grows is no leak.
                    if !left.isEmpty { left = try ProcessResources.leftBehind(within: .seconds(1), after: 8, refuseAll) }
                    context.fail(left.map { "'\(load.url)', when \(noun)s are refused: \($0)" })
                }
            } catch {
                reason = error
            }
            // … and resources that are created once per instance: in init, or for its first load.
            var isJudged = false
            do throws(CheckSkipped) {
                for load in try context.loads(.succeeds) where context.areAllIdle && context.findings.isEmpty {
                    let plugin = try context.plugin()
                    let before = ProcessResources.taken()
                    let isAsked = try context.expectAnswers(where: noun, isRefusedTo: load, "in a new instance, ") {
                        () throws(CheckSkipped) in
                        switch try ProbedInstance.start(plugin, context.configuration(), on: context.instanceContext) {
                        case .started(let instance): instance
                        case .refused: nil
                        }
                    } _: {
                        $0.end()
                    }
                    let left = ProcessResources.settledAdditions(since: before, within: .seconds(1))
                    context.fail(left.map { "'\(load.url)', in a new instance, when \(noun)s are refused: \($0)" })
                    isJudged = isJudged || isAsked
                }
            } catch {
                // The earlier results stay valid.
                if reason != nil { reason = error }
            }
            if let reason, context.findings.isEmpty, !isJudged || !reason.isOther { throw reason }
        }
    }
}

extension CheckContext {
    /// Performs a load once for each resource request of the load and its instance, with that request refused.
    ///
    /// - Parameters:
    ///   - instance: Provides the instance for each load; `nil` if the plugin refuses to start, which is valid.
    ///   - end: Called with the instance when its load is over.
    /// - Returns: Whether there are such requests.
    fileprivate func expectAnswers(
        where noun: String, isRefusedTo load: ConformanceLoad, _ circumstances: String,
        _ instance: () throws(CheckSkipped) -> ProbedInstance?,
        _ end: (ProbedInstance) -> Void
    ) throws(CheckSkipped) -> Bool {
        let (request, script) = (try request(load.url), Self.script(for: load))
        FaultInjection.count()
        guard let first = try instance() else { return false }
        let usual = LoadResult(try perform(request, of: first, script))
        end(first)
        let count = FaultInjection.callCount
        for place in 1..<min(count, 100) + 1 {
            for last in [place, Int.max - 1] {
                try keepsTime()
                FaultInjection.refuse(place...last)
                defer { FaultInjection.count() }
                let words = last == place ? "when \(noun) \(place) is refused" : "when each \(noun) from number \(place) on is refused"
                guard let instance = try instance() else { continue }
                let made: ProbedLoad
                do throws(CheckSkipped) {
                    made = try make(request, of: instance, script)
                } catch {
                    // The plugin refuses the request then, which is valid.
                    end(instance)
                    continue
                }
                try made.start()
                let record = settled(made, within: patience)
                FaultInjection.count()
                guard let record else {
                    fail("'\(load.url)' did not end \(circumstances)\(words)")
                    return true
                }
                end(instance)
                expect(record, usual, load, circumstances + words)
            }
        }
        return count > 0
    }
}

extension CheckContext {
    /// Makes, performs and destroys a load on a separate thread, because a load that tries to end the process waits
    /// there for ever.
    ///
    /// - Returns: Whether it became idle, if necessary after a stop.
    fileprivate func isOver(_ request: Request, _ handler: ProbedHandler, _ script: ClientScript) throws(CheckSkipped) -> Bool {
        try keepsTime()
        let state = ConditionLock((made: ProbedLoad?.none, isOver: false))
        do throws(LoadError) {
            try PlatformThread.start {
                // `try?` because a load that cannot be made is over.
                let made = try? ProbedLoad(RequestImage(request, handler.instance.argumentMemory), handler, script)
                state.withLockBroadcasting { $0.made = made }
                made?.runHere()
                made?.destroy()
                state.withLockBroadcasting { $0.isOver = true }
            }
        } catch {
            throw CheckSkipped.lack(error.message)
        }
        if state.wait(atMost: shortPatience, for: { $0.isOver ? true : nil }) == true { return true }
        if FaultInjection.triedToEndBy == nil { state.withLock(\.made)?.stop() }
        return state.wait(atMost: shortPatience) { $0.isOver ? true : nil } == true
    }

    /// Fails if a load gave neither an error nor its usual result.
    fileprivate func expect(_ record: LoadRecord, _ usual: LoadResult, _ load: ConformanceLoad, _ words: String) {
        let found = LoadResult(record)
        guard found != usual, record.failure?.value == nil, !varies(load) else { return }
        fail("'\(load.url)' gave \(found.words) \(words), and no error; otherwise it gives \(usual.words)")
    }
}
