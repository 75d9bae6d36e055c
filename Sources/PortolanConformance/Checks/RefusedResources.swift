// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the checks of FAULT share: memory and threads that the system refuses, and loads beside a failure.
extension RuleCatalogue {
    /// Stops a load on a thread that does not block SIGPIPE, so that the signal can end the process. Waits up to a
    /// second.
    static func stopElsewhere(_ probedLoad: ProbedLoad) {
        let hasReturned = ConditionLock(false)
        // `try?` because without a thread nothing is stopped, and the load reaches its end.
        try? PlatformThread.start {
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGPIPE)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            probedLoad.stop()
            hasReturned.withLockBroadcasting { $0 = true }
        }
        _ = hasReturned.wait(atMost: .seconds(1)) { $0 ? true : nil }
    }

    /// Performs each load with its n-th call for `resource` refused, and with all calls from the n-th on refused, for
    /// every n.
    static func refused(
        _ resource: FaultInjection.Resource, _ noun: String, unless objection: @escaping @Sendable (ELFFile) -> String?
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
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
                            throw CheckSkipped.notApplicable("'\(load.url)' requests no \(noun) from the system")
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
            if let reason, context.findings.isEmpty, !isJudged || !reason.isNotApplicable { throw reason }
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
                try checkDeadline()
                FaultInjection.refuse(place...last)
                defer { FaultInjection.count() }
                let phrase = last == place ? "when \(noun) \(place) is refused" : "when each \(noun) from number \(place) on is refused"
                guard let instance = try instance() else { continue }
                let probedLoad: ProbedLoad
                do throws(CheckSkipped) {
                    probedLoad = try make(request, of: instance, script)
                } catch {
                    // The plugin refuses the request then, which is valid.
                    end(instance)
                    continue
                }
                try probedLoad.start()
                let record = recordWhenIdle(probedLoad, within: loadTimeLimit)
                FaultInjection.count()
                guard let record else {
                    fail("'\(load.url)' did not end \(circumstances)\(phrase)")
                    return true
                }
                end(instance)
                expect(record, usual, load, circumstances + phrase)
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
    func isOver(_ request: Request, _ handler: ProbedHandler, _ script: ClientScript) throws(CheckSkipped) -> Bool {
        try checkDeadline()
        let state = ConditionLock((probedLoad: ProbedLoad?.none, isOver: false))
        do throws(LoadError) {
            try PlatformThread.start {
                // `try?` because a load that cannot be made is over.
                let probedLoad = try? ProbedLoad(RequestImage(request, handler.instance.argumentMemory), handler, script)
                state.withLockBroadcasting { $0.probedLoad = probedLoad }
                probedLoad?.runHere()
                probedLoad?.destroy()
                state.withLockBroadcasting { $0.isOver = true }
            }
        } catch {
            throw CheckSkipped.resourceShortage(error.message)
        }
        if state.wait(atMost: stopTimeLimit, for: { $0.isOver ? true : nil }) == true { return true }
        if FaultInjection.triedToEndBy == nil { state.withLock(\.probedLoad)?.stop() }
        return state.wait(atMost: stopTimeLimit) { $0.isOver ? true : nil } == true
    }

    /// Fails if a load gave neither an error nor its usual result.
    func expect(_ record: LoadRecord, _ usual: LoadResult, _ load: ConformanceLoad, _ phrase: String) {
        let found = LoadResult(record)
        guard found != usual, record.failure?.value == nil, !varies(load) else { return }
        fail("'\(load.url)' gave \(found.phrase) \(phrase), and no error; otherwise it gives \(usual.phrase)")
    }
}
