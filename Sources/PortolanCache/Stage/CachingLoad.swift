// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanURL
import Synchronization

/// A load through the cache: it looks for stored responses, and answers with one of them, or makes a ``CacheExchange``.
final class CachingLoad: ProtocolLoad {
    private enum Phase {
        case created, lookingUp
        /// The load waits for the response to an equal request.
        case waiting(WaitingLoad)
        case delivering(StoredDelivery)
        case loading(any ProtocolLoad, CacheExchange)
        case over
    }

    let request: Request
    let cache: ResponseCache
    let key: CacheKey
    let lookup: CacheLookup
    let client: any ProtocolClient
    private let next: RegisteredHandler
    private let loader: Loader
    /// The stored responses; `nil` if they must be looked up.
    private let entries: [CacheEntry]?
    private let phase = Mutex(Phase.created)
    /// The request whose response other loads wait for.
    private let shared = Mutex<CollapsedRequests.RequestID?>(nil)
    /// The right to be the only load for the key among all users of the store.
    private let lease = Mutex<CacheLease?>(nil)
    /// When the wait for other loads ends; `nil` before the first wait.
    private let waitDeadline = Mutex<Duration?>(nil)
    /// Why the cache did not answer before the load waited for another one.
    private let waitReason = Mutex<CacheReason?>(nil)
    /// Whether the handler distinguishes the request from others for its URL, so that no stored response answers it.
    let bypassesCache: Bool
    /// Whether the cache follows the fields of requests and responses. A handler without HTTP fields receives the
    /// stored response itself, and says with each response whether it may be stored.
    let usesHTTPFields: Bool

    /// The longest time that a load waits for the response to an equal request. Then it sends its own.
    static let waitLimit = Duration.seconds(20)

    /// - Parameter found: the key of the request and the stored responses for it; `nil` if they were not looked up.
    init(
        _ request: Request, cache: ResponseCache, found: (key: CacheKey, entries: [CacheEntry])?, next: RegisteredHandler, loader: Loader,
        client: any ProtocolClient
    ) {
        (self.request, self.cache, self.next, self.loader, self.client) = (request, cache, next, loader, client)
        entries = found?.entries
        key = found?.key ?? CacheKey(request.url, partition: loader.configuration.cachePartition?(request))
        usesHTTPFields = next.handler.traits.contains(.httpFields)
        bypassesCache = !usesHTTPFields && !request.isEquivalentToItsURL(by: next.handler)
        lookup = CacheLookup(
            method: request.method, fields: loader.fieldsAsSent(request, by: next.handler), policy: request.cachePolicy, now: cache.now())
    }

    deinit { endSharing(.alone) }

    /// Always `true`, because the store and the next handler call on other threads.
    var stopsAsynchronously: Bool { true }

    func startLoading() {
        let mustStart = phase.withLock { phase in
            guard case .created = phase else { return false }
            phase = .lookingUp
            return true
        }
        guard mustStart else { return }
        guard !bypassesCache, (lookup.method == .get || lookup.method == .head) && request.body == nil else { return decide([]) }
        if let entries { return decide(entries.filter(isUsable)) }
        lookUp { [self] entries in decide(entries) }
    }

    private func lookUp(_ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
        cache.store.lookUp(key) { [self] entries in completion(entries.filter(isUsable)) }
    }

    func stopLoading() {
        switch end() {
        case .delivering(let delivery): delivery.stop()
        case .loading(let load, let exchange):
            load.stopLoading()
            exchange.stop()
        case .waiting(let waiting): cache.remove(waiting, key)
        case .created, .lookingUp, .over: break
        }
        endSharing(.stopped)
    }

    func resumeLoading() {
        switch phase.withLock({ $0 }) {
        case .delivering(let delivery): delivery.resume()
        case .loading(let load, let exchange):
            if !exchange.resumeDelivery() { load.resumeLoading() }
        case .created, .lookingUp, .waiting, .over: break
        }
    }

    /// - Returns: the phase before this call.
    @discardableResult
    private func end() -> Phase {
        phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
    }

    /// - Returns: `false` if the load is over.
    private func enter(_ next: Phase) -> Bool {
        let previous: Phase? = phase.withLock { phase in
            if case .over = phase { return nil }
            defer { phase = next }
            return phase
        }
        // If an exchange continues with something else, its load may still run.
        if case .loading(let load, _) = previous { load.stopLoading() }
        return previous != nil
    }

    // MARK: - Decision

