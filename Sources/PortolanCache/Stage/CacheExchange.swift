// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// What the cache asks the next handler, and why.
struct CacheQuestion: Sendable {
    /// The stored responses for the URL.
    var entries: [CacheEntry] = []
    /// Why the cache does not answer; `nil` for a request that the cache never answers.
    var reason: CacheReason?
    /// The index of the stored response that is to be validated or completed.
    var chosen: Int?
    /// The request for the octets that the chosen response lacks.
    var completion: Completion?
    /// The request that validates stored responses by its fields.
    var conditional: Validation.ConditionalRequest?
    /// The index of the stored response that the next handler received, so that it can confirm it.
    var offeredIndex: Int?
    /// Whether the caller has already declined the redirect that the response is expected to be.
    var declinesRedirects = false
    /// Whether the request has only the caller's own conditions, because a 304 was about no known response.
    var isSecond = false

    init(
        _ entries: [CacheEntry] = [], _ reason: CacheReason? = nil, completion: Completion? = nil, chosen: Int? = nil,
        declinesRedirects: Bool = false, isSecond: Bool = false
    ) {
        (self.entries, self.reason, self.completion, self.chosen) = (entries, reason, completion, chosen)
        (self.declinesRedirects, self.isSecond) = (declinesRedirects, isSecond)
    }

    var stored: [StoredResponse] { entries.map(\.stored) }
}

