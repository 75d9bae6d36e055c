// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// The client of one load by the next handler. It validates stored responses with the received response, or stores the
/// received response while it forwards it.
///
/// RFC 9111 §3, §4.3, §4.4
final class CacheExchange: ForwardingClient {
    /// What happens with the events of the next handler.
    private enum Mode {
        case forwarding
        /// The events are dropped. At the end, the load continues with the action.
        case dropping(then: @Sendable () -> Void)
        /// Stored octets are delivered, before or after those of the next handler.
        case delivering(StoredDelivery)
        case over
    }

    /// How the next handler's load has ended, if it has ended while stored octets are being delivered.
    private enum EarlyEnd {
        case finished
        case failed(LoadError)
    }

    private struct State {
        var mode = Mode.forwarding
        var hasResponse = false
        /// The stored octets after those that the next handler delivers.
        var partAfter: StoredPart?
        /// The number of octets of the next handler to drop, because they were delivered before.
        var skippedCount: Int64 = 0
        /// The number of octets that the next handler must still deliver to complete a stored response.
        var missingCount: Int64?
        var earlyEnd: EarlyEnd?
        var droppedCount = 0
    }

    /// The largest body of a dropped response, in bytes. A load with a larger body is stopped.
    private static let dropLimit = 1 << 20

    let next: any ProtocolClient
    private let load: CachingLoad
    private let question: CacheQuestion
    private let storage: ResponseStorage
    private let state = Mutex(State())

    init(_ load: CachingLoad, _ question: CacheQuestion) {
        (self.load, self.question) = (load, question)
        next = load.client
        storage = ResponseStorage(
            load.cache, load.key, url: load.request.url, lookup: load.lookup, usesHTTPFields: load.usesHTTPFields,
            bypassesCache: load.bypassesCache, entries: question.entries, completion: question.completion)
    }

    private var store: any CacheStore { load.cache.store }
    private var lookup: CacheLookup { load.lookup }

    // MARK: - Called by the load

    /// - Returns: whether stored octets are being delivered, and not those of the next handler.
    func resumeDelivery() -> Bool {
        guard case .delivering(let delivery) = state.withLock({ $0.mode }) else { return false }
        delivery.resume()
        return true
    }

    /// The load was stopped. The received part of the response can be completed later.
    func stop() {
        let mode = state.withLock { state in
            defer { state.mode = .over }
            return state.mode
        }
        if case .delivering(let delivery) = mode { delivery.stop() }
        storage.finish(isComplete: false)
    }

    private var isOver: Bool {
        if case .over = state.withLock({ $0.mode }) { true } else { false }
    }

    func willResend(after response: Response) {
        storage.requestWasResent()
        if question.rest == nil { next.willResend(after: response) }
    }

    func didReceiveInterim(_ response: Response) {
        // The rest continues a response whose head was delivered before.
        if question.rest == nil { next.didReceiveInterim(response) }
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        if challenge.mayWaitForCaller { load.endSharing(.alone) }
        next.didReceive(challenge)
    }

    // MARK: - Redirects

    func wasRedirected(to request: Request, redirectResponse response: Response) -> Flow {
        if question.rest != nil { return failRest(because: "the server redirects the request") }
        storage.invalidate(after: response)
        if question.declinesRedirects { return .keepGoing }
        let stored = storage.storeRedirect(response, asking: next)
        load.endSharing(stored.map { load.cache.isShareable($0) } ?? false ? .stored : .alone)
        let flow = next.wasRedirected(to: request, redirectResponse: described(response, isStored: stored != nil))
        if flow == .stopped { load.exchangeDidEnd() }
        return flow
    }

    // MARK: - The response

    func didReceive(_ response: Response, storage policy: CacheStoragePolicy) -> Flow {
        let isFirst = state.withLock { state in
            defer { state.hasResponse = true }
            return !state.hasResponse
        }
        guard isFirst else {
            // A later part of a multipart response is not stored, and so the first one is not either.
            discardRecording()
            return next.didReceive(response, storage: policy)
        }
        storage.invalidate(after: response)
        if let rest = question.rest { return receiveRest(rest, response) }
        if let conditional = question.conditional, response.status == .notModified, !question.isResent {
            return validate(by: response, conditional, policy)
        }
        if response.status?.kind == .serverError, let use = lookup.at(load.cache.now()).decide(afterError: response.status, question.stored)
        {
            state.withLock { $0.mode = .over }
            load.answer(with: question.entries, use)
            return .stopped
        }
        if let completion = question.completion {
            if response.status == .partialContent { return complete(completion, with: response) }
            // These statuses can be due to the added `Range`. Other responses do not depend on it.
            if response.status == .rangeNotSatisfiable || response.status == .notModified { return resend() }
        }
        if lookup.method == .head, lookup.policy != .noStore { updateFromHead(response) }
        return store(response, policy)
    }

