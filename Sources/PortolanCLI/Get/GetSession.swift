// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanPlugins

/// The loads of one `get`, one after another, and the signal that can end them.
final class GetSession: Sendable {
    private struct State {
        var load: GetLoad?
        var interruption: ExitStatus?
        var hasReportedInterruption = false
    }

    /// How long the program waits for a load that must end. After that the program exits, because a write can block the
    /// thread of the load.
    private static let grace = Duration.seconds(1)

    private let monitor = ConditionLock(State())

    /// The exit status for the signal that arrived, or `nil`.
    var interruption: ExitStatus? { monitor.withLock { $0.interruption } }

    /// Loads one URL to its end, with retries if the user requested them. Reports a failure, and returns it.
    ///
    /// - Parameter body: the request body, or the reason why the body is not available.
    func load(
        _ url: String, sending body: Result<Body?, Failure>, with command: GetCommand, _ netrc: NetrcCredentials?, on loader: Loader,
        unusablePlugins: [PluginProblem],
        trace: TraceFile?
    ) -> Failure? {
        let observers = command.output.makeObservers(trace, checksTrust: !command.http.trustsEveryServer)
        var schedule = command.retries.schedule
        var firstAttemptStart: Duration?
        while true {
            var load: GetLoad?
            do throws(Failure) {
                let body = try body.get()
                let attempt = try makeLoad(url, sending: body, with: command, netrc, observers, firstAttemptStart) {
                    [schedule] retryableFailure, elapsed in
                    let decision = schedule.decide(after: retryableFailure, elapsed: elapsed)
                    guard case .wait = decision, body?.isSpent == true else { return decision }
                    return .giveUp(reason: "the request's body can be read only once")
                }
                load = attempt.load
                firstAttemptStart = attempt.load.firstAttemptStart
                defer { reportWhyNotRetried(attempt.load, command) }
                try run(attempt.load, attempt.request, on: loader)
                return nil
            } catch {
                if interruption == nil, let retry = load?.retry,
                    waitForNextAttempt(retry, after: error, schedule, observers, at: load?.elapsed ?? .zero)
                {
                    schedule.countRetry()
                    continue
                }
                let failure = error.status == .unsupportedScheme ? error.suggestingURL(for: url) : error
                return report(failure.mentioning(unusablePlugins), to: observers, at: load?.elapsed ?? .zero)
            }
        }
    }

    private func makeLoad(
        _ url: String, sending body: Body?, with command: GetCommand, _ netrc: NetrcCredentials?, _ observers: [any LoadObserver],
        _ firstAttemptStart: Duration?,
        decideRetry: @escaping @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision
    ) throws(Failure) -> (load: GetLoad, request: Request) {
        var request = try command.request.request(for: url, sending: body, netrc: netrc)
        let netrcPassword = netrc?.apply(to: &request)
        command.state.addCookies(to: &request)
        let output = try command.output.makeOutput(for: &request)
        command.request.removeOmittedFields(of: &request)
        let load = GetLoad(
            output: output, observers: observers, includesHead: command.output.includesHead || command.request.sendsHEAD,
            // `ResumedFile` and `ResumedStream` check the status.
            failsOnHTTPError: command.output.failsOnHTTPError && command.output.resumePoint == nil,
            credentials: [command.request.credentials(for: request.url), netrcPassword, command.http.proxyCredentials].compactMap { $0 },
            netrc: netrc, firstAttemptStart: firstAttemptStart,
            decideRetry: decideRetry)
        return (load, request)
    }

    private func run(_ load: GetLoad, _ request: Request, on loader: Loader) throws(Failure) {
        try setCurrentLoad(load)
        defer { monitor.withLockBroadcasting { $0.load = nil } }
        try load.run(request, on: loader, grace: Self.grace)
    }

    /// Reports the next attempt, and waits until its delay is over.
    ///
    /// - Returns: Whether the next attempt can start; `false` after a signal or a failure of an observer.
    private func waitForNextAttempt(
        _ retry: GetLoad.Retry, after failure: Failure, _ schedule: RetrySchedule, _ observers: [any LoadObserver], at time: Duration
    ) -> Bool {
        do throws(Failure) {
            for observer in observers {
                try observer.observe(.retrying(failure, after: retry.wait, attemptsLeft: schedule.retriesLeft), at: time)
            }
        } catch {
            return false
        }
        Diagnostics.warn(
            "\(failure.message ?? "failed"); trying again in \(retry.wait.secondsText) s (\(schedule.retryCount + 1) of \(schedule.limit))")
        return monitor.wait(atMost: retry.wait) { $0.interruption } == nil
    }

    /// Warns as curl does. For example, `Retry-After` can exceed `--retry-max-time`.
    private func reportWhyNotRetried(_ load: GetLoad, _ command: GetCommand) {
        guard let reason = load.reasonNotToRetry, !command.output.isSilent, interruption == nil else { return }
        Diagnostics.warn("not tried again: \(reason)")
    }

    private func report(_ failure: Failure, to observers: [any LoadObserver], at time: Duration) -> Failure {
        let interruption = interruption
        let failure = interruption.map(Self.failure) ?? failure
        for observer in observers {
            // `try?` because the command reports the first failure.
            try? observer.observe(.failed(failure), at: time)
        }
        if let message = failure.message, interruption == nil || shouldReportInterruption() { Diagnostics.report(message) }
        return failure
    }

    /// - Throws: ``Failure`` if a signal has arrived before the load starts.
    private func setCurrentLoad(_ load: GetLoad) throws(Failure) {
        let interruption = monitor.withLock { state in
            state.load = load
            return state.interruption
        }
        if let interruption { throw Self.failure(interruption) }
    }

    /// Ends the running load, and then the program, even if a thread blocks.
    func interrupt(_ status: ExitStatus) {
        let load = monitor.withLockBroadcasting { state in
            state.interruption = status
            return state.load
        }
        if let load { SignalHandler.cancelOnSeparateThread { load.cancel() } }
        let hasEnded = monitor.wait(atMost: Self.grace) { $0.load == nil ? true : nil } ?? false
        load?.abandon()
        // Normally the main thread exits. This thread exits only if the main thread blocks in a write or before the
        // load.
        if hasEnded { _ = monitor.wait(atMost: Self.grace) { _ in nil as Bool? } }
        if shouldReportInterruption() { Diagnostics.report(Self.failure(status).message ?? "") }
        status.exitNow()
    }

    /// Whether the caller must report the signal: `true` for the first call only, because two threads can get here.
    private func shouldReportInterruption() -> Bool {
        monitor.withLock { state in
            defer { state.hasReportedInterruption = true }
            return !state.hasReportedInterruption
        }
    }

    private static func failure(_ status: ExitStatus) -> Failure {
        Failure(status, status == .interrupted ? "interrupted" : status.meaning)
    }
}