    /// A decoded body answers no request for the coded body, and a coded body no request for the decoded body.
    private func isUsable(_ entry: CacheEntry) -> Bool {
        if entry.stored.isDecoded { return request.decodesContent }
        return entry.attributes.remainingContentCodings.isEmpty || !request.decodesContent
    }

    /// - Parameter waitEnd: how the load's wait for another one has ended; `nil` if it has not waited.
    private func decide(_ entries: [CacheEntry], after waitEnd: WaitingLoad.End? = nil) {
        let responses = entries.map(\.stored)
        let lookup = waitEnd == nil ? lookup : self.lookup.at(cache.now())
        let question: CacheQuestion
        switch lookup.decide(responses) {
        case .use(let use):
            if use.needsRevalidation { cache.validateInBackground(request, key, by: loader) }
            return answer(with: entries, use, isCollapsed: waitEnd == .stored)
        case .validate(let index, let reason): question = CacheQuestion(entries, reason, chosen: index)
        // The caller's conditions are about the whole representation, so the server evaluates them.
        case .complete where lookup.fields.contains(.ifNoneMatch) || lookup.fields.contains(.ifModifiedSince):
            question = CacheQuestion(entries, .incomplete)
        case .complete(let index):
            question = CacheQuestion(entries, .incomplete, completion: Completion(of: responses[index]), chosen: index)
        case .load(let reason): question = CacheQuestion(entries, reason, chosen: lookup.choose(responses))
        case .fail(let reason): return fail(reason)
        }
        // A stored response that needs validation although it was just received needs it for each request.
        let isAlone = bypassesCache || lookup.method != .get || waitEnd == .alone || (waitEnd == .stored && question.reason != .noMatch)
        if isAlone { load(question) } else { share(question, hasWaited: waitEnd == .stored) }
    }

    // MARK: - Equal requests

    /// Sends the request, or waits for the response to an equal request that was sent before.
    private func share(_ question: CacheQuestion, hasWaited: Bool) {
        let candidate = CollapsedRequests.Candidate(lookup, request)
        let waiting = WaitingLoad { [weak self] in
            self?.waitDidTimeOut()
        } resume: { [weak self] in
            self?.waitDidEnd($0)
        }
        waitReason.withLock { $0 = question.reason }
        guard enter(.waiting(waiting)) else { return }
        switch cache.begin(key, candidate, waiting, isRepeated: hasWaited) {
        case .first(let id):
            shared.withLock { $0 = id }
            // Another load of the URL may have stored its response and ended after the look-up.
            if question.entries.isEmpty, let stored = cache.store.immediateEntries(for: key)?.filter(isUsable), !stored.isEmpty {
                endSharing(.stored)
                return decide(stored, after: .alone)
            }
            claim(question)
        case .alone: load(question)
        case .wait: wait(waiting)
        }
    }

    /// Sends the request, unless another process or machine that uses the store has just stored a response.
    private func claim(_ question: CacheQuestion) {
        cache.store.claim(key) { [self] claim in
            switch claim {
            case .load(let claimed):
                lease.withLock { $0 = claimed }
                load(question)
            case .lookUp: lookUp { [self] entries in decide(entries, after: .alone) }
            }
        }
    }