    /// Drops the response of the next handler. Continues with `action` when the response ends.
    private func drop(then action: @escaping @Sendable () -> Void) -> Flow {
        state.withLock { $0.mode = .dropping(then: action) }
        return .keepGoing
    }

    /// Sends the request again with the caller's own conditions only.
    private func resend() -> Flow {
        drop { [self] in load.load(CacheQuestion([], question.reason, isResent: true)) }
    }

    /// RFC 9111 §4.3.3, §4.3.4
    private func validate(by response: Response, _ conditional: Validation.ConditionalRequest, _ policy: CacheStoragePolicy) -> Flow {
        switch Validation.outcome(of: response.fields, conditional, lookup, question.stored) {
        case .deliver: return next.didReceive(described(response, isStored: false), storage: policy)
        case .resend: return resend()
        case .update(let indices):
            guard let first = indices.first else { return resend() }
            var updated: StoredResponse?
            for index in indices {
                let newer = update(question.entries[index], by: response.fields, isSelected: index == first)
                if index == first { updated = newer }
            }
            guard let updated, let answer = lookup.answer(from: updated) else { return resend() }
            load.responseDidBegin(isShareable: load.cache.isShareable(updated))
            let confirmed = StoredFields.confirmed(by: response.fields, updated.directives)
            return drop { [self] in
                load.answer(withValidated: question.entries[first], updated, answer, question.reason ?? .stale, confirmed: confirmed)
            }
        }
    }

