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
        case delivering(StoredDelivery)
        case loading(any ProtocolLoad, CacheExchange)
        case over
    }

    let request: Request
    let cache: ResponseCache
    let key: CacheKey
    let lookup: CacheLookup
    let client: any ProtocolClient
    private let next: any ProtocolHandler
    private let loader: Loader
    private let phase = Mutex(Phase.created)

    init(_ request: Request, cache: ResponseCache, next: any ProtocolHandler, loader: Loader, client: any ProtocolClient) {
        (self.request, self.cache, self.next, self.loader, self.client) = (request, cache, next, loader, client)
        key = CacheKey(request.url)
        lookup = CacheLookup(
            method: request.method, fields: loader.fieldsAsSent(request, by: next), policy: request.cachePolicy, now: cache.now())
    }

    /// Always `true`, because the store and the next handler call on other threads.
    var stopsAsynchronously: Bool { true }

    func startLoading() {
        let mustStart = phase.withLock { phase in
            guard case .created = phase else { return false }
            phase = .lookingUp
            return true
        }
        guard mustStart else { return }
        guard (lookup.method == .get || lookup.method == .head) && request.body == nil else { return decide([]) }
        cache.store.lookUp(key) { [self] entries in decide(entries.filter(isUsable)) }
    }

    func stopLoading() {
        switch end() {
        case .delivering(let delivery): delivery.stop()
        case .loading(let load, let exchange):
            load.stopLoading()
            exchange.stop()
        case .created, .lookingUp, .over: break
        }
    }

    func resumeLoading() {
        switch phase.withLock({ $0 }) {
        case .delivering(let delivery): delivery.resume()
        case .loading(let load, let exchange):
            if !exchange.resumeDelivery() { load.resumeLoading() }
        case .created, .lookingUp, .over: break
        }
    }

    /// - Returns: the phase before.
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
        // An exchange that continues with something else may still run.
        if case .loading(let load, _) = previous { load.stopLoading() }
        return previous != nil
    }

    // MARK: - Decision

    /// A body without its content codings answers no request for the coded body, and the reverse.
    private func isUsable(_ entry: CacheEntry) -> Bool {
        if entry.stored.isDecoded { return request.decodesContent }
        return entry.attributes.remainingContentCodings.isEmpty || !request.decodesContent
    }

    private func decide(_ entries: [CacheEntry]) {
        let responses = entries.map(\.stored)
        switch lookup.decide(responses) {
        case .use(let use):
            if use.isRevalidated { cache.validateInBackground(request, key, by: loader) }
            answer(with: entries, use)
        case .validate(let index, let reason): load(CacheQuestion(entries, reason, chosen: index))
        // The caller's conditions are about the whole representation, so the server evaluates them.
        case .complete where lookup.fields.contains(.ifNoneMatch) || lookup.fields.contains(.ifModifiedSince):
            load(CacheQuestion(entries, .incomplete))
        case .complete(let index): load(CacheQuestion(entries, .incomplete, completion: Completion(of: responses[index]), chosen: index))
        case .load(let reason): load(CacheQuestion(entries, reason, chosen: lookup.choose(responses)))
        case .fail(let reason): fail(reason)
        }
    }

    /// Only a stored response may answer, and there is none.
    private func fail(_ reason: CacheReason) {
        guard request.cachePolicy != .onlyCached else {
            let message = "\(request.url.shortDescription) must come from the cache: \(reason.rawValue)"
            if case .over = end() { return }
            return client.didFail(with: LoadError(.notOffered, message: message))
        }
        // RFC 9111 §5.2.1.7
        var response = Response(url: request.url, expectedLength: 0, status: .gatewayTimeout)
        response.source = .cache
        deliver(StoredDelivery.Content(head: response))
    }

    // MARK: - Answers from the store

    /// Answers with a stored response that needs no validation.
    func answer(with entries: [CacheEntry], _ use: CacheDecision.Use) {
        let entry = entries[use.index]
        var content = self.content(entry, entry.stored, use.answer, age: use.age)
        content.head?.source = .cache
        content.head?.cacheStatus = .hit(use, of: entry.stored)
        deliver(content)
    }

    /// Answers with a stored response that was just validated.
    func answer(withValidated entry: CacheEntry, _ stored: StoredResponse, _ answer: CacheAnswer, _ reason: CacheReason) {
        var content = self.content(entry, stored, answer, age: nil)
        content.head?.source = .validated
        content.head?.cacheStatus = .forwarded(because: reason, status: 304, isStored: true)
        deliver(content)
    }

    private func deliver(_ content: StoredDelivery.Content) {
        let delivery = StoredDelivery(content, to: client) { [self] in deliveryDidEnd($0) }
        if enter(.delivering(delivery)) { delivery.start() }
    }

    /// - Parameter age: `nil` for a response that was just validated. It then has no `Age` field of this cache.
    private func content(_ entry: CacheEntry, _ stored: StoredResponse, _ answer: CacheAnswer, age: Int64?) -> StoredDelivery.Content {
        let shownAge = age ?? Freshness(of: stored, now: cache.now()).age
        var content = StoredDelivery.Content()
        let head: Response
        var range: Range<Int64>?
        switch answer {
        case .full:
            let fields = age == nil ? stored.fields : StoredFields.answer(stored, age: shownAge)
            head = entry.response(stored.status, fields, length: stored.content.completeLength)
            range = 0..<(stored.content.completeLength ?? 0)
            content.trailers = request.method == .head ? nil : entry.trailers
            content.redirect = request.redirected(by: head)
            content.hasBody = stored.content.completeLength != 0 || stored.fields[.contentLength] == "0"
        case .partial(let part):
            head = entry.response(.partialContent, StoredFields.partialAnswer(stored, part, age: shownAge), length: Int64(part.count))
            range = part
        case .notModified: head = entry.response(.notModified, StoredFields.notModifiedAnswer(stored, age: shownAge), length: 0)
        case .unsatisfiableRange:
            head = entry.response(.rangeNotSatisfiable, StoredFields.unsatisfiableAnswer(stored, age: shownAge), length: 0)
        }
        content.head = head
        content.head?.url = request.url
        if request.method != .head, let range, !range.isEmpty { content.reader = entry.body.makeReader(of: range) }
        return content
    }

    private func deliveryDidEnd(_ end: StoredDelivery.End) {
        guard case .delivering(let delivery) = phase.withLock({ $0 }) else { return }
        switch end {
        case .complete:
            self.end()
            client.didFinishLoading()
        case .stopped: self.end()
        case .redirectDeclined: loadAgain(CacheQuestion([], .incomplete, declinesRedirects: true))
        case .failed(let error):
            if delivery.hasDeliveredNothing { return loadAgain(CacheQuestion([], .noResponse)) }
            self.end()
            client.didFail(with: error)
        }
    }

    /// Loads with the next handler because a stored response can't be used, unless only a stored response may answer.
    private func loadAgain(_ question: CacheQuestion) {
        if case .fail(let reason) = lookup.decide([]) { fail(reason) } else { load(question) }
    }

    // MARK: - The next handler

    /// Loads with the next handler.
    func load(_ question: CacheQuestion) {
        let (entries, chosen) = (question.entries, question.chosen)
        var (question, sent) = (question, request)
        var offered: CachedResponse?
        if let completion = question.completion {
            sent.fields = completion.fields(request.fields)
        } else if lookup.policy == .reload || lookup.policy == .noStore || question.reason == .requestNoStore {
            // What is stored does not matter, so the server is not asked about it.
            sent.fields = fieldsToSend(lookup.forwardedFields)
        } else if usesHTTPConditions {
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
        if let offered { (load as? any NextLoad)?.offer(offered) }
        if enter(.loading(load, exchange)) { load.startLoading() }
    }

    /// The fields of the lookup have the stored cookies, which the next handler load adds itself.
    private func fieldsToSend(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        fields[.cookie] = nil
        for field in request.fields where field.name == .cookie { fields.append(field) }
        return fields
    }

    /// Whether the next handler sends the fields of the request, such as `If-None-Match`, to a server. Others receive
    /// the stored response itself.
    var usesHTTPConditions: Bool { request.url.scheme == "http" || request.url.scheme == "https" }

    /// The load of the exchange is over.
    func exchangeDidEnd() { end() }

    /// Stops the load of the exchange, because the exchange has failed.
    func stopExchange() {
        if case .loading(let load, _) = end() { load.stopLoading() }
    }

    /// Continues the load of the exchange.
    func resumeExchange() {
        if case .loading(let load, _) = phase.withLock({ $0 }) { load.resumeLoading() }
    }
}
