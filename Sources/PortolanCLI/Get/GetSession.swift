// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanPlugins

/// The loads of one `get`, one after another, and the signal that may end them.
final class GetSession: Sendable {
    private struct State {
        var load: GetLoad?
        var interruption: ExitStatus?
        var hasReportedIt = false
    }

    /// How long the program waits for a load that must end. Then it exits, because the load's thread may hang in a
    /// write.
    private static let grace = Duration.seconds(1)

    private let monitor = ConditionLock(State())

    /// The exit status for the signal that arrived, or `nil`.
    var interruption: ExitStatus? { monitor.withLock { $0.interruption } }

    /// Loads one URL to its end, with retries if the user requested them, and reports the failure.
    ///
    /// - Parameter body: the request body, or the reason why it is not available.
    func load(
        _ url: String, sending body: Result<Body?, Failure>, with command: GetCommand, _ netrc: NetrcCredentials?, on loader: Loader,
        unusablePlugins: [PluginProblem],
        trace: TraceFile?
    ) -> Failure? {
        let observers = command.output.makeObservers(trace, checksTrust: !command.http.trustsEveryServer)
        var schedule = command.retries.schedule
        /// When the first try started.
        var start: Duration?
        while true {
            var load: GetLoad?
            do throws(Failure) {
                let body = try body.get()
                let new = try makeLoad(url, sending: body, with: command, netrc, observers, since: start) {
                    [schedule] retryableFailure, elapsed in
                    let decision = schedule.decide(after: retryableFailure, elapsed: elapsed)
                    guard case .wait = decision, body?.isSpent == true else { return decision }
                    return .giveUp(reason: "the request's body can be read only once")
                }
                load = new.load
                start = new.load.start
                defer { reportWhyNotRetried(new.load, command) }
                try run(new.load, new.request, on: loader)
                return nil
            } catch {
                if interruption == nil, let retry = load?.retry,
                    prepare(retry, after: error, schedule, command, observers, at: load?.time ?? .zero)
                {
                    schedule.begin()
                    continue
                }
                return report(error.mentioning(unusablePlugins), to: observers, at: load?.time ?? .zero)
            }
        }
    }

    private func makeLoad(
        _ url: String, sending body: Body?, with command: GetCommand, _ netrc: NetrcCredentials?, _ observers: [any LoadObserver],
        since start: Duration?,
        decideRetry: @escaping @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision
    ) throws(Failure) -> (load: GetLoad, request: Request) {
        var request = try command.request.request(for: url, sending: body, netrc: netrc)
        let netrcPassword = netrc?.apply(to: &request)
        command.state.addCookies(to: &request)
        let output = try command.output.makeOutput(for: &request)
        command.request.leaveOutFields(of: &request)
        let load = GetLoad(
            output: output, observers: observers, includesHead: command.output.includesHead || command.request.asksHeadOnly,
            // `ResumedFile` and `ResumedStream` check the status.
            refusesBadStatus: command.output.refusesBadStatus && command.output.resumePoint == nil,
            passwords: [command.request.passwords(for: request.url), netrcPassword, command.http.proxyPasswords].compactMap { $0 },
            netrc: netrc, since: start,
            decideRetry: decideRetry)
        return (load, request)
    }

    private func run(_ load: GetLoad, _ request: Request, on loader: Loader) throws(Failure) {
        try begin(load)
        defer { monitor.withLockBroadcasting { $0.load = nil } }
        try load.run(request, on: loader, grace: Self.grace)
    }

    /// Reports the next try, and waits until it is due.
    ///
    /// - Returns: Whether the next try may start; `false` after a signal.
    private func prepare(
        _ retry: GetLoad.Retry, after failure: Failure, _ schedule: RetrySchedule, _ command: GetCommand, _ observers: [any LoadObserver],
        at time: Duration
    ) -> Bool {
        do throws(Failure) {
            for observer in observers { try observer.observe(.retrying(failure, after: retry.wait, rest: schedule.rest), at: time) }
        } catch {
            return false
        }
        Diagnostics.warn(
            "\(failure.message ?? "failed"); trying again in \(retry.wait.secondsText) s (\(schedule.count + 1) of \(schedule.limit))")
        return monitor.wait(atMost: retry.wait) { $0.interruption } == nil
    }

    /// Warns as curl does, for example if `Retry-After` exceeds `--retry-max-time`.
    private func reportWhyNotRetried(_ load: GetLoad, _ command: GetCommand) {
        guard let reason = load.reasonNotToRetry, !command.output.isSilent, interruption == nil else { return }
        Diagnostics.warn("not tried again: \(reason)")
    }

    private func report(_ failure: Failure, to observers: [any LoadObserver], at time: Duration) -> Failure {
        let interruption = interruption
        let failure = interruption.map(Self.failure) ?? failure
        for observer in observers {
            // `try?` because the first failure is the one to report.
            try? observer.observe(.failed(failure), at: time)
        }
        if let message = failure.message, interruption == nil || claimsReport() { Diagnostics.report(message) }
        return failure
    }

    private func begin(_ load: GetLoad) throws(Failure) {
        let interruption = monitor.withLock { state in
            state.load = load
            return state.interruption
        }
        if let interruption { throw Self.failure(interruption) }
    }

    /// Ends the running load and soon afterwards the program, even if a thread hangs.
    func interrupt(_ status: ExitStatus) {
        let load = monitor.withLockBroadcasting { state in
            state.interruption = status
            return state.load
        }
        if let load { SignalHandler.cancelElsewhere { load.cancel() } }
        let hasEnded = monitor.wait(atMost: Self.grace) { $0.load == nil ? true : nil } ?? false
        load?.abandon()
        // Normally the main thread exits. This thread exits only if the main thread hangs in a write or before the
        // load.
        if hasEnded { _ = monitor.wait(atMost: Self.grace) { _ in nil as Bool? } }
        if claimsReport() { Diagnostics.report(Self.failure(status).message ?? "") }
        SignalHandler.leave(status)
    }

    /// Whether the caller is to report the signal, which is reported once, even if the main thread takes long to exit.
    private func claimsReport() -> Bool {
        monitor.withLock { state in
            defer { state.hasReportedIt = true }
            return !state.hasReportedIt
        }
    }

    private static func failure(_ status: ExitStatus) -> Failure {
        Failure(status, status == .interrupted ? "interrupted" : status.meaning)
    }
}
