// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanPlugins

/// The loads of one `get`, and the signal that can end them.
final class GetSession: Sendable {
    private struct State {
        var loads: [GetLoad] = []
        var interruptionStatus: ExitStatus?
        /// The failure of all loads that end because one has failed.
        var cancellation: Failure?
        var hasReportedInterruption = false
        var saving = Saving.nothing
    }

    /// The kinds of data that the command keeps from responses, as text for a message.
    struct KeptData: Sendable {
        let text: String

        /// - Parameter kinds: plural nouns.
        init(_ kinds: [String]) {
            text = ([kinds.dropLast().joined(separator: ", ")] + kinds.suffix(1)).filter { !$0.isEmpty }.joined(separator: " and ")
        }
    }

    /// Whether the cookies, HSTS hosts and responses that have arrived were written.
    private enum Saving {
        /// No option names a place for them.
        case nothing
        case pending(KeptData, write: @Sendable () throws(Failure) -> Void)
        case running(KeptData)
        /// They were written, or writing failed.
        case ended

        /// Whether nothing is left to write.
        var isDone: Bool { unwritten == nil }

        /// The data that is left to write; `nil` if there is none.
        var unwritten: KeptData? {
            switch self {
            case .nothing, .ended: nil
            case .pending(let kept, _), .running(let kept): kept
            }
        }
    }

    /// How long the program waits for a cancelled load to end. Then the program exits, because a write can block the
    /// thread of the load.
    private static let gracePeriod = Duration.seconds(1)

    private let stateLock = ConditionLock(State())

    /// The exit status for the signal that arrived, or `nil`.
    var interruptionStatus: ExitStatus? { stateLock.withLock { $0.interruptionStatus } }

    /// Sets how the cookies, HSTS hosts and responses that arrive are written.
    func setSaving(_ kept: KeptData, _ write: @escaping @Sendable () throws(Failure) -> Void) {
        stateLock.withLock { $0.saving = .pending(kept, write: write) }
    }

    /// Writes the cookies, HSTS hosts and responses that have arrived, unless an earlier call has begun this.
    func save() throws(Failure) {
        let write: (@Sendable () throws(Failure) -> Void)? = stateLock.withLock { state in
            guard case .pending(let kept, let write) = state.saving else { return nil }
            state.saving = .running(kept)
            return write
        }
        guard let write else { return }
        defer { stateLock.withLockBroadcasting { $0.saving = .ended } }
        try write()
    }

    /// Loads one URL to its end, with retries if the user requested them. Reports a failure, and returns it.
    ///
    /// - Parameter body: the request body, or the reason why the body is not available.
    func runAttempts(
        of transfer: GetTransfer, sending body: Result<RequestBody?, Failure>, with command: GetCommand, netrc: NetrcCredentials?,
        on loader: Loader, unusablePlugins: [PluginProblem], reports: GetReports
    ) -> Failure? {
        let url = transfer.url
        let writeOut = reports.writeOut.map {
            WriteOut($0, url: url, number: transfer.number, timeCondition: command.conditions.timeCondition)
        }
        let observers =
            command.reports.makeObservers(reports.trace, to: transfer.target, checksTrust: !command.http.trustsEveryServer)
            + ([reports.headDump, writeOut] as [(any LoadObserver)?]).compactMap { $0 }
        var schedule = command.retries.schedule
        var firstAttemptStart: Duration?
        while true {
            var load: GetLoad?
            do throws(Failure) {
                let body = try body.get()
                let attempt = try makeLoad(
                    transfer, sending: body, with: command, netrc: netrc, observers: observers, writeOut: writeOut,
                    firstAttemptStart: firstAttemptStart
                ) {
                    [schedule] retryableFailure, elapsed in
                    let decision = schedule.decide(after: retryableFailure, elapsed: elapsed)
                    guard case .wait = decision, body?.body.isSpent == true else { return decision }
                    return .giveUp(reason: "the request's body can be read only once")
                }
                try attempt.request.checkForMissingScheme(on: loader)
                load = attempt.load
                firstAttemptStart = attempt.load.firstAttemptStart
                defer { reportWhyNotRetried(attempt.load, command) }
                try run(attempt.load, attempt.request, on: loader)
                return nil
            } catch {
                if interruptionStatus == nil, let retry = load?.retry,
                    waitForNextAttempt(retry, after: error, schedule, observers, at: load?.elapsed ?? .zero)
                {
                    schedule.countRetry()
                    continue
                }
                let failure =
                    error.status == .unsupportedScheme
                    ? error.suggestingScheme(for: url, among: loader.schemes) : error
                return report(failure.mentioning(unusablePlugins), to: observers, at: load?.elapsed ?? .zero)
            }
        }
    }

