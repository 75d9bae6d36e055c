// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore

/// One load of `get`: writes borrowed bytes straight to the output, and notifies the observers.
final class GetLoad: LoadDelegate {
    private struct State {
        var task: LoadTask?
        var totals = LoadTotals()
        /// The reason why this object ended the load.
        var failure: Failure?
        var retry: Retry?
        var reasonNotToRetry: String?
        var outcome: Result<Void, Failure>?
    }

    private let output: any BodyOutput
    private let observers: [any LoadObserver]
    private let includesHead: Bool
    private let refusesBadStatus: Bool
    private let passwords: [PasswordAnswer]
    private let decideRetry: @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision
    /// When the first try started.
    let start: Duration
    /// When this try started, relative to ``start``.
    private let began: Duration
    private let monitor = ConditionLock(State())

    /// A failure that another try may repair.
    struct Retry: Equatable {
        let retryableFailure: RetryableFailure
        let wait: Duration
    }

    /// - Parameters:
    ///   - start: when the first try started; `nil` for the first try.
    ///   - decideRetry: decides whether another try follows; called at most once, when the failure is known.
    init(
        output: any BodyOutput, observers: [any LoadObserver], includesHead: Bool, refusesBadStatus: Bool, passwords: [PasswordAnswer] = [],
        since start: Duration? = nil,
        decideRetry: @escaping @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision = { _, _ in .giveUp(reason: nil)
        }
    ) {
        self.output = output
        self.observers = observers
        self.includesHead = includesHead
        self.refusesBadStatus = refusesBadStatus
        self.passwords = passwords
        let now = MonotonicTime.now
        self.start = start ?? now
        began = now - self.start
        self.decideRetry = decideRetry
    }

    /// The next try, if this one failed and another may succeed.
    var retry: Retry? { monitor.withLock { $0.retry } }
    /// Why no other try follows, if the user requested retries and one might help.
    var reasonNotToRetry: String? { monitor.withLock { $0.reasonNotToRetry } }

    /// Loads the request and blocks until the end.
    ///
    /// - Parameter grace: how long the load may take to end after its time limit; an output whose reader does not read
    ///   can block the load.
    func run(_ request: Request, on loader: Loader, grace: Duration) throws(Failure) {
        if !observers.isEmpty {
            try notify(.started(request, handler: Self.taker(of: request, on: loader)))
        }
        let task = loader.task(for: request, delegate: self)
        monitor.withLock { $0.task = task }
        guard let limit = request.timeouts.total else {
            task.resume()
            return try monitor.wait { $0.outcome }.get()
        }
        // A load that needs nothing from outside runs in resume(), and may block there until its output is read.
        do throws(LoadError) { try PlatformThread.start { task.resume() } } catch { throw Failure(error) }
        let outcome = monitor.wait(atMost: limit + grace) { $0.outcome }
        guard let outcome else {
            abandon()
            Diagnostics.report("\(request.url.shortDescription) took longer than \(limit) in all, and its output was not read")
            SignalHandler.leave(.timedOut)
        }
        try outcome.get()
    }

    private static func taker(of request: Request, on loader: Loader) -> String? {
        loader.handlerCandidates(for: request).last { $0.refusal == nil }?.handler
    }

    /// Callable from any thread.
    func cancel() {
        monitor.withLock { $0.task }?.cancel()
    }

    /// Removes the partial output file, if there is one. Callable from any thread.
    func abandon() {
        output.abandon()
    }

