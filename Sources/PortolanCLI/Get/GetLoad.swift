// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore

/// One load of `get`. It writes the borrowed bytes of the body directly to the output, and notifies the observers.
final class GetLoad: LoadDelegate {
    private struct State {
        var task: LoadTask?
        var totals = LoadTotals()
        /// The failure because of which this object ended the load.
        var failure: Failure?
        var retry: Retry?
        var reasonNotToRetry: String?
        var outcome: Result<Void, Failure>?
        /// Used only with a netrc file.
        var netrcOrigins = NetrcOrigins()
        /// The responders for the netrc credentials of redirect targets.
        var netrcResponders: [ChallengeResponder] = []
        /// The protection spaces that got a credential of the netrc file after a challenge.
        var netrcSpaces: Set<ProtectionSpace> = []
        /// The heads that precede the body, and are not written yet.
        var pendingHeads: [ReceivedHead] = []
        /// Whether the body is not written, because a condition of the request does not hold.
        var discardsBody = false
        /// The response whose entity tag is saved at the end. The tag of a file that is not complete is of no use.
        var taggedResponse: Response?
        /// Whether a head of HTTP has arrived.
        var hasReceivedHead = false
        /// The failure that the end of the load reports, although the body was written.
        var failureAtEnd: Failure?
        /// The refusal of a password. The response that refuses it is written.
        var refusal: Failure?
        /// The number of redirects from servers.
        var redirectCount = 0
        /// Whether the load was cancelled, perhaps before it had a task.
        var isCancelled = false
        /// Whether this object ended the load because no bytes are missing.
        var isComplete = false
    }

    private let output: any BodyOutput
    private let observers: [any LoadObserver]
    private let includesHead: Bool
    private let failsOnHTTPError: Bool
    private let rules: ResponseRules
    private let credentials: [ChallengeResponder]
    private let netrc: NetrcCredentials?
    private let decideRetry: @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision
    /// When the first attempt started, on the clock of `MonotonicTime`.
    let firstAttemptStart: Duration
    /// When this attempt started, relative to ``firstAttemptStart``.
    private let attemptOffset: Duration
    private let stateLock = ConditionLock(State())

    /// A failed attempt, and the delay before the next one.
    struct Retry: Equatable {
        let retryableFailure: RetryableFailure
        let wait: Duration
    }

    /// - Parameters:
    ///   - firstAttemptStart: when the first attempt started; `nil` if this is the first attempt.
    ///   - decideRetry: decides whether another attempt follows after a retryable failure.
    init(
        output: any BodyOutput, observers: [any LoadObserver], includesHead: Bool, failsOnHTTPError: Bool,
        rules: ResponseRules = ResponseRules(), credentials: [ChallengeResponder] = [],
        netrc: NetrcCredentials? = nil, firstAttemptStart: Duration? = nil,
        decideRetry: @escaping @Sendable (RetryableFailure, _ elapsed: Duration) -> RetrySchedule.Decision = { _, _ in .giveUp(reason: nil)
        }
    ) {
        self.output = output
        self.observers = observers
        self.includesHead = includesHead
        self.failsOnHTTPError = failsOnHTTPError
        self.rules = rules
        self.credentials = credentials
        self.netrc = netrc
        let now = MonotonicTime.now
        self.firstAttemptStart = firstAttemptStart ?? now
        attemptOffset = now - self.firstAttemptStart
        self.decideRetry = decideRetry
    }

    /// The delay before the next attempt, if this one failed and another attempt follows.
    var retry: Retry? { stateLock.withLock { $0.retry } }
    /// Why no other attempt follows, although the user requested retries and the failure is retryable.
    var reasonNotToRetry: String? { stateLock.withLock { $0.reasonNotToRetry } }

    /// Loads the request and blocks until the end.
    ///
    /// - Parameter grace: how long to wait for the end of the load after its time limit. The load can block if the
    ///   reader of its output does not read.
    func run(_ request: Request, on loader: Loader, grace: Duration) throws(Failure) {
        guard let limit = request.timeouts.total else {
            start(request, on: loader)
            return try stateLock.wait { $0.outcome }.get()
        }
        // A load that does not wait for I/O, such as `data:`, runs within `resume()`, and can block there until a
        // reader reads its output. A plugin can block while it is opened.
        do throws(LoadError) { try PlatformThread.start { self.start(request, on: loader) } } catch { throw Failure(error) }
        let outcome = stateLock.wait(atMost: limit + grace) { $0.outcome }
        guard let outcome else {
            abandon()
            let blocker =
                stateLock.withLock { $0.task } == nil ? "a plugin blocks while it is opened" : "the reader of the output does not read"
            Diagnostics.report("\(request.url.shortDescription) timed out after \(limit): \(blocker)")
            ExitStatus.timedOut.exitNow()
        }
        try outcome.get()
    }