    /// Reads the events of one URL to their end (`--sse`). Reports a failure, and returns it.
    ///
    /// - Parameter body: the request body, or the reason why the body is not available.
    func readEvents(
        of transfer: GetTransfer, sending body: Result<RequestBody?, Failure>, with command: GetCommand, netrc: NetrcCredentials?,
        on loader: Loader
    ) -> Failure? {
        do throws(Failure) {
            if let interruptionStatus { throw Self.failure(for: interruptionStatus) }
            var request = try command.request.request(
                for: transfer.url, with: command.data, sending: try body.get(), uploading: transfer.uploadedFile, netrc: netrc)
            try command.checkScheme(of: request.url)
            command.state.addCookies(to: &request)
            command.request.removeOmittedFields(of: &request)
            try request.checkForMissingScheme(on: loader)
            // The limit is for the stream, and not for each of its connections.
            let timer = ExitTimer(after: request.timeouts.total, "the server has not ended the stream of events")
            defer { timer.cancel() }
            request.timeouts.total = nil
            let reader = EventReader(loader: loader, isJSON: command.reports.printsEvents, maximumFailureCount: command.retries.limit + 1)
            try reader.read(request)
            return nil
        } catch {
            return report(error, to: [], at: .zero)
        }
    }

    private func makeLoad(
        _ transfer: GetTransfer, sending body: RequestBody?, with command: GetCommand, netrc: NetrcCredentials?,
        observers: [any LoadObserver], writeOut: WriteOut?, firstAttemptStart: Duration?,
        decideRetry: @escaping @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision
    ) throws(Failure) -> (load: GetLoad, request: Request) {
        var request = try command.request.request(
            for: transfer.url, with: command.data, sending: body, uploading: transfer.uploadedFile, netrc: netrc)
        try command.checkScheme(of: request.url)
        let netrcPassword = netrc?.apply(to: &request)
        let urlCredentials = command.request.removeURLCredentials(from: &request)
        command.state.addCookies(to: &request)
        if request.cachePolicy == .useProtocol { request.cachePolicy = command.cache.policy }
        try command.conditions.apply(to: &request)
        try command.checkTrace(differsFromOutputOf: request.url, transfer.target)
        let output = try command.output.makeOutput(
            for: &request, to: transfer.target, isUpload: transfer.uploadedFile != nil, discardsBody: command.reports.printsEvents)
        writeOut?.setOutput(output)
        command.request.removeOmittedFields(of: &request)
        let load = GetLoad(
            output: output, observers: observers, includesHead: command.output.includesHead || command.request.sendsHEAD,
            failsOnHTTPError: command.output.failsOnHTTPError,
            rules: command.responseRules,
            credentials: [
                command.request.exclusion(for: request), command.request.credentials(for: request.url), urlCredentials, netrcPassword,
                command.http.proxyCredentials,
            ].compactMap { $0 },
            netrc: netrc, firstAttemptStart: firstAttemptStart,
            decideRetry: decideRetry)
        return (load, request)
    }

    private func run(_ load: GetLoad, _ request: Request, on loader: Loader) throws(Failure) {
        try add(load)
        defer { stateLock.withLockBroadcasting { $0.loads.removeAll { $0 === load } } }
        try load.run(request, on: loader, grace: Self.gracePeriod)
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
        return stateLock.wait(atMost: retry.wait) { $0.interruptionStatus != nil || $0.cancellation != nil ? true : nil } == nil
    }