    /// A handler without HTTP fields, such as a plugin, calls this instead of delivering a 304.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        guard let index = question.offeredIndex else { return }
        let updated = update(question.entries[index], by: newer?.fields ?? HTTPFields(), isSelected: true)
        let answer = lookup.answer(from: updated) ?? .full
        _ = drop { [self] in load.answer(withValidated: question.entries[index], updated, answer, question.reason ?? .stale) }
    }

    /// - Returns: the stored response with newer fields.
    private func update(_ entry: CacheEntry, by fields: HTTPFields, isSelected: Bool) -> StoredResponse {
        let (newer, isStorable) = entry.stored.updated(
            by: fields, request: isSelected && !storage.wasResent ? lookup.fields : nil, requestTime: storage.requestTime,
            responseTime: load.cache.now())
        if isStorable { store.update(entry.id, to: newer) } else { store.remove(.entry(entry.id)) }
        return newer
    }

    /// RFC 9111 §4.3.5
    private func updateFromHead(_ response: Response) {
        guard let status = response.status else { return }
        for entry in question.entries {
            switch Validation.effect(ofHead: response.fields, status, request: lookup.fields, on: entry.stored) {
            case .none: break
            case .invalidate: store.remove(.entry(entry.id))
            case .update: _ = update(entry, by: response.fields, isSelected: true)
            }
        }
    }

    // MARK: - Storing

    private func store(_ response: Response, _ policy: CacheStoragePolicy) -> Flow {
        let stored = storage.begin(response, policy, asking: next)
        load.responseDidBegin(isShareable: stored.map { load.cache.isShareable($0) } ?? false)
        let flow = next.didReceive(described(response, isStored: stored != nil), storage: policy)
        if flow != .keepGoing { load.endSharing(.alone) }
        return flow
    }

    private func described(_ response: Response, isStored: Bool) -> Response {
        var response = response
        if let reason = question.reason {
            response.cacheStatus = .forwarded(
                because: reason, status: response.status?.code, isStored: isStored, refusal: storage.refusal)
        }
        return response
    }

    // MARK: - The body

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let count = bytes.byteCount
        // `nil` if the octets are for the client.
        let isTooMuch: Bool? = state.withLock { state in
            guard case .dropping = state.mode else { return nil }
            state.droppedCount += count
            return state.droppedCount > Self.dropLimit
        }
        if let isTooMuch {
            guard isTooMuch else { return .keepGoing }
            finishDropping()
            return .stopped
        }
        if isOver { return .stopped }
        let (skipped, missing) = state.withLock { state in
            let skipped = min(state.skippedCount, Int64(count))
            state.skippedCount -= skipped
            let missing = state.missingCount.map { $0 - (Int64(count) - skipped) } ?? 0
            if state.missingCount != nil { state.missingCount = max(0, missing) }
            return (Int(skipped), missing)
        }
        if missing < 0 { return question.rest == nil ? failCompletion() : finishRest(bytes.extracting(skipped..<count + Int(missing))) }
        guard skipped < count else { return .keepGoing }
        if !storage.write(bytes) { load.endSharing(.alone) }
        let flow = next.didLoad(bytes.extracting(skipped..<count))
        if flow != .keepGoing { load.endSharing(.alone) }
        return flow
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        let isDropped = state.withLock { state in
            if case .dropping = state.mode { true } else { false }
        }
        if isDropped { return }
        storage.receiveTrailers(fields)
        if !isOver { next.didReceiveTrailers(fields) }
    }

    // MARK: - The end

    func didFinishLoading() {
        if finishDropping() || isOver || postpone(.finished) { return }
        if let missing = state.withLock({ $0.missingCount }), missing != 0 {
            _ = question.rest == nil ? failCompletion() : failRest(because: "the server sends fewer octets than the rest has")
            return
        }
        guard let after = state.withLock({ $0.partAfter.take() }) else { return finish() }
        deliver(StoredDelivery.Content(part: after), of: after.range.upperBound) { [self] in finish() }
    }

    /// Keeps the end of the next handler's load until the stored octets are delivered.
    ///
    /// - Returns: `false` if none are being delivered.
    private func postpone(_ end: EarlyEnd) -> Bool {
        state.withLock { state in
            guard case .delivering = state.mode else { return false }
            if state.earlyEnd == nil { state.earlyEnd = end }
            return true
        }
    }

    private func finish() {
        state.withLock { $0.mode = .over }
        let isStored = storage.finish(isComplete: true)
        load.exchangeDidEnd()
        next.didFinishLoading()
        load.endSharing(isStored ? .stored : .alone)
    }

    func didFail(with error: LoadError) {
        if finishDropping() || isOver || postpone(.failed(error)) { return }
        let hasResponse = state.withLock { $0.hasResponse }
        if !hasResponse, question.rest == nil, Self.serverIsUnavailable(error),
            let use = lookup.at(load.cache.now()).decide(afterError: nil, question.stored)
        {
            state.withLock { $0.mode = .over }
            return load.answer(with: question.entries, use)
        }
        fail(error)
    }

    /// Whether the error is like the status 500, 502, 503 or 504 of the server, so that a stale response may replace
    /// the error. A refused password or certificate is no such error.
    ///
    /// RFC 5861 §4
    private static func serverIsUnavailable(_ error: LoadError) -> Bool {
        let codes: Set<LoadError.Code> = [.nameNotFound, .cannotConnect, .connectionLost, .emptyResponse, .timedOut, .truncated]
        return codes.contains(error.code)
    }

    /// Removes the stored response and fails, because the server sent more or fewer octets than its `Content-Range`
    /// says.
    private func failCompletion() -> Flow {
        if let chosen = question.chosen { store.remove(.entry(question.entries[chosen].id)) }
        return stop(
            LoadError(
                .badResponse,
                message:
                    "the 206 response for \(load.request.url.shortDescription) has more or fewer octets than its Content-Range; load it again"
            ))
    }

    /// Stops the next handler's load, stores nothing, and fails.
    private func stop(_ error: LoadError) -> Flow {
        discardRecording()
        state.withLock { $0.mode = .over }
        load.stopExchange()
        next.didFail(with: error)
        return .stopped
    }

    private func fail(_ error: LoadError) {
        state.withLock { $0.mode = .over }
        storage.finish(isComplete: false)
        load.exchangeDidEnd()
        next.didFail(with: error)
        load.endSharing(.alone)
    }

    /// Ends the dropping of events, and continues with its action.
    ///
    /// - Returns: whether events were being dropped.
    @discardableResult
    private func finishDropping() -> Bool {
        let action: (@Sendable () -> Void)? = state.withLock { state in
            guard case .dropping(let action) = state.mode else { return nil }
            state.mode = .over
            return action
        }
        action?()
        return action != nil
    }

    private func discardRecording() {
        storage.discard()
        load.endSharing(.alone)
    }

    // MARK: - Completion

    /// Delivers the complete response: the stored octets, those of the 206 response, and the stored octets after them.
    ///
    /// RFC 9111 §3.4
    private func complete(_ completion: Completion, with response: Response) -> Flow {
        guard let chosen = question.chosen, let draft = storage.makeDraft(of: response), let bytes = draft.range?.bytes,
            bytes.lowerBound == completion.first
        else { return resend() }
        let entry = question.entries[chosen]
        guard let combined = entry.stored.combined(with: draft.stored, answering: completion),
            let length = combined.content.completeLength, combined.content.isComplete
        else { return resend() }
        let isStored = storage.begin(draft, .allowed, asking: next)
        load.responseDidBegin(isShareable: isStored && load.cache.isShareable(combined))
        var head = entry.response(.ok, StoredFields.dated(combined), length: length)
        (head.url, head.source) = (load.request.url, .validated)
        head.cacheStatus = .forwarded(because: .incomplete, status: 206, isStored: isStored)
        state.withLock { state in
            state.missingCount = Int64(bytes.count)
            if bytes.upperBound < length { state.partAfter = StoredPart(entry: entry, range: bytes.upperBound..<length) }
        }
        deliver(StoredDelivery.Content(head: head, part: StoredPart(entry: entry, range: 0..<bytes.lowerBound)), of: length) { [self] in
            state.withLock { $0.mode = .forwarding }
            load.resumeExchange()
        }
        return .pause
    }

    /// - Parameter length: the length of the body that the caller receives.
    private func deliver(_ content: StoredDelivery.Content, of length: Int64, then action: @escaping @Sendable () -> Void) {
        let delivery = StoredDelivery(content, to: next) { [self] delivery, end in
            switch end {
            case .complete, .redirectDeclined: deliveryDidEnd(then: action)
            case .failed(let error):
                discardRecording()
                state.withLock { $0.mode = .over }
                load.storedOctetsAreDamaged(delivery, error, end: length)
            case .stopped:
                stop()
                load.stopExchange()
            }
        }
        state.withLock { $0.mode = .delivering(delivery) }
        delivery.start()
        // A delivery that has not ended waits for its client, or for a disk.
        if case .delivering = state.withLock({ $0.mode }) { load.endSharing(.alone) }
    }

    /// Continues after the delivery of stored octets. If the next handler's load has ended during the delivery, handles
    /// that end.
    private func deliveryDidEnd(then action: () -> Void) {
        let end = state.withLock { state -> EarlyEnd? in
            if state.earlyEnd != nil { state.mode = .forwarding }
            return state.earlyEnd.take()
        }
        switch end {
        case .finished: didFinishLoading()
        case .failed(let error): fail(error)
        case nil: action()
        }
    }

    // MARK: - The rest of a damaged body

    /// Continues with a response to the request for the rest, if it has the same representation.
    private func receiveRest(_ rest: StoredPart, _ response: Response) -> Flow {
        let stored = rest.entry.stored
        guard let status = response.status, response.isDecoded == stored.isDecoded,
            stored.hasSameRepresentation(as: response.fields, status, now: load.cache.now())
        else { return failRest(because: "the server has another version now") }
        let skippedCount: Int64
        switch status {
        case .ok: skippedCount = rest.range.lowerBound
        case .partialContent where ContentRange(in: response.fields)?.bytes == rest.range: skippedCount = 0
        default: return failRest(because: "the status is \(status.code)")
        }
        state.withLock { ($0.skippedCount, $0.missingCount) = (skippedCount, Int64(rest.range.count)) }
        return .keepGoing
    }

    /// Delivers the last octets of the rest, and stops a response that has more.
    private func finishRest(_ bytes: borrowing RawSpan) -> Flow {
        let flow = bytes.byteCount > 0 ? next.didLoad(bytes) : .keepGoing
        // After a pause, this client ends when it receives the next octets, or the end of the next handler's load.
        if flow == .pause { return .pause }
        state.withLock { $0.mode = .over }
        load.stopExchange()
        if flow != .stopped { next.didFinishLoading() }
        return .stopped
    }

    private func failRest(because reason: String) -> Flow {
        stop(
            LoadError(
                .ioFailed,
                message:
                    "the stored response for \(load.request.url.shortDescription) is damaged, and its rest can't be loaded: \(reason); "
                    + "load it again"))
    }
}