/// The client of one load by the next handler: it validates stored responses by the response, or stores the response
/// while it forwards it.
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

    private struct State {
        var mode = Mode.forwarding
        var hasResponse = false
        var writing: Writing?
        /// The stored octets after those that the next handler delivers.
        var rest: (any CacheBodyReader)?
        /// The number of octets that the next handler must still deliver to complete a stored response.
        var missingCount: Int64?
        /// Whether the request was sent again, with other credentials or cookies than those that the cache knows.
        var wasResent = false
        var droppedCount = 0
    }

    /// A response that is being stored.
    private struct Writing {
        let writer: any CacheWriter
        /// Without its final content.
        let draft: StoredResponse
        /// The position of the first octet in the representation.
        let position: Int64
        /// The length of the representation; `nil` if it is not known.
        let completeLength: Int64?
        /// The stored part that is extended.
        let extended: StoredResponse?
        /// The number of octets of a 206 response, by its `Content-Range`; `nil` for another response.
        let partLength: Int64?
        var count: Int64 = 0
        var trailers: HTTPFields?
    }

    /// The largest body of a dropped response. A load with a larger one is stopped.
    private static let dropLimit = 1 << 20

    let next: any ProtocolClient
    private let load: CachingLoad
    private let question: CacheQuestion
    private let requestTime: Int64
    private let removalCount: Int
    private let state = Mutex(State())

    init(_ load: CachingLoad, _ question: CacheQuestion) {
        (self.load, self.question) = (load, question)
        next = load.client
        requestTime = load.cache.now()
        removalCount = load.cache.removalCount
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

    /// The load was stopped. What was received can be completed later.
    func stop() {
        let mode = state.withLock { state in
            defer { state.mode = .over }
            return state.mode
        }
        if case .delivering(let delivery) = mode { delivery.stop() }
        finishWriting(isComplete: false)
    }

    private var isOver: Bool {
        if case .over = state.withLock({ $0.mode }) { true } else { false }
    }

    func willResend(after response: Response) {
        state.withLock { $0.wasResent = true }
        next.willResend(after: response)
    }

    // MARK: - Redirects

    func wasRedirected(to request: Request, redirectResponse response: Response) -> Flow {
        invalidate(after: response)
        if question.declinesRedirects { return .keepGoing }
        storeRedirect(response)
        let flow = next.wasRedirected(to: request, redirectResponse: response)
        if flow == .stopped { load.exchangeDidEnd() }
        return flow
    }

    /// Stores a redirect without its body, which is delivered only if the caller declines the redirect. The response is
    /// then stored again.
    private func storeRedirect(_ response: Response) {
        // Only the fields of a redirect by HTTP say that it may be stored. `try?` because it is no failure if it may not.
        guard load.usesHTTPConditions, let draft = try? draft(of: response) else { return }
        openWriter(CacheOpening(load.key, CacheAttributes(response), request: lookup.fields))?
            .finish(draft.withContent(.complete(length: 0)), trailers: nil)
    }

    // MARK: - The response

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        let isFirst = state.withLock { state in
            defer { state.hasResponse = true }
            return !state.hasResponse
        }
        guard isFirst else {
            // A later part of a multipart response is not stored, and so the first one is not either.
            state.withLock { $0.writing.take() }?.writer.discard()
            return next.didReceive(response, storage: storage)
        }
        invalidate(after: response)
        if let conditional = question.conditional, response.status == .notModified, !question.isSecond {
            return validate(by: response, conditional, storage)
        }
        if response.status?.kind == .serverError, let use = lookup.decide(afterError: response.status, question.stored) {
            state.withLock { $0.mode = .over }
            load.answer(with: question.entries, use)
            return .stopped
        }
        if let completion = question.completion, response.status != .ok {
            guard response.status == .partialContent else { return resend() }
            return complete(completion, with: response)
        }
        if lookup.method == .head, lookup.policy != .noStore { updateFromHead(response) }
        return store(response, storage)
    }

    /// Drops the response of the next handler, and continues with `action` at its end.
    private func drop(then action: @escaping @Sendable () -> Void) -> Flow {
        state.withLock { $0.mode = .dropping(then: action) }
        return .keepGoing
    }

    /// Sends the request again with the caller's own conditions only.
    private func resend() -> Flow {
        drop { [self] in load.load(CacheQuestion([], question.reason, isSecond: true)) }
    }

    /// RFC 9111 §4.3.3, §4.3.4
    private func validate(by response: Response, _ conditional: Validation.ConditionalRequest, _ storage: CacheStoragePolicy) -> Flow {
        switch Validation.outcome(of: response.fields, conditional, lookup, question.stored) {
        case .deliver: return next.didReceive(described(response, isStored: false), storage: storage)
        case .resend: return resend()
        case .update(let indices):
            guard let first = indices.first else { return resend() }
            var updated: StoredResponse?
            for index in indices {
                let newer = update(question.entries[index], by: response.fields, isSelected: index == first)
                if index == first { updated = newer }
            }
            guard let updated, let answer = lookup.answer(from: updated) else { return resend() }
            return drop { [self] in
                load.answer(withValidated: question.entries[first], updated, answer, question.reason ?? .stale)
            }
        }
    }

    /// The plugin's form of a 304.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        guard let index = question.offeredIndex else { return }
        let updated = update(question.entries[index], by: newer?.fields ?? HTTPFields(), isSelected: true)
        let answer = lookup.answer(from: updated) ?? .full
        _ = drop { [self] in load.answer(withValidated: question.entries[index], updated, answer, question.reason ?? .stale) }
    }

    /// - Returns: the stored response with newer fields.
    private func update(_ entry: CacheEntry, by fields: HTTPFields, isSelected: Bool) -> StoredResponse {
        let (newer, isStorable) = entry.stored.updated(
            by: fields, request: isSelected && !state.withLock({ $0.wasResent }) ? lookup.fields : nil, requestTime: requestTime,
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

    /// RFC 9111 §4.4; W3C Clear Site Data
    private func invalidate(after response: Response) {
        let url = load.request.url
        if Invalidation.clearsCache(response.fields, of: url) { load.cache.remove(.origin(url)) }
        guard let status = response.status else { return }
        for invalid in Invalidation.urls(method: lookup.method, url: url, status: status, fields: response.fields) {
            load.cache.remove(.url(invalid))
        }
    }

    // MARK: - Storing

    private func store(_ response: Response, _ storage: CacheStoragePolicy) -> Flow {
        // `http:` derives its policy from the fields, as the rules do.
        let isAllowed = !response.isBodyPart && (storage != .notAllowed || load.usesHTTPConditions)
        // `try?` because a response that may not be stored is no failure.
        let isStored = isAllowed ? (try? draft(of: response)).map { begin($0, response, storage) } ?? false : false
        return next.didReceive(described(response, isStored: isStored), storage: storage)
    }

    /// Begins to store the response.
    ///
    /// - Returns: `false` if it is not stored.
    private func begin(_ draft: StoredResponse, _ response: Response, _ storage: CacheStoragePolicy) -> Bool {
        let range = response.status == .partialContent ? ContentRange(in: response.fields) : nil
        let extended = range.flatMap { _ in
            question.entries.first { $0.stored.combined(with: draft, answering: question.completion) != nil }
        }
        var opening = CacheOpening(load.key, CacheAttributes(response), request: lookup.fields)
        opening.expectedLength = response.expectedLength
        opening.position = range?.bytes?.lowerBound ?? 0
        opening.extended = extended?.id
        // The policy of `http:` is only about `no-store`, which the rules know better.
        opening.policy = storage == .notAllowed ? .allowed : storage
        guard let writer = openWriter(opening) else { return false }
        let writing = Writing(
            writer: writer, draft: draft, position: opening.position, completeLength: range.map(\.size) ?? response.expectedLength,
            extended: extended?.stored, partLength: range.map { Int64($0.bytes?.count ?? 0) })
        state.withLock { $0.writing = writing }
        return true
    }

    /// - Returns: `nil` if there is no room, or if the response could be older than the reason for a removal.
    private func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? {
        load.cache.mayHaveRemoved(load.key, since: removalCount) ? nil : store.openWriter(opening)
    }

    /// The response as it is stored, without its final content.
    private func draft(of response: Response) throws(Storability.Refusal) -> StoredResponse {
        let status = response.status ?? .ok
        let isDecoded = response.fields.contains(.contentEncoding) && response.remainingContentCodings.isEmpty
        let now = load.cache.now()
        try Storability.check(
            method: lookup.method, request: lookup.fields, status: status, fields: response.fields,
            transfer: Storability.Transfer(isDecoded: isDecoded), now: now)
        guard lookup.policy != .noStore else { throw .requestNoStore }
        guard let selecting = SelectingFields(vary: response.fields, request: lookup.fields),
            !selecting.namesCredentials(missingIn: lookup.fields, wasResent: state.withLock { $0.wasResent })
        else { throw .varyAll }
        let range = status == .partialContent ? ContentRange(in: response.fields) : nil
        let content = range.flatMap { range in
            range.bytes.map { StoredContent(ByteRangeSet($0), completeLength: range.size) }
        }
        return StoredResponse(
            url: load.request.url, status: status, fields: StoredFields.storable(response.fields), requestTime: requestTime,
            responseTime: now, selectingFields: selecting, content: content ?? .complete(length: 0), isDecoded: isDecoded)
    }

    private func described(_ response: Response, isStored: Bool) -> Response {
        var response = response
        if let reason = question.reason {
            response.cacheStatus = .forwarded(because: reason, status: response.status?.code, isStored: isStored)
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
        let (writer, isAccepted, missing) = state.withLock { state in
            state.missingCount? -= Int64(count)
            state.writing?.count += Int64(count)
            // A part that is longer than its Content-Range says is not stored.
            let isAccepted = (state.writing?.count ?? 0) <= state.writing?.partLength ?? .max
            let writer = state.writing?.writer
            if !isAccepted { state.writing = nil }
            return (writer, isAccepted, state.missingCount ?? 0)
        }
        if missing < 0 { return failCompletion() }
        if let writer {
            if !isAccepted { writer.discard() } else if !writer.write(bytes) { state.withLock { $0.writing = nil } }
        }
        return next.didLoad(bytes)
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        let isDropped = state.withLock { state in
            if case .dropping = state.mode { return true }
            state.writing?.trailers = fields
            return false
        }
        if !isDropped { next.didReceiveTrailers(fields) }
    }

    // MARK: - The end

    func didFinishLoading() {
        if finishDropping() || isOver { return }
        if let missing = state.withLock({ $0.missingCount }), missing != 0 {
            _ = failCompletion()
            return
        }
        guard let rest = state.withLock({ $0.rest.take() }) else { return finish() }
        deliver(StoredDelivery.Content(reader: rest)) { [self] in finish() }
    }

    private func finish() {
        state.withLock { $0.mode = .over }
        finishWriting(isComplete: true)
        load.exchangeDidEnd()
        next.didFinishLoading()
    }

    func didFail(with error: LoadError) {
        if finishDropping() || isOver { return }
        let hasResponse = state.withLock { $0.hasResponse }
        if !hasResponse, Self.serverIsUnavailable(error), let use = lookup.decide(afterError: nil, question.stored) {
            state.withLock { $0.mode = .over }
            return load.answer(with: question.entries, use)
        }
        fail(error)
    }

    /// Whether a stale response may replace an error, because it is like a 500, 502, 503 or 504 of the server. A
    /// refused password or certificate is not.
    ///
    /// RFC 5861 §4
    private static func serverIsUnavailable(_ error: LoadError) -> Bool {
        let codes: Set<LoadError.Code> = [.nameNotFound, .cannotConnect, .connectionLost, .emptyResponse, .timedOut, .truncated]
        return codes.contains(error.code)
    }

    /// The server sent more or fewer octets than it said, so that the stored response can't be completed.
    private func failCompletion() -> Flow {
        if let chosen = question.chosen { store.remove(.entry(question.entries[chosen].id)) }
        state.withLock { $0.writing.take() }?.writer.discard()
        state.withLock { $0.mode = .over }
        load.stopExchange()
        next.didFail(
            with: LoadError(
                .badResponse,
                message: "the 206 response for \(load.request.url.shortDescription) has not the octets of its Content-Range; load it again")
        )
        return .stopped
    }

    private func fail(_ error: LoadError) {
        state.withLock { $0.mode = .over }
        finishWriting(isComplete: false)
        load.exchangeDidEnd()
        next.didFail(with: error)
    }

    /// - Returns: whether events are being dropped.
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

    /// Makes the stored response visible, if it is complete or can be completed later.
    private func finishWriting(isComplete: Bool) {
        guard let writing = state.withLock({ $0.writing.take() }) else { return }
        let (draft, received) = (writing.draft, writing.position..<writing.position + writing.count)
        var content = StoredContent(ByteRangeSet(received), completeLength: writing.completeLength)
        if let partLength = writing.partLength {
            guard !isComplete || writing.count == partLength else { return writing.writer.discard() }
        } else if isComplete {
            content = .complete(length: writing.count)
        }
        var stored: StoredResponse? = draft.withContent(content)
        if let extended = writing.extended {
            stored = stored.flatMap { extended.combined(with: $0, answering: question.completion) }
        }
        guard let stored, isComplete || (writing.count > 0 && canBeCompleted(draft)) else { return writing.writer.discard() }
        writing.writer.finish(stored, trailers: writing.trailers)
    }

    /// RFC 9111 §3.3
    private func canBeCompleted(_ draft: StoredResponse) -> Bool {
        do throws(Storability.Refusal) {
            try Storability.check(
                method: lookup.method, request: lookup.fields, status: draft.status, fields: draft.fields,
                transfer: Storability.Transfer(isComplete: false, isDecoded: draft.isDecoded), now: draft.responseTime)
            return true
        } catch {
            return false
        }
    }

    // MARK: - Completion

    /// Delivers the complete response: the stored octets, those of the 206 response, and the stored octets after them.
    ///
    /// RFC 9111 §3.4
    private func complete(_ completion: Completion, with response: Response) -> Flow {
        guard let chosen = question.chosen, let range = ContentRange(in: response.fields), let bytes = range.bytes,
            bytes.lowerBound == completion.first, let draft = try? draft(of: response)
        else { return resend() }
        let entry = question.entries[chosen]
        guard let combined = entry.stored.combined(with: draft, answering: completion),
            let length = combined.content.completeLength, combined.content.isComplete
        else { return resend() }
        let isStored = begin(draft, response, .allowed)
        var head = entry.response(.ok, combined.fields, length: length)
        (head.url, head.source) = (load.request.url, .validated)
        head.cacheStatus = .forwarded(because: .incomplete, status: 206, isStored: isStored)
        let before = bytes.lowerBound > 0 ? entry.body.makeReader(of: 0..<bytes.lowerBound) : nil
        state.withLock { $0.missingCount = Int64(bytes.count) }
        if bytes.upperBound < length {
            let rest = entry.body.makeReader(of: bytes.upperBound..<length)
            state.withLock { $0.rest = rest }
        }
        deliver(StoredDelivery.Content(head: head, reader: before)) { [self] in
            state.withLock { $0.mode = .forwarding }
            load.resumeExchange()
        }
        return .pause
    }

    private func deliver(_ content: StoredDelivery.Content, then action: @escaping @Sendable () -> Void) {
        let delivery = StoredDelivery(content, to: next) { [self] end in
            switch end {
            case .complete, .redirectDeclined: action()
            case .failed(let error): fail(error)
            case .stopped:
                stop()
                load.stopExchange()
            }
        }
        state.withLock { $0.mode = .delivering(delivery) }
        delivery.start()
    }
}

extension StoredResponse {
    func withContent(_ content: StoredContent) -> StoredResponse {
        var response = self
        response.content = content
        return response
    }
}

extension SelectingFields {
    /// Whether the response depends on credentials that the loader adds to the request later, so that no request can be
    /// compared with it.
    ///
    /// - Parameter wasResent: whether the request was sent again with a credential, and with the cookies of a 401.
    func namesCredentials(missingIn request: HTTPFields, wasResent: Bool) -> Bool {
        selectors.contains { selector in
            switch selector.name {
            case "authorization": wasResent || !request.contains(.authorization)
            case "cookie": wasResent
            default: selector.name == "proxy-authorization"
            }
        }
    }
}
