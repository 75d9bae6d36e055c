// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Shared code of the FAULT checks: performs loads while the system refuses memory or threads.
extension RuleCatalogue {
    /// Stops a load on a thread that does not block SIGPIPE, so that the signal can end the process. Waits until the
    /// stop returns, but at most one second.
    static func stopOnThreadWithSIGPIPE(_ probedLoad: ProbedLoad) {
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

    /// Returns a check that performs each load several times. For each n, the system refuses the load's n-th request
    /// for the resource, and then all requests from the n-th on.
    ///
    /// - Parameters:
    ///   - noun: The name of one resource, for messages.
    ///   - objection: Returns why the check does not apply to a library; `nil` if it applies.
    static func survivesRefusals(
        _ resource: FaultInjection.Resource, _ noun: String, unless objection: @escaping @Sendable (ELFFile) -> String?
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            if let objection = objection(try ELFFile(at: context.libraryPath())) { throw CheckSkipped(objection) }
            guard FaultInjection.interpose(on: resource, for: try context.library()) else {
                throw CheckSkipped("it does not apply: the library requests no \(noun) from the system")
            }
            var skipReason: CheckSkipped?
            do throws(CheckSkipped) {
                try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                    _ = try context.perform(request, of: instance, CheckContext.script(for: load))
                    let resourcesBefore = ProcessResources.snapshot()
                    func refuseAll() throws(CheckSkipped) {
                        guard try context.expectResults(whenRefusing: noun, to: load, "", { instance }, { _ in }) else {
                            throw CheckSkipped.notApplicable("'\(load.url)' requests no \(noun) from the system")
                        }
                    }
                    try refuseAll()
                    var leftovers = ProcessResources.settledAdditions(since: resourcesBefore, within: .seconds(1))
                    // More rounds, because a pool that grows a few times is no leak.
                    if !leftovers.isEmpty { leftovers = try ProcessResources.leftBehind(within: .seconds(1), after: 8, refuseAll) }
                    context.fail(leftovers.map { "'\(load.url)', when \(noun)s are refused: \($0)" })
                }
            } catch {
                skipReason = error
            }
            // The same in new instances, for resources that are created once per instance: in `init`, or for its first
            // load.
            var hasChecked = false
            do throws(CheckSkipped) {
                for load in try context.loads(.succeeds) where context.areAllLoadsIdle && context.findings.isEmpty {
                    let plugin = try context.plugin()
                    let resourcesBefore = ProcessResources.snapshot()
                    let requestsResource = try context.expectResults(whenRefusing: noun, to: load, "in a new instance, ") {
                        () throws(CheckSkipped) in
                        switch try ProbedInstance.start(plugin, context.configuration(), on: context.instanceContext) {
                        case .started(let instance): instance
                        case .refused: nil
                        }
                    } _: {
                        $0.end()
                    }
                    let leftovers = ProcessResources.settledAdditions(since: resourcesBefore, within: .seconds(1))
                    context.fail(leftovers.map { "'\(load.url)', in a new instance, when \(noun)s are refused: \($0)" })
                    hasChecked = hasChecked || requestsResource
                }
            } catch {
                // The earlier results stay valid.
                if skipReason != nil { skipReason = error }
            }
            if let skipReason, context.findings.isEmpty, !hasChecked || !skipReason.isNotApplicable { throw skipReason }
        }
    }
}

extension CheckContext {
    /// Performs a load twice for each of the first hundred resource requests of the load and its instance. The first
    /// time, refuses only this request; the second time, refuses all later requests, too.
    ///
    /// - Parameters:
    ///   - instance: Provides the instance for each load. Returns `nil` if the plugin refuses to start, which is valid.
    ///   - end: Called with the instance after the end of its load.
    /// - Returns: Whether the load or its instance requests the resource.
    fileprivate func expectResults(
        whenRefusing noun: String, to load: ConformanceLoad, _ circumstances: String,
        _ instance: () throws(CheckSkipped) -> ProbedInstance?,
        _ end: (ProbedInstance) -> Void
    ) throws(CheckSkipped) -> Bool {
        let (request, script) = (try request(load.url), Self.script(for: load))
        FaultInjection.allowAll()
        guard let first = try instance() else { return false }
        let usualResult = LoadResult(try perform(request, of: first, script))
        end(first)
        let count = FaultInjection.callCount
        for callNumber in 1..<min(count, 100) + 1 {
            for lastCallNumber in [callNumber, Int.max - 1] {
                try checkDeadline()
                FaultInjection.refuse(callNumber...lastCallNumber)
                defer { FaultInjection.allowAll() }
                let phrase =
                    lastCallNumber == callNumber
                    ? "when \(noun) \(callNumber) is refused" : "when each \(noun) from number \(callNumber) on is refused"
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
                FaultInjection.allowAll()
                guard let record else {
                    fail("'\(load.url)' did not end \(circumstances)\(phrase)")
                    return true
                }
                end(instance)
                expect(record, usualResult, load, circumstances + phrase)
            }
        }
        return count > 0
    }
}

extension CheckContext {
    /// Makes, performs and destroys a load on a separate thread, because a load that tries to end the process blocks
    /// its thread for ever.
    ///
    /// - Returns: Whether the load ended, if necessary after a stop.
    func performOnSeparateThread(_ request: Request, _ handler: ProbedHandler, _ script: ClientScript) throws(CheckSkipped) -> Bool {
        try checkDeadline()
        let state = ConditionLock((probedLoad: ProbedLoad?.none, isOver: false))
        do throws(LoadError) {
            try PlatformThread.start {
                // `try?` because a load that cannot be made is over.
                let probedLoad = try? ProbedLoad(RequestImage(request, handler.instance.argumentMemory), handler, script)
                state.withLockBroadcasting { $0.probedLoad = probedLoad }
                probedLoad?.runOnThisThread()
                probedLoad?.destroy()
                state.withLockBroadcasting { $0.isOver = true }
            }
        } catch {
            throw CheckSkipped.resourceShortage(error.message)
        }
        if state.waitForProcessorTime(atMost: stopTimeLimit, for: { $0.isOver ? true : nil }) == true { return true }
        if FaultInjection.attemptedEndFunction == nil { state.withLock(\.probedLoad)?.stop() }
        return state.waitForProcessorTime(atMost: stopTimeLimit) { $0.isOver ? true : nil } == true
    }

    /// Reports a finding if a load gave neither an error nor its usual result.
    func expect(_ record: LoadRecord, _ usualResult: LoadResult, _ load: ConformanceLoad, _ phrase: String) {
        let result = LoadResult(record)
        guard result != usualResult, record.failure?.value == nil, !varies(load) else { return }
        fail("'\(load.url)' gave \(result.phrase) \(phrase), and no error; otherwise it gives \(usualResult.phrase)")
    }
}
