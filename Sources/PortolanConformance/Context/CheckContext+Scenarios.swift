// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import HTTPTypes
import PortolanCore
import PortolanPlugins
import Synchronization

/// Loads under conditions that several checks share.
extension CheckContext {
    /// Calls `body` with each load of `scenario`, in one new instance. Then does the same for the loads of `others`, as
    /// far as they can be checked.
    ///
    /// - Parameter isBlocking: Whether to include only blocking loads (`true`) or only event-driven loads (`false`);
    ///   `nil` includes both.
    /// - Throws: If there are no findings, and one of these conditions is true: there is no such load, `body` could
    ///   check none of them, or `body` could not check a load to which the rule applies. So a rule that was not checked
    ///   does not pass.
    func eachLoad(
        _ scenario: ConformanceRule.Scenario, and others: [ConformanceRule.Scenario], isBlocking: Bool? = nil,
        _ body: (ConformanceLoad, Request, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        var skipReason: CheckSkipped?
        do throws(CheckSkipped) {
            try eachLoad(scenario, isBlocking: isBlocking, body)
        } catch {
            skipReason = error
        }
        // `try?` because loads of the others that cannot be checked do not affect the first.
        for otherScenario in others { try? eachLoad(otherScenario, isBlocking: isBlocking, body) }
        guard findings.isEmpty else { return }
        if let skipReason { throw skipReason }
        try checkDeadline()
    }

    /// Does the same as ``eachLoad(_:and:isBlocking:_:)`` for one scenario.
    func eachLoad(
        _ scenario: ConformanceRule.Scenario, isBlocking: Bool? = nil,
        _ body: (ConformanceLoad, Request, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        let instance = try instance()
        var (hasChecked, skipReason) = (false, CheckSkipped?.none)
        let latestEnd = MonotonicTime.now + loadTimeLimit
        for load in try loads(scenario) {
            // If loads do not become idle, only as many are checked as the time limit permits.
            if !areAllLoadsIdle, MonotonicTime.now > latestEnd { break }
            let request = try request(load.url)
            guard let handler = try handler(for: request, of: instance) else { continue }
            if let isBlocking, handler.description.isBlocking != isBlocking { continue }
            do throws(CheckSkipped) {
                try body(load, request, instance)
                hasChecked = true
            } catch {
                if skipReason == nil || !error.isNotApplicable { skipReason = error }
            }
        }
        if areAllLoadsIdle { instance.end() }
        if hasChecked, skipReason?.isNotApplicable ?? true || !findings.isEmpty { return }
        throw skipReason ?? CheckSkipped("it does not apply: every load of that kind \(isBlocking == true ? "is event-driven" : "blocks")")
    }

    /// Does the same as ``perform(_:of:_:within:)``, but does not throw if the load does not end: LIFE-02 applies only
    /// to undisturbed loads.
    ///
    /// - Returns: `nil` if the load did not become idle. It is abandoned then.
    func recordWhenIdle(
        _ request: Request, of instance: ProbedInstance, _ script: ClientScript, within limit: Duration? = nil
    ) throws(CheckSkipped) -> LoadRecord? {
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        return recordWhenIdle(probedLoad, within: limit ?? loadTimeLimit)
    }

    /// Returns the record of a load that `script` stops at an event, which must come within the usual time limit.
    /// Returns `nil` if the load is not idle within a second after the stop.
    func recordOfStoppedLoad(_ request: Request, of instance: ProbedInstance, by script: ClientScript) throws(CheckSkipped) -> LoadRecord? {
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        let latestEnd = MonotonicTime.now + loadTimeLimit
        // The load can become idle without an end, and then no event stops it.
        while !probedLoad.waitUntilIdle(.milliseconds(20)), !probedLoad.client.state.withLock(\.isStopped), MonotonicTime.now < latestEnd {}
        return recordWhenIdle(probedLoad, within: stopTimeLimit)
    }

    /// Waits for a started load, destroys it, and returns its record; `nil` if the load does not become idle.
    func recordWhenIdle(_ probedLoad: ProbedLoad, within limit: Duration) -> LoadRecord? {
        guard probedLoad.waitUntilIdle(limit) else {
            areAllLoadsIdle = false
            return nil
        }
        probedLoad.destroy()
        return probedLoad.record
    }

    /// Returns the record of a load that is stopped while it delivers event `index`. The load is stopped after `time`
    /// (a second by default) if there is no such event, or if that event is an end. Returns `nil` if the load is not
    /// idle within a second after the stop.
    func recordOfStoppedLoad(
        _ request: Request, of instance: ProbedInstance, atEvent index: Int, orAfter time: Duration? = nil, _ script: ClientScript
    ) throws(CheckSkipped) -> LoadRecord? {
        let slot = Mutex<ProbedLoad?>(nil)
        let returned = ConditionLock<Bool?>(nil)
        var script = script
        let nextAction = script.whileDelivering
        script.whileDelivering = { event, call in
            nextAction?(event, call)
            guard event == index, !call.isEnd, let probedLoad = slot.withLock({ $0 }) else { return }
            if probedLoad.handler.description.isBlocking { _ = probedLoad.stopOnOtherThread(returned) } else { probedLoad.stop() }
        }
        let probedLoad = try make(request, of: instance, script)
        slot.withLock { $0 = probedLoad }
        defer { slot.withLock { $0 = nil } }
        try probedLoad.start()
        // Stops a load that has not delivered this event by now.
        if !probedLoad.waitUntilIdle(time ?? stopTimeLimit), !probedLoad.client.state.withLock(\.isStopped) { probedLoad.stop() }
        return recordWhenIdle(probedLoad, within: stopTimeLimit)
    }

    /// Returns the record of a started load; `nil` if the load does not end within a second. In that case, the load is
    /// stopped.
    private func recordIfEndedSoon(_ probedLoad: ProbedLoad) -> LoadRecord? {
        let hasEnded = probedLoad.waitUntilIdle(stopTimeLimit)
        if !hasEnded, !probedLoad.client.state.withLock(\.isStopped) { probedLoad.stop() }
        let record = recordWhenIdle(probedLoad, within: stopTimeLimit)
        return hasEnded ? record : nil
    }

    /// Returns the record of a load that is stopped while its challenge waits for an answer; `nil` if the load is not
    /// idle within a second after the stop.
    func recordStoppedInChallenge(_ request: Request, of instance: ProbedInstance, _ script: ClientScript) throws(CheckSkipped)
        -> LoadRecord?
    {
        var script = script
        script.decision = .never
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        _ = probedLoad.client.waitUntilHeld(atMost: stopTimeLimit)
        probedLoad.stop()
        return recordWhenIdle(probedLoad, within: stopTimeLimit)
    }

    /// Returns a load in a pause that does not end.
    ///
    /// - Throws: If the load ends before a pause, or does not deliver anything in time.
    func pausedLoad(
        _ request: Request, of instance: ProbedInstance, _ load: ConformanceLoad, at pauses: ClientScript.Pauses = .first
    ) throws(CheckSkipped) -> ProbedLoad {
        var script = Self.script(for: load)
        (script.pauses, script.pauseTime) = (pauses, nil)
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        let isPaused = probedLoad.client.waitUntilHeld(atMost: loadTimeLimit)
        guard isPaused == true else {
            probedLoad.stop()
            _ = recordWhenIdle(probedLoad, within: stopTimeLimit)
            guard isPaused == nil else { throw CheckSkipped.notApplicable("'\(load.url)' ends before it could be paused") }
            throw CheckSkipped("'\(load.url)' delivered nothing to pause within \(ValueFormatting.time(loadTimeLimit)) (LIFE-02)")
        }
        return probedLoad
    }

    /// Calls `action` while a load is paused at its first delivery, and while another load of the request is paused at
    /// its first body bytes, if it has a body. Stops each load afterwards.
    func eachPausedLoad(_ request: Request, of instance: ProbedInstance, _ load: ConformanceLoad, _ action: () -> Void) throws(CheckSkipped)
    {
        for pauses: ClientScript.Pauses in [.first, .body] {
            let probedLoad: ProbedLoad
            do throws(CheckSkipped) {
                probedLoad = try pausedLoad(request, of: instance, load, at: pauses)
            } catch {
                guard pauses == .body, error.isNotApplicable else { throw error }
                return
            }
            action()
            probedLoad.stop()
            _ = recordWhenIdle(probedLoad, within: stopTimeLimit)
        }
    }

    /// Calls `action` during the first event that matches `isMatchingCall`, and returns the record of the load; `nil`
    /// if the load does not become idle.
    func recordWhenIdle(
        _ request: Request, of instance: ProbedInstance, _ load: ConformanceLoad,
        at isMatchingCall: @escaping @Sendable (ClientCall) -> Bool = { _ in true }, whileDelivering action: () throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) -> LoadRecord? {
        let state = ConditionLock((isInside: Bool?.none, isReleased: false, isEarly: false))
        let caller = portolan_thread_number()
        var script = Self.script(for: load)
        script.whileDelivering = { _, call in
            guard state.withLock({ $0.isInside == nil }) else { return }
            guard isMatchingCall(call) else {
                if call.isEnd { state.withLockBroadcasting { $0.isInside = false } }
                return
            }
            // A wait on the runner's own thread would never end.
            guard portolan_thread_number() != caller else { return state.withLock { $0.isEarly = true } }
            state.withLockBroadcasting { $0.isInside = true }
            _ = state.wait(atMost: .seconds(5)) { $0.isReleased ? true : nil }
        }
        let probedLoad = try make(request, of: instance, script)
        if state.withLock(\.isEarly) { throw CheckSkipped("'\(load.url)' emits an event while it is being made (LIFE-01)") }
        try probedLoad.start()
        let isInside: Bool? = state.wait(atMost: loadTimeLimit) { $0.isInside }
        let skipReason: CheckSkipped?
        do throws(CheckSkipped) {
            guard let isInside else {
                throw CheckSkipped("'\(load.url)' had no event within \(ValueFormatting.time(loadTimeLimit)) (LIFE-02)")
            }
            guard isInside else { throw CheckSkipped.notApplicable("'\(load.url)' emits no such event") }
            try action()
            skipReason = nil
        } catch {
            skipReason = error
            probedLoad.stop()
        }
        state.withLockBroadcasting { $0.isReleased = true }
        let record = recordWhenIdle(probedLoad, within: loadTimeLimit)
        if let skipReason { throw skipReason }
        return record
    }

    /// Calls `body` with the records of loads with the method HEAD, of the URLs whose GET ends. Adds a failure if such
    /// a load does not end in the usual time.
    func eachHead(of scenario: ConformanceRule.Scenario, _ body: (ConformanceLoad, LoadRecord) -> Void) throws(CheckSkipped) {
        let instance = try instance()
        for load in try loads(scenario) where areAllLoadsIdle {
            var request = try request(load.url)
            guard try perform(request, of: instance, Self.script(for: load)).isIdle else { continue }
            request.method = .head
            guard try handler(for: request, of: instance) != nil else { continue }
            let probedLoad = try make(request, of: instance, Self.script(for: load))
            try probedLoad.start()
            let ends = probedLoad.waitUntilIdle(loadTimeLimit)
            if !ends {
                fail("'\(load.url)' did not end with the method HEAD within \(ValueFormatting.time(loadTimeLimit)), but it ends with GET")
                probedLoad.stop()
            }
            if let record = recordWhenIdle(probedLoad, within: stopTimeLimit), ends { body(load, record) }
        }
        if areAllLoadsIdle { instance.end() }
    }

    /// Calls `body` with the records of variants of each load: with `fields`, with pauses, with each of `policies`, and
    /// with each of `marks` appended to the URL, if a handler accepts the resulting URL. A load that takes more than a
    /// second is stopped and ignored.
    func eachVariant(
        of scenario: ConformanceRule.Scenario, marks: [String] = [""], fields: HTTPFields = [:], policies: [CachePolicy] = [.useProtocol],
        pausing: Bool = false, _ body: (ConformanceLoad, LoadRecord) -> Void
    ) throws(CheckSkipped) {
        let instance = try instance()
        for load in try loads(scenario) {
            for (mark, policy) in marks.flatMap({ mark in policies.map { (mark, $0) } }) {
                // `try?` because a text that is no URL never reaches a plugin.
                guard var request = try? request(load.url + mark), try handler(for: request, of: instance) != nil else { continue }
                for field in fields { request.fields[field.name] = field.value }
                request.cachePolicy = policy
                var script = Self.script(for: load)
                if pausing { script.pauses = .each }
                let probedLoad = try make(request, of: instance, script)
                try probedLoad.start()
                if let record = recordIfEndedSoon(probedLoad) { body(load, record) }
            }
        }
        if areAllLoadsIdle { instance.end() }
    }

    /// Calls `body` with the records of loads that get other decisions than the manifest says: challenges are
    /// cancelled, or get no credential or a wrong one, and redirects are not followed. A load that takes more than a
    /// second is stopped and ignored.
    ///
    /// - Parameter withStops: Whether to include loads that never start, and loads that are stopped while a challenge
    ///   waits.
    func eachUnusualEnd(withStops: Bool = false, _ body: (ConformanceLoad, LoadRecord) -> Void) throws(CheckSkipped) {
        let instance = try instance()
        for load in target.loads where load.isLoadable && load.tags.isDisjoint(with: [.hangs, .large]) {
            var scripts: [ClientScript] = []
            if withStops, let probedLoad = try? make(request(load.url), of: instance, Self.script(for: load)) {  // because some are refused
                probedLoad.stop()
                probedLoad.destroy()
                body(load, probedLoad.record)
            }
            if load.tags.contains(.challenges) {
                let answers: [[ClientScript.ChallengeAnswer]] = [[.cancel], [.without], [Self.wrongAnswer, Self.wrongAnswer, .cancel]]
                scripts += answers.map { answers in
                    var script = Self.script(for: load)
                    script.answer = { answers[min($0, answers.count - 1)] }
                    return script
                }
                if withStops {
                    var script = Self.script(for: load)
                    script.decision = .never
                    scripts.append(script)
                }
            }
            if load.tags.contains(.redirects) {
                var script = Self.script(for: load)
                script.followsRedirects = false
                scripts.append(script)
            }
            for script in scripts {
                // `try?` because a load that no handler accepts does not affect the others.
                guard let probedLoad = try? make(request(load.url), of: instance, script) else { continue }
                try probedLoad.start()
                if script.decision == .never {
                    _ = probedLoad.client.waitUntilHeld(atMost: stopTimeLimit)
                    probedLoad.stop()
                }
                if let record = recordIfEndedSoon(probedLoad) { body(load, record) }
            }
        }
        if areAllLoadsIdle { instance.end() }
    }

    /// The request of a load with user information in its URL; `nil` if the URL has no host, or no handler accepts the
    /// URL with user information.
    func request(
        of load: ConformanceLoad, user: String, password: String, to instance: ProbedInstance
    ) throws(CheckSkipped) -> Request? {
        guard let slashes = load.url.utf8.firstRange(of: "://".utf8) else { return nil }
        let text = load.url[..<slashes.upperBound] + "\(user):\(password)@" + load.url[slashes.upperBound...]
        guard let request = try? request(String(text)), try handler(for: request, of: instance) != nil  // because not every URL has a host
        else { return nil }
        return request
    }

    /// The request of a load and its client script; an upload if the load is tagged so.
    func requestAndScript(_ load: ConformanceLoad) throws(CheckSkipped) -> (Request, ClientScript) {
        if load.tags.contains(.uploads) { return try upload(load, Self.pieces, length: Self.length) }
        return (try request(load.url), Self.script(for: load))
    }

    /// The request and the client script of an upload of `pieces` to the URL of a load.
    ///
    /// - Parameter length: The length that the request announces, which can be larger than that of the pieces.
    func upload(_ load: ConformanceLoad, _ pieces: [[UInt8]], length: Int64?) throws(CheckSkipped) -> (Request, ClientScript) {
        var request = try request(load.url)
        request.method = .post
        request.body = Body(length: length, isRewindable: true) { () throws(LoadError) in
            // Joins whole pieces, because joining byte by byte is slow in a debug build.
            try Body.bytes(pieces.reduce(into: [UInt8]()) { $0 += $1 }).makeReader()
        }
        var script = Self.script(for: load)
        script.body = pieces
        return (request, script)
    }

    /// A credential that is never valid.
    static let wrongCredential = (user: "judge-u5er", password: "judge-s3cret")
    static let wrongAnswer = ClientScript.ChallengeAnswer.use(user: wrongCredential.user, password: wrongCredential.password)

    /// A body in pieces of several sizes.
    static let pieces: [[UInt8]] = (0..<7).map { piece in [UInt8](repeating: UInt8(piece + 65), count: 1 + piece * 1000) }
    /// The number of bytes in ``pieces``.
    static let length = Int64(pieces.reduce(0) { $0 + $1.count })
}