    private func start(_ request: Request, on loader: Loader) {
        do throws(Failure) {
            if !observers.isEmpty { try notify(.started(request, handler: Self.handlerIdentifier(for: request, on: loader))) }
        } catch {
            return stateLock.withLockBroadcasting { $0.outcome = .failure(error) }
        }
        let task = loader.task(for: request, delegate: self)
        let isCancelled = stateLock.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() } else { task.resume() }
    }

    private static func handlerIdentifier(for request: Request, on loader: Loader) -> String? {
        loader.handlerCandidates(for: request).last { $0.refusal == nil }?.handler
    }

    /// Callable from any thread.
    func cancel() {
        let task = stateLock.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Removes the partial output file, if there is one. Callable from any thread.
    func abandon() {
        output.abandon()
    }

    // MARK: Events

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        let flow = catchFailure { () throws(Failure) in
            if let report = CacheReport(response) { try notify(.cache(report)) }
            try notify(.response(response))
            try report(headOf: response)
            if let retryableFailure = RetryableFailure(response, now: SystemTime.secondsSince1970), prepareRetry(after: retryableFailure) {
                throw Failure(.httpError, "the response for \(response.url.shortDescription) is \(response.status?.line ?? "an error")")
            }
            let failsAtOnce = failsOnHTTPError && !output.checksStatus(of: response)
            if let status = response.status, status.code >= 400, failsAtOnce || rules.failsWithBody {
                let failure = Failure(.httpError, "the response for \(response.url.shortDescription) is \(status.line)")
                if failsAtOnce { throw failure }
                stateLock.withLock { $0.failureAtEnd = failure }
            }
            stateLock.withLock { $0.taggedResponse = response }
            let discardsBody = rules.discardsBody(of: response)
            stateLock.withLock { $0.discardsBody = discardsBody }
            guard includesHead || !discardsBody else { return }
            try output.begin(response)
            if includesHead { try writeHead(of: response) }
            if output.needsNoBody || rules.endsAfterHead { stateLock.withLock { $0.isComplete = true } }
        }
        return stateLock.withLock { $0.isComplete } ? .stopped : flow
    }

    /// Writes the head of a response, after those of earlier responses.
    private func writeHead(of response: Response) throws(Failure) {
        let heads = stateLock.withLock { state in
            defer { state.pendingHeads = [] }
            return state.pendingHeads
        }
        for head in heads { try output.write(head.bytes(forTerminal: output.isTerminal)) }
        // For HTTP, these heads include the head of this response, unless the response is a part of a multipart body.
        guard heads.isEmpty else { return }
        try output.write(HeadText(response).text(forTerminal: output.isTerminal))
    }

    /// Reports the head of an HTTP response.
    private func report(headOf response: Response) throws(Failure) {
        guard !response.isBodyPart, let head = ReceivedHead(response) else { return }
        for observer in observers { try observer.observe(head: head) }
        stateLock.withLock { state in
            state.hasReceivedHead = true
            if includesHead { state.pendingHeads.append(head) }
        }
    }

    /// Writes the heads of a load that has failed before its body was written. They are not written to a file, because
    /// a failed load leaves no file.
    private func writeHeadsAfterFailure() throws(Failure) {
        let heads = stateLock.withLock { $0.retry == nil ? $0.pendingHeads : [] }
        guard let last = heads.last, try output.beginHeads(of: last.response) else { return }
        for head in heads { try output.write(head.bytes(forTerminal: output.isTerminal)) }
    }

    private func reportOrCancel(_ task: LoadTask, headOf response: Response) {
        if catchFailure({ () throws(Failure) in try report(headOf: response) }) == .stopped { task.cancel() }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        if task.hasNoBody || stateLock.withLock({ $0.discardsBody }) { return .keepGoing }
        do throws(Failure) {
            try output.write(bytes)
            stateLock.withLock { $0.totals.bytes += Int64(bytes.byteCount) }
            for observer in observers { try observer.observe(body: bytes, of: task.progress, at: elapsed) }
            return .keepGoing
        } catch {
            return stop(for: error)
        }
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) {
        notifyOrCancel(task, .interim(response))
        reportOrCancel(task, headOf: response)
    }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
        notifyOrCancel(task, .trailers(fields))
        let isWritten = stateLock.withLock { $0.hasReceivedHead && !$0.discardsBody }
        guard includesHead, isWritten else { return }
        let write = { () throws(Failure) in
            try self.output.write(ReceivedHead.bytes(ofTrailers: fields, forTerminal: self.output.isTerminal))
        }
        if catchFailure(write) == .stopped { task.cancel() }
    }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) { notifyOrCancel(task, .step(step)) }
    func loadTaskDidSend(_ task: LoadTask) { notifyOrCancel(task, .sent(task.progress)) }

    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        responders.didRedirect(to: request.url, response)
        if let report = CacheReport(response) { notifyOrCancel(task, .cache(report)) }
        guard response.isHSTSUpgrade || rules.redirectSchemes?.contains(request.url.scheme) != false else {
            let message = "the redirect to \(request.url.shortDescription) is not followed: --proto-redir forbids its scheme"
            reportOrCancel(task, headOf: response)
            _ = stop(for: Failure(.unsupportedScheme, message))
            return task.cancel()
        }
        if !response.isHSTSUpgrade, let limit = rules.redirectLimit {
            let count = stateLock.withLock { state in
                state.redirectCount += 1
                return state.redirectCount
            }
            guard count <= limit else {
                let message = "stopped after \(limit) redirects, the limit; the next one leads to \(request.url.shortDescription)"
                reportOrCancel(task, headOf: response)
                _ = stop(for: Failure(LoadError(.tooManyRedirects, message: message)))
                return task.cancel()
            }
        }
        var request = request
        rules.adapt(&request, from: task.currentRequest, after: response)
        notifyOrCancel(task, .redirected(to: request, response))
        if !response.isHSTSUpgrade { reportOrCancel(task, headOf: response) }
        if let netrc, netrc.hasCredential(for: request) { apply(netrc, to: &request, of: task) }
        decide(.follow(request))
    }

    /// Adds the netrc password for the target of a redirect. A target with the same origin gets the `Authorization`
    /// field that the request already has.
    private func apply(_ netrc: NetrcCredentials, to request: inout Request, of task: LoadTask) {
        let (target, mustNamePort) = (request.url, netrc.hasCredential(for: request, mustNamePort: true))
        let problem = stateLock.withLock { state in
            for url in [task.originalRequest.url, task.currentRequest.url] { state.netrcOrigins.visit(url) }
            return state.netrcOrigins.problem(with: target, isForPort: mustNamePort)
        }
        if let problem {
            task.loader.logAccess("netrc password for \(request.url.shortDescription) not sent: \(problem)", of: task)
        } else {
            guard let responder = netrc.apply(to: &request, mustNamePort: mustNamePort) else { return }
            stateLock.withLock { $0.netrcResponders.append(responder) }
        }
    }

    private var responders: [ChallengeResponder] { credentials + (netrc == nil ? [] : stateLock.withLock { $0.netrcResponders }) }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        let responders = responders
        let space = challenge.protectionSpace
        var (decision, answer) = responders.evaluate(challenge)
        if netrc != nil {
            if decision == .proposed { _ = stateLock.withLock { $0.netrcSpaces.insert(space) } }
            // The password was refused, and there is no other one.
            let isRefused = decision == .notHandled && challenge.previousFailureCount > 0
            if isRefused, stateLock.withLock({ $0.netrcSpaces.contains(space) }) { (decision, answer) = (.refused, .cancel) }
        }
        notifyOrCancel(
            task,
            .challenged(
                space, failures: challenge.previousFailureCount, isTrusted: challenge.previousError == nil, decision,
                source: decision == .answered ? responders.source(for: space) : nil))
        if decision == .refused {
            let failure = Failure(ChallengeResponder.rejectionError(for: challenge))
            if challenge.failureResponse == nil {
                _ = stop(for: failure)
            } else {
                stateLock.withLock { $0.refusal = failure }
                answer = .continueWithoutCredential
            }
        }
        challenge.answer(answer)
    }

    /// Reports the head of a response after which the request is sent again. If the load answers the challenge of the
    /// response without the delegate, because it already has a credential, also reports the challenge.
    func loadTask(_ task: LoadTask, willResendAfter response: Response) {
        reportOrCancel(task, headOf: response)
        guard let space = response.answeredSpace else { return }
        notifyOrCancel(task, .challenged(space, failures: 0, isTrusted: true, .answered, source: responders.source(for: space)))
    }

    func loadTask(_ task: LoadTask, didBeginNestedTask nestedTask: LoadTask) {
        guard !observers.isEmpty else { return }
        notifyOrCancel(
            task,
            .nestedLoadBegan(
                NestedLoadReport(nestedTask), handler: Self.handlerIdentifier(for: nestedTask.originalRequest, on: task.loader)))
    }

    func loadTask(_ task: LoadTask, nestedTask: LoadTask, didEndWith error: LoadError?) {
        notifyOrCancel(task, .nestedLoadEnded(NestedLoadReport(nestedTask), bytes: nestedTask.progress.bytesReceived, error))
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        var (failure, totals, failureAtEnd, isComplete) = stateLock.withLock {
            ($0.failure, $0.totals, $0.refusal ?? $0.failureAtEnd, $0.isComplete)
        }
        if let refusal = stateLock.withLock({ $0.refusal }), failure == nil ? error != nil : failure?.status == .httpError {
            failure = refusal
        }
        if failure == nil, !isComplete, let retryableFailure = error.flatMap(RetryableFailure.init) {
            _ = prepareRetry(after: retryableFailure)
        }
        // If the load failed, an observer's failure here does not replace the load's failure.
        if !task.metrics.timings.isEmpty {
            _ = catchFailure { () throws(Failure) in try notify(.metrics(task.metrics, since: attemptOffset)) }
        }
        let outcome: Result<Void, Failure>
        if let failure = failure ?? (isComplete ? nil : error.map({ Failure($0) })) {
            // `try?` because the failure of the load is reported.
            try? writeHeadsAfterFailure()
            output.abandon()
            outcome = .failure(failure)
        } else {
            outcome = Result { () throws(Failure) in
                try output.complete()
                if let response = stateLock.withLock({ $0.taggedResponse }) { try rules.saveTag(of: response) }
                if let failureAtEnd { throw failureAtEnd }
                try notify(.finished(LoadTotals(bytes: totals.bytes, redirects: task.metrics.redirectCount)))
            }
        }
        stateLock.withLockBroadcasting { state in
            state.outcome = outcome
            state.task = nil
        }
    }

    /// - Returns: Whether another attempt follows.
    private func prepareRetry(after retryableFailure: RetryableFailure) -> Bool {
        switch decideRetry(retryableFailure, elapsed) {
        case .wait(let wait) where output.canStartAgain:
            stateLock.withLock { $0.retry = Retry(retryableFailure: retryableFailure, wait: wait) }
            return true
        case .wait:
            stateLock.withLock { $0.reasonNotToRetry = "a part of the body was already written, and can't be removed from the output" }
        case .giveUp(let reason):
            stateLock.withLock { $0.reasonNotToRetry = reason }
        }
        return false
    }

    // MARK: Observers

    /// The time since the first attempt started.
    var elapsed: Duration { MonotonicTime.now - firstAttemptStart }

    private func notify(_ event: LoadEvent) throws(Failure) {
        for observer in observers { try observer.observe(event, at: elapsed) }
    }

    /// Notifies the observers, and cancels the task if one of them fails.
    private func notifyOrCancel(_ task: LoadTask, _ event: LoadEvent) {
        if catchFailure({ () throws(Failure) in try notify(event) }) == .stopped { task.cancel() }
    }

    /// Runs `action`. Returns the result of the delivery: `.stopped` if `action` fails.
    private func catchFailure(_ action: () throws(Failure) -> Void) -> Flow {
        do throws(Failure) {
            try action()
            return .keepGoing
        } catch {
            return stop(for: error)
        }
    }

    /// Stores the failure, and returns the result that stops the load. If this function is called several times,
    /// ``run(_:on:grace:)`` throws the first failure.
    private func stop(for failure: Failure) -> Flow {
        stateLock.withLock { $0.failure = $0.failure ?? failure }
        return .stopped
    }
}
