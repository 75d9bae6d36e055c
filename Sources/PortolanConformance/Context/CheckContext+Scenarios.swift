// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import HTTPTypes
import PortolanCore
import PortolanPlugins
import Synchronization

/// Loads under conditions that several checks share.
extension CheckContext {
    /// Calls `body` with each load of `scenario` whose handler has the requested style, in one new instance. Then does
    /// the same for the loads of `others`, as far as they can be checked.
    ///
    /// - Throws: If there is no such load, if `body` could check none, or if it could not check a load that the rule
    ///   applies to and found nothing in the others. A rule without evidence does not pass.
    func eachLoad(
        _ scenario: ConformanceRule.Scenario, and others: [ConformanceRule.Scenario], isBlocking: Bool? = nil,
        _ body: (ConformanceLoad, Request, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        var reason: CheckSkipped?
        do throws(CheckSkipped) {
            try eachLoad(scenario, isBlocking: isBlocking, body)
        } catch {
            reason = error
        }
        // `try?` because loads of the others that cannot be checked do not affect the first.
        for other in others { try? eachLoad(other, isBlocking: isBlocking, body) }
        guard findings.isEmpty else { return }
        if let reason { throw reason }
        try checkDeadline()
    }

    /// Does the same as ``eachLoad(_:and:isBlocking:_:)`` for one scenario.
    func eachLoad(
        _ scenario: ConformanceRule.Scenario, isBlocking: Bool? = nil,
        _ body: (ConformanceLoad, Request, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        let instance = try instance()
        var (isJudged, reason) = (false, CheckSkipped?.none)
        let end = MonotonicTime.now + loadTimeLimit
        for load in try loads(scenario) {
            // If loads do not become idle, the time is over before all of them have shown that.
            if !areAllIdle, MonotonicTime.now > end { break }
            let request = try request(load.url)
            guard let handler = try handler(for: request, of: instance) else { continue }
            if let isBlocking, handler.description.isBlocking != isBlocking { continue }
            do throws(CheckSkipped) {
                try body(load, request, instance)
                isJudged = true
            } catch {
                if reason == nil || !error.isNotApplicable { reason = error }
            }
        }
        if areAllIdle { instance.end() }
        if isJudged, reason?.isNotApplicable ?? true || !findings.isEmpty { return }
        throw reason ?? CheckSkipped("it does not apply: every load of that kind \(isBlocking == true ? "is event-driven" : "blocks")")
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

    /// The record of a load that `script` stops at an event, for which the load has the usual time; `nil` if it is not
    /// idle within a second after that.
    func recordOfStoppedLoad(_ request: Request, of instance: ProbedInstance, by script: ClientScript) throws(CheckSkipped) -> LoadRecord? {
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        let end = MonotonicTime.now + loadTimeLimit
        // The load can become idle without an end, and then no event reaches the client.
        while !probedLoad.waitUntilIdle(.milliseconds(20)), !probedLoad.client.state.withLock(\.isStopped), MonotonicTime.now < end {}
        return recordWhenIdle(probedLoad, within: stopTimeLimit)
    }

    /// The record of a started load; `nil` if it does not become idle.
    func recordWhenIdle(_ probedLoad: ProbedLoad, within limit: Duration) -> LoadRecord? {
        guard probedLoad.waitUntilIdle(limit) else {
            areAllIdle = false
            return nil
        }
        probedLoad.destroy()
        return probedLoad.record
    }

    /// The record of a load that is stopped while its event `index` is being delivered, if that event is no end, or
    /// after `time` (a second by default) without it; `nil` if it is not idle within a second after that.
    func recordOfStoppedLoad(
        _ request: Request, of instance: ProbedInstance, atEvent index: Int, orAfter time: Duration? = nil, _ script: ClientScript
    ) throws(CheckSkipped) -> LoadRecord? {
        let slot = Mutex<ProbedLoad?>(nil)
        let returned = ConditionLock<Bool?>(nil)
        var script = script
        let others = script.whileDelivering
        script.whileDelivering = { event, call in
            others?(event, call)
            guard event == index, !call.isEnd, let probedLoad = slot.withLock({ $0 }) else { return }
            if probedLoad.handler.description.isBlocking { _ = probedLoad.stopsElsewhere(returned) } else { probedLoad.stop() }
        }
        let probedLoad = try make(request, of: instance, script)
        slot.withLock { $0 = probedLoad }
        defer { slot.withLock { $0 = nil } }
        try probedLoad.start()
        // A load without such an event by now is stopped where it is.
        if !probedLoad.waitUntilIdle(time ?? stopTimeLimit), !probedLoad.client.state.withLock(\.isStopped) { probedLoad.stop() }
        return recordWhenIdle(probedLoad, within: stopTimeLimit)
    }

    /// The record of a started load; `nil` if it does not end within a second. It is then stopped, unless it was
    /// stopped before.
    private func recordIfEndedSoon(_ probedLoad: ProbedLoad) -> LoadRecord? {
        let isOver = probedLoad.waitUntilIdle(stopTimeLimit)
        if !isOver, !probedLoad.client.state.withLock(\.isStopped) { probedLoad.stop() }
        let record = recordWhenIdle(probedLoad, within: stopTimeLimit)
        return isOver ? record : nil
    }

    /// The record of a load that is stopped while its challenge waits for an answer; `nil` if it is not idle within a
    /// second after that.
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

    /// A load in a pause that does not end.
    ///
    /// - Throws: If it ends before a pause.
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

    /// Calls `body` while a load is paused at its first delivery, and while another is paused at its first bytes, if it
    /// has a body. Stops each load afterwards.
    func eachPausedLoad(_ request: Request, of instance: ProbedInstance, _ load: ConformanceLoad, _ body: () -> Void) throws(CheckSkipped) {
        for pauses: ClientScript.Pauses in [.first, .body] {
            let probedLoad: ProbedLoad
            do throws(CheckSkipped) {
                probedLoad = try pausedLoad(request, of: instance, load, at: pauses)
            } catch {
                guard pauses == .body, error.isNotApplicable else { throw error }
                return
            }
            body()
            probedLoad.stop()
            _ = recordWhenIdle(probedLoad, within: stopTimeLimit)
        }
    }

    /// Calls `body` during the first event that matches `isPlace`, and returns the record of the load; `nil` if the
    /// load does not become idle.
    func recordWhenIdle(
        _ request: Request, of instance: ProbedInstance, _ load: ConformanceLoad,
        at isPlace: @escaping @Sendable (ClientCall) -> Bool = { _ in true }, whileDelivering body: () throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) -> LoadRecord? {
        let state = ConditionLock((isInside: Bool?.none, isReleased: false, isEarly: false))
        let caller = portolan_thread_number()
        var script = Self.script(for: load)
        script.whileDelivering = { _, call in
            guard state.withLock({ $0.isInside == nil }) else { return }
            guard isPlace(call) else {
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
        let reason: CheckSkipped?
        do throws(CheckSkipped) {
            guard let isInside else {
                throw CheckSkipped("'\(load.url)' had no event within \(ValueFormatting.time(loadTimeLimit)) (LIFE-02)")
            }
            guard isInside else { throw CheckSkipped.notApplicable("'\(load.url)' emits no such event") }
            try body()
            reason = nil
        } catch {
            reason = error
            probedLoad.stop()
        }
        state.withLockBroadcasting { $0.isReleased = true }
        let record = recordWhenIdle(probedLoad, within: loadTimeLimit)
        if let reason { throw reason }
        return record
    }

    /// Calls `body` with the record of each load, with `fields`, pauses, each of `policies`, and each of `marks`
    /// appended to its URL, if the result is a URL that a handler accepts. A load that takes more than a second is
    /// stopped and ignored.
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
        if areAllIdle { instance.end() }
    }

    /// Calls `body` with the records of loads that are not answered as their manifest says: challenges that are
    /// cancelled, have no credential or a wrong one, and redirects that are not followed. A load that takes more than a
    /// second is stopped and ignored.
    ///
    /// - Parameter withStops: Whether to include loads that never start, and loads that are stopped while a challenge
    ///   waits.
    func eachOtherEnd(withStops: Bool = false, _ body: (ConformanceLoad, LoadRecord) -> Void) throws(CheckSkipped) {
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
                script.takesRedirects = false
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
        if areAllIdle { instance.end() }
    }

    /// The request of a load with user information in its URL; `nil` if the URL cannot contain it, or no handler
    /// accepts the URL then.
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

    /// The upload of `pieces`.
    func upload(_ load: ConformanceLoad, _ pieces: [[UInt8]], length: Int64?) throws(CheckSkipped) -> (Request, ClientScript) {
        var request = try request(load.url)
        // Piece by piece, because many loads run this code, and byte by byte is slow without optimisation.
        let bytes = pieces.reduce(into: [UInt8]()) { $0 += $1 }
        request.method = .post
        request.body =
            length == nil
            ? Body(length: nil, isRewindable: true) { () throws(LoadError) in try Body.bytes(bytes).makeReader() } : .bytes(bytes)
        var script = Self.script(for: load)
        script.body = pieces
        return (request, script)
    }

    /// A credential that is never valid.
    static let wrongCredential = (user: "judge-u5er", password: "judge-s3cret")
    static let wrongAnswer = ClientScript.ChallengeAnswer.use(user: wrongCredential.user, password: wrongCredential.password)

    /// A body in pieces of several sizes.
    static let pieces: [[UInt8]] = (0..<7).map { piece in [UInt8](repeating: UInt8(piece + 65), count: 1 + piece * 1000) }
    static let length = Int64(pieces.reduce(0) { $0 + $1.count })
}