    // MARK: Events

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        attempt { () throws(Failure) in
            try notify(.response(response))
            if let retryableFailure = RetryableFailure(response, now: SystemTime.secondsSince1970), prepareRetry(after: retryableFailure) {
                throw Failure(.statusRefused, "the response for \(response.url.shortDescription) is \(response.status?.line ?? "an error")")
            }
            if refusesBadStatus, let status = response.status, status.code >= 400 {
                throw Failure(.statusRefused, "the response for \(response.url.shortDescription) is \(status.line)")
            }
            try output.begin(response)
            if includesHead { try output.write(HeadText(response).text(forTerminal: output.isTerminal)) }
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        if task.hasNoBody { return .keepGoing }
        do throws(Failure) {
            try output.write(bytes)
            monitor.withLock { $0.totals.bytes += Int64(bytes.byteCount) }
            for observer in observers { try observer.observe(body: bytes, of: task.progress, at: time) }
            return .keepGoing
        } catch {
            return stop(for: error)
        }
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { notify(task, .interim(response)) }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { notify(task, .trailers(fields)) }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) { notify(task, .step(step)) }
    func loadTaskDidSend(_ task: LoadTask) { notify(task, .sent(task.progress)) }

    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        passwords.noteRedirect(to: request.url, response)
        notify(task, .redirected(to: request, response))
        decide(.follow(request))
    }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        let (verdict, answer) = passwords.evaluate(challenge)
        notify(
            task,
            .challenged(
                challenge.protectionSpace, failures: challenge.previousFailureCount, isTrusted: challenge.previousError == nil, verdict))
        if verdict == .refused { _ = stop(for: Failure(PasswordAnswer.refusal(challenge))) }
        challenge.answer(answer)
    }

    func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {
        guard !observers.isEmpty else { return }
        notify(task, .innerBegan(InnerReport(nestedTask), handler: Self.taker(of: nestedTask.originalRequest, on: task.loader)))
    }

    func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {
        notify(task, .innerEnded(InnerReport(nestedTask), bytes: nestedTask.progress.bytesReceived, error))
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        let (failure, totals) = monitor.withLock { ($0.failure, $0.totals) }
        if failure == nil, let retryableFailure = error.flatMap(RetryableFailure.init) { _ = prepareRetry(after: retryableFailure) }
        // The load's own failure takes precedence over an error of an observer here.
        if !task.metrics.timings.isEmpty { _ = attempt { () throws(Failure) in try notify(.metrics(task.metrics, since: began)) } }
        let outcome: Result<Void, Failure>
        if let failure = failure ?? error.map({ Failure($0) }) {
            output.abandon()
            outcome = .failure(failure)
        } else {
            outcome = Result { () throws(Failure) in
                try output.complete()
                try notify(.finished(LoadTotals(bytes: totals.bytes, redirects: task.metrics.redirectCount)))
            }
        }
        monitor.withLockBroadcasting { state in
            state.outcome = outcome
            state.task = nil
        }
    }

    /// - Returns: Whether another try follows.
    private func prepareRetry(after retryableFailure: RetryableFailure) -> Bool {
        switch decideRetry(retryableFailure, time) {
        case .wait(let wait) where output.canStartAgain:
            monitor.withLock { $0.retry = Retry(retryableFailure: retryableFailure, wait: wait) }
            return true
        case .wait:
            monitor.withLock { $0.reasonNotToRetry = "a part of the body was already written, and can't be removed from the output" }
        case .giveUp(let reason):
            monitor.withLock { $0.reasonNotToRetry = reason }
        }
        return false
    }

    // MARK: Observers

    /// Time since the first try started.
    var time: Duration { MonotonicTime.now - start }

    private func notify(_ event: LoadEvent) throws(Failure) {
        for observer in observers { try observer.observe(event, at: time) }
    }

    private func notify(_ task: LoadTask, _ event: LoadEvent) {
        if attempt({ () throws(Failure) in try notify(event) }) == .stopped { task.cancel() }
    }

    private func attempt(_ body: () throws(Failure) -> Void) -> Flow {
        do throws(Failure) {
            try body()
            return .keepGoing
        } catch {
            return stop(for: error)
        }
    }

    private func stop(for failure: Failure) -> Flow {
        monitor.withLock { $0.failure = $0.failure ?? failure }
        return .stopped
    }
}