    private func wait(_ waiting: WaitingLoad) {
        let reason = "waits for the response to an equal request of another load"
        (client as? any QueueingClient)?.didEnterQueue(
            QueueWait(reason, limit: nil, remedy: .raiseTimeout, error: LoadError(.timedOut, message: reason)))
        let clock = loader.configuration.clock
        let deadline = waitDeadline.withLock { deadline in
            let first = deadline ?? clock.now + Self.waitLimit
            deadline = first
            return first
        }
        clock.schedule(waiting.timer, at: deadline)
        if case .waiting(let current) = phase.withLock({ $0 }), current === waiting { return }
        // The load was stopped or has continued in the meantime.
        cache.remove(waiting, key)
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: false)
    }

    private func waitDidTimeOut() {
        guard case .waiting(let waiting) = phase.withLock({ $0 }), cache.remove(waiting, key) else { return }
        waitDidEnd(.alone)
    }

    private func waitDidEnd(_ end: WaitingLoad.End) {
        let wasWaiting = phase.withLock { phase in
            guard case .waiting = phase else { return false }
            phase = .lookingUp
            return true
        }
        guard wasWaiting else { return }
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: false)
        lookUp { [self] entries in decide(entries, after: end) }
    }

    /// Ends the wait of the loads that wait for the response of this one.
    func endSharing(_ end: WaitingLoad.End) {
        if let id = shared.withLock({ $0.take() }) { cache.end(key, id, end) }
        releaseLease()
    }

    private func releaseLease() { lease.withLock { $0.take() }?.release() }

    /// The head of the response is here, and the response is being stored if that is possible.
    ///
    /// - Parameter isShareable: whether the response can answer other requests.
    func responseDidBegin(isShareable: Bool) {
        guard lookup.isShareable, !bypassesCache else { return }
        cache.record(key, isShareable: isShareable)
        if !isShareable { endSharing(.alone) }
    }

    /// Fails the load or answers with 504, because only a stored response may answer the request, and none can.
    private func fail(_ reason: CacheReason) {
        guard request.cachePolicy != .onlyCached else {
            let message = "\(request.url.shortDescription) must come from the cache: \(reason.text)"
            if case .over = end() { return }
            client.didFail(with: LoadError(.notOffered, message: message))
            return endSharing(.alone)
        }
        // RFC 9111 §5.2.1.7
        var response = Response(url: request.url, expectedLength: 0, status: .gatewayTimeout)
        response.source = .cache
        response.cacheStatus = .unanswered(because: reason)
        deliver(StoredDelivery.Content(head: response))
    }

    // MARK: - Answers from the store

    /// Answers with a stored response that needs no validation.
    ///
    /// - Parameter isCollapsed: whether the stored response is that of another load, for which this load has waited.
    func answer(with entries: [CacheEntry], _ use: CacheDecision.Use, isCollapsed: Bool = false) {
        let entry = entries[use.index]
        var content = self.content(entry, entry.stored, use.answer, age: use.age)
        content.head?.source = .cache
        let waitReason = isCollapsed ? waitReason.withLock { $0 } : nil
        var status: CacheStatus =
            waitReason.map { .forwarded(because: $0, status: nil, isStored: true, isCollapsed: true) } ?? .hit(use, of: entry.stored)
        status.previousUse = entry.use
        content.head?.cacheStatus = status
        // Loads that wait for this one look up again, and send their own requests if they find nothing usable.
        endSharing(.alone)
        deliver(content)
    }

    /// Answers with a stored response that was just validated.
    ///
    /// - Parameter confirmed: fields of the 304 that are not stored.
    func answer(
        withValidated entry: CacheEntry, _ stored: StoredResponse, _ answer: CachedContent, _ reason: CacheReason,
        confirmed: [HTTPField] = []
    ) {
        var content = self.content(entry, stored, answer, age: nil)
        if !confirmed.isEmpty, answer != .notModified { content.head?.fields.append(contentsOf: confirmed) }
        content.head?.source = .validated
        content.head?.cacheStatus = .forwarded(because: reason, status: 304, isStored: true)
        let id = shared.withLock { $0.take() }
        deliver(content)
        if let id { cache.end(key, id, .stored) }
        releaseLease()
    }

    private func deliver(_ content: StoredDelivery.Content) {
        let delivery = StoredDelivery(content, to: client) { [self] in deliveryDidEnd($0, $1) }
        if enter(.delivering(delivery)) { delivery.start() }
    }

    /// - Parameter age: `nil` for a response that was just validated. It then has no `Age` field of this cache.
    private func content(_ entry: CacheEntry, _ stored: StoredResponse, _ answer: CachedContent, age: Int64?) -> StoredDelivery.Content {
        let shownAge = age ?? Freshness(of: stored, now: cache.now()).age
        var content = StoredDelivery.Content()
        var head: Response
        var range: Range<Int64>?
        switch answer {
        case .full:
            let fields = age == nil ? StoredFields.dated(stored) : StoredFields.answer(stored, age: shownAge)
            head = entry.response(stored.status, fields, length: stored.content.completeLength)
            range = 0..<(stored.content.completeLength ?? 0)
            content.trailers = request.method == .head ? nil : entry.trailers
            content.hasBody = stored.content.completeLength != 0 || stored.fields[.contentLength] == "0"
        case .partial(let part):
            head = entry.response(.partialContent, StoredFields.partialAnswer(stored, part, age: shownAge), length: Int64(part.count))
            range = part
        case .notModified: head = entry.response(.notModified, StoredFields.notModifiedAnswer(stored, age: shownAge), length: 0)
        case .unsatisfiableRange:
            head = entry.response(.rangeNotSatisfiable, StoredFields.unsatisfiableAnswer(stored, age: shownAge), length: 0)
        }
        head.url = request.url
        if answer == .full { content.redirect = request.redirected(by: head) }
        content.head = head
        if request.method != .head, let range, !range.isEmpty { content.part = StoredPart(entry: entry, range: range) }
        return content
    }

    private func deliveryDidEnd(_ delivery: StoredDelivery, _ end: StoredDelivery.End) {
        guard case .delivering(let current) = phase.withLock({ $0 }), current === delivery else { return }
        switch end {
        case .complete:
            self.end()
            client.didFinishLoading()
            endSharing(.alone)
        case .stopped:
            self.end()
            endSharing(.alone)
        case .redirectDeclined: loadAgain(CacheQuestion([], .incomplete, declinesRedirects: true))
        case .failed(let error): storedOctetsAreDamaged(delivery, error)
        }
    }

    /// Removes a damaged response, and loads what the caller has not received.
    ///
    /// - Parameter end: the end of what the caller receives; `nil` for the end of the delivery.
    func storedOctetsAreDamaged(_ delivery: StoredDelivery, _ error: LoadError, end: Int64? = nil) {
        let missing = delivery.missingPart
        if let missing { cache.store.remove(.entry(missing.entry.id)) }
        if delivery.hasDeliveredNothing { return loadAgain(CacheQuestion([], .noResponse)) }
        if let missing, lookup.mayLoad, missing.entry.stored.strongValidator != nil {
            let rest = StoredPart(entry: missing.entry, range: missing.range.lowerBound..<(end ?? missing.range.upperBound))
            return load(CacheQuestion([], .incomplete, rest: rest))
        }
        if case .over = self.end() { return }
        client.didFail(with: error)
        endSharing(.alone)
    }

    /// Loads with the next handler because a stored response can't be used, unless only a stored response may answer.
    private func loadAgain(_ question: CacheQuestion) {
        if lookup.mayLoad { load(question) } else { fail(question.reason ?? .noResponse) }
    }

    // MARK: - The next handler

    /// Loads with the next handler.
    func load(_ question: CacheQuestion) {
        let (entries, chosen) = (question.entries, question.chosen)
        var (question, sent) = (question, request)
        var offered: CachedResponse?
        if let rest = question.rest {
            sent.fields = rest.fields(request.fields)
        } else if bypassesCache {
            // The request is sent as it is.
        } else if let completion = question.completion {
            sent.fields = completion.fields(request.fields)
        } else if lookup.policy == .reload || lookup.policy == .noStore || question.reason == .requestNoStore {
            // Stored responses are not used, so they are not validated either.
            sent.fields = fieldsToSend(lookup.forwardedFields)
        } else if usesHTTPFields {
            let conditional = Validation.request(lookup, entries.map(\.stored), chosen: chosen)
            question.conditional = conditional
            sent.fields = fieldsToSend(conditional.fields)
        } else if let chosen, entries[chosen].stored.content.isComplete {
            question.offeredIndex = chosen
            let length = entries[chosen].stored.content.completeLength ?? 0
            let response = entries[chosen].response(entries[chosen].stored.status, entries[chosen].stored.fields, length: length)
            offered = CachedResponse(response: response, body: entries[chosen].body.body(of: 0..<length))
        }
        let exchange = CacheExchange(self, question)
        let load = client.makeLoadByNextHandler(for: sent, client: exchange)
        (load as? NextHandlerLoad)?.use(next, offering: offered)
        if enter(.loading(load, exchange)) { load.startLoading() }
    }

    /// The fields without the stored cookies of the lookup, which the load by the next handler adds itself.
    private func fieldsToSend(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        fields[.cookie] = nil
        for field in request.fields where field.name == .cookie { fields.append(field) }
        return fields
    }

    /// The load of the exchange is over.
    func exchangeDidEnd() { end() }

    /// Stops the load of the exchange, because the exchange has ended before its load.
    func stopExchange() {
        if case .loading(let load, _) = end() { load.stopLoading() }
        endSharing(.alone)
    }

    /// Continues the load of the exchange.
    func resumeExchange() {
        if case .loading(let load, _) = phase.withLock({ $0 }) { load.resumeLoading() }
    }
}

extension Request {
    /// Whether a handler serves the request like one that has only its URL and method. If not, the key of the cache
    /// does not identify its response.
    fileprivate func isEquivalentToItsURL(by handler: any ProtocolHandler) -> Bool {
        handler.isCacheEquivalent(self, to: handler.canonicalRequest(for: Request(url: url, method: method)))
    }
}