    /// Warns why a failed load is not tried again, as curl does. For example, `Retry-After` can exceed
    /// `--retry-max-time`.
    private func reportWhyNotRetried(_ load: GetLoad, _ command: GetCommand) {
        guard let reason = load.reasonNotToRetry, !command.reports.isSilent, interruptionStatus == nil else { return }
        Diagnostics.warn("not tried again: \(reason)")
    }

    private func report(_ failure: Failure, to observers: [any LoadObserver], at time: Duration) -> Failure {
        let (interruptionStatus, cancellation) = stateLock.withLock { ($0.interruptionStatus, $0.cancellation) }
        let failure = interruptionStatus.map(Self.failure(for:)) ?? cancellation ?? failure
        for observer in observers {
            // The error of an observer is ignored: the command reports only the failure of the load.
            try? observer.observe(.failed(failure), at: time)
        }
        if let message = failure.message, interruptionStatus == nil || claimInterruptionReport() { Diagnostics.report(message) }
        return failure
    }

    /// Adds a load, so that a signal cancels it.
    ///
    /// - Throws: ``Failure`` if a signal has already arrived.
    private func add(_ load: GetLoad) throws(Failure) {
        let (interruptionStatus, cancellation) = stateLock.withLock { state in
            state.loads.append(load)
            return (state.interruptionStatus, state.cancellation)
        }
        if let interruptionStatus { throw Self.failure(for: interruptionStatus) }
        if let cancellation { throw cancellation }
    }

    /// Ends the running loads, because one load has failed (`-Z --fail-early`).
    func cancelLoads(after failure: Failure) {
        // If the reader of the output has closed it, no load reports anything.
        let cancellation =
            failure == .readerClosedOutput ? failure : Failure(.unknown, "cancelled, because another load has failed (--fail-early)")
        let loads = stateLock.withLockBroadcasting { state in
            state.cancellation = cancellation
            return state.loads
        }
        for load in loads { load.cancel() }
    }

    /// Ends the running loads, and then the program, even if a thread blocks.
    func interrupt(_ status: ExitStatus) {
        let loads = stateLock.withLockBroadcasting { state in
            state.interruptionStatus = status
            return state.loads
        }
        for load in loads { SignalHandler.runOnSeparateThread { load.cancel() } }
        let hasEnded = stateLock.wait(atMost: Self.gracePeriod) { $0.loads.isEmpty ? true : nil } ?? false
        for load in loads { load.abandon() }
        // Normally the main thread ends the program. This thread ends it only if the main thread is blocked: in a
        // write, or before the load has begun. A main thread that is blocked in a write cannot write the cookies.
        if !hasEnded { SignalHandler.runOnSeparateThread { self.saveAfterSignal() } }
        // If the loads have ended, the main thread ends the program within this time.
        _ = stateLock.wait(atMost: Self.gracePeriod) { hasEnded || !$0.saving.isDone ? nil : true }
        if let kept = stateLock.withLock({ $0.saving.unwritten }) {
            Diagnostics.report("the \(kept.text) that have arrived could not be written within \(Self.gracePeriod.secondsText) s")
        }
        if claimInterruptionReport() { Diagnostics.report(Self.failure(for: status).message ?? "") }
        status.exitNow()
    }

    /// Calls ``save()``. A failure is reported, and does not change the exit status of the signal.
    func saveAfterSignal() {
        do throws(Failure) { try save() } catch { if let message = error.message { Diagnostics.report(message) } }
    }

    /// Returns whether the caller must report the signal: `true` for the first call only, because two threads can call
    /// this.
    private func claimInterruptionReport() -> Bool {
        stateLock.withLock { state in
            defer { state.hasReportedInterruption = true }
            return !state.hasReportedInterruption
        }
    }

    private static func failure(for status: ExitStatus) -> Failure {
        Failure(status, status == .interrupted ? "interrupted" : status.meaning)
    }
}
