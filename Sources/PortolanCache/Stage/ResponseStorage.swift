// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization

/// Stores the response to one request, if the rules and the delegate allow it, and removes what it makes invalid.
///
/// RFC 9111 §3, §4.4
final class ResponseStorage: Sendable {
    private struct State {
        var lookup: CacheLookup
        var recorder: ResponseRecorder?
        /// Why the response is not stored.
        var refusal: String?
        /// Whether the request was sent again, with other credentials or cookies than those that the cache knows.
        var wasResent = false
        /// The number of removals before the request, with those that its response has caused.
        var removalCount: Int
        /// Whether others have removed responses for the key since the request.
        var hasRemoved = false
    }

    let cache: ResponseCache
    let key: CacheKey
    let url: URLRecord
    /// Whether the cache follows the fields of requests and responses.
    private let usesHTTPFields: Bool
    /// Whether no response to the request is stored.
    private let bypassesCache: Bool
    /// The stored responses for the URL.
    private let entries: [CacheEntry]
    /// The request for the octets that one of the stored responses lacks.
    private let completion: Completion?
    /// In seconds since 1970.
    let requestTime: Int64
    private let state: Mutex<State>

    init(
        _ cache: ResponseCache, _ key: CacheKey, url: URLRecord, lookup: CacheLookup, usesHTTPFields: Bool = true,
        bypassesCache: Bool = false, entries: [CacheEntry] = [], completion: Completion? = nil
    ) {
        (self.cache, self.key, self.url) = (cache, key, url)
        (self.usesHTTPFields, self.bypassesCache) = (usesHTTPFields, bypassesCache)
        (self.entries, self.completion) = (entries, completion)
        requestTime = cache.now()
        state = Mutex(State(lookup: lookup, removalCount: cache.removalCount))
    }

    var wasResent: Bool { state.withLock { $0.wasResent } }
    func requestWasResent() { state.withLock { $0.wasResent = true } }
    /// Why the response is not stored; `nil` if it is, or if it was not received.
    var refusal: String? { state.withLock { $0.refusal } }

    /// Sets the fields with which the request is sent.
    func requestWillBeSent(with fields: HTTPFields) { state.withLock { $0.lookup.fields = fields } }

    private func refuse(_ reason: String) { state.withLock { $0.refusal = reason } }

    // MARK: - The head of the response

    /// Removes the stored responses that the response makes invalid.
    ///
    /// RFC 9111 §4.4; W3C Clear Site Data
    func invalidate(after response: Response) {
        if Invalidation.clearsCache(response.fields, of: url) { cache.remove(.origin(url)) }
        guard let status = response.status else { return }
        let method = state.withLock { $0.lookup.method }
        let invalid = Invalidation.urls(method: method, url: url, status: status, fields: response.fields)
        if invalid.isEmpty { return }
        // The response itself is newer than what it removes.
        let count = state.withLock { $0.removalCount }
        let (hasRemoved, newCount) = cache.remove(invalid, for: key, since: count)
        state.withLock { ($0.hasRemoved, $0.removalCount) = ($0.hasRemoved || hasRemoved, newCount) }
    }

    /// Begins to store a response.
    ///
    /// - Parameters:
    ///   - policy: the policy that the handler of the response reports.
    ///   - client: asks the delegate whether to store the response.
    /// - Returns: the response without its final content; `nil` if it is not stored.
    func begin(_ response: Response, _ policy: CacheStoragePolicy, asking client: any ProtocolClient) -> StoredResponse? {
        guard !response.isBodyPart, policy != .notAllowed || usesHTTPFields else {
            refuse(response.isBodyPart ? "it is one part of a multipart body" : "its handler does not allow it")
            return nil
        }
        guard let draft = makeDraft(of: response), begin(draft, policy, asking: client) else { return nil }
        return draft.stored
    }

    /// - Returns: `false` if the response is not stored.
    func begin(_ draft: ResponseRecorder.Draft, _ policy: CacheStoragePolicy, asking client: any ProtocolClient) -> Bool {
        let recorder = makeRecorder(draft)
        state.withLock { $0.recorder = recorder }
        // The handler's `notAllowed` reaches this line only if the fields decide instead.
        recorder.ask(client, policy == .notAllowed ? .allowed : policy)
        return recorder.isRecording
    }

    /// Stores a redirect without its body, which is delivered only if the caller declines the redirect. The response is
    /// then stored again.
    ///
    /// - Returns: the response; `nil` if it is not stored.
    func storeRedirect(_ response: Response, asking client: any ProtocolClient) -> StoredResponse? {
        // Only the fields of a redirect by HTTP say that it may be stored.
        guard usesHTTPFields, let draft = makeDraft(of: response) else { return nil }
        let recorder = makeRecorder(draft, isHeadOnly: true)
        recorder.ask(client, .allowed)
        return recorder.finish(isComplete: true) ? draft.stored : nil
    }

    // MARK: - The body

    /// - Returns: `false` if the response can't be stored any more.
    func write(_ bytes: borrowing RawSpan) -> Bool {
        guard let recorder = state.withLock({ $0.recorder }) else { return true }
        recorder.write(bytes)
        return recorder.isRecording
    }

    func receiveTrailers(_ fields: HTTPFields) { state.withLock { $0.recorder }?.receiveTrailers(fields) }

    /// Makes the stored response visible, if it is complete or can be completed later.
    ///
    /// - Returns: whether it is visible now.
    @discardableResult
    func finish(isComplete: Bool) -> Bool { state.withLock { $0.recorder.take() }?.finish(isComplete: isComplete) ?? false }

    /// Stores nothing.
    func discard() { state.withLock { $0.recorder.take() }?.discard() }

    // MARK: - Decisions

    private func makeRecorder(_ draft: ResponseRecorder.Draft, isHeadOnly: Bool = false) -> ResponseRecorder {
        ResponseRecorder(draft, isHeadOnly: isHeadOnly) { [self] in
            makeDraft(of: $0, at: draft.stored.responseTime)
        } open: { [self] draft, answer in
            openWriter(draft, answer)
        } combine: { [completion] in
            $0.stored.combined(with: $1, answering: completion)
        }
    }

    /// - Returns: `nil` if there is no room, or if the response could be older than the reason for a removal.
    private func openWriter(_ draft: ResponseRecorder.Draft, _ answer: CacheableResponse) -> (any CacheWriter)? {
        let (count, hasRemoved) = state.withLock { ($0.removalCount, $0.hasRemoved) }
        guard !hasRemoved, !cache.mayHaveRemoved(key, since: count) else {
            refuse("the cache removed responses after the request was sent")
            return nil
        }
        var attributes = CacheAttributes(draft.response)
        attributes.userInfo = answer.userInfo
        var opening = CacheOpening(key, attributes, request: state.withLock { $0.lookup.fields })
        opening.expectedLength = draft.response.expectedLength
        opening.position = draft.range?.bytes?.lowerBound ?? 0
        opening.extended = draft.extended?.id
        opening.policy = answer.storagePolicy
        let writer = cache.store.openWriter(opening)
        if writer == nil { refuse("the cache has no room for it") }
        return writer
    }

    /// The response as it is stored; `nil` if it may not be stored. Stored responses that it replaces are then removed.
    func makeDraft(of response: Response, at time: Int64? = nil) -> ResponseRecorder.Draft? {
        let (lookup, wasResent) = state.withLock { ($0.lookup, $0.wasResent) }
        do throws(Storability.Refusal) {
            return try draft(of: response, lookup, wasResent: wasResent, at: time ?? cache.now())
        } catch {
            refuse(error.rawValue)
            guard Storability.replacesStored(error, response.status ?? .ok), lookup.method == .get, lookup.policy != .noStore else {
                return nil
            }
            for entry in entries where entry.stored.selectingFields.matches(lookup.fields) { cache.store.remove(.entry(entry.id)) }
            return nil
        }
    }

    private func draft(
        of response: Response, _ lookup: CacheLookup, wasResent: Bool, at now: Int64
    ) throws(Storability.Refusal) -> ResponseRecorder.Draft {
        let status = response.status ?? .ok
        guard lookup.policy != .noStore, !bypassesCache else { throw .requestNoStore }
        let isDecoded = response.isDecoded
        let method = Storability.answeredMethod(lookup.method, url: url, status: status, fields: response.fields)
        try Storability.check(
            method: usesHTTPFields ? method : lookup.method, request: lookup.fields, status: status, fields: response.fields,
            transfer: Storability.Transfer(isDecoded: isDecoded), now: now)
        guard let selecting = SelectingFields(vary: response.fields, request: lookup.fields),
            !selecting.namesCredentials(missingIn: lookup.fields, wasResent: wasResent)
        else { throw .varyAll }
        let range = status == .partialContent ? ContentRange(in: response.fields) : nil
        let content = range.flatMap { range in
            range.bytes.map { StoredContent(ByteRangeSet($0), completeLength: range.size) }
        }
        let stored = StoredResponse(
            url: url, status: status, fields: StoredFields.storable(response.fields), requestTime: requestTime, responseTime: now,
            selectingFields: selecting, content: content ?? .complete(length: 0), isDecoded: isDecoded)
        let extended = range == nil ? nil : entries.first { $0.stored.combined(with: stored, answering: completion) != nil }
        return ResponseRecorder.Draft(
            stored: stored, range: range, response: response, extended: extended, mayBeIncomplete: lookup.method == .get)
    }
}

extension Response {
    /// Whether content codings were removed from the body.
    var isDecoded: Bool { fields.contains(.contentEncoding) && remainingContentCodings.isEmpty }
}

extension SelectingFields {
    /// Whether the response depends on credentials that the loader adds to the request later, so that no request can be
    /// compared with it.
    ///
    /// - Parameter wasResent: whether the request was sent again, with a credential and the cookies of a 401 response.
    fileprivate func namesCredentials(missingIn request: HTTPFields, wasResent: Bool) -> Bool {
        selectors.contains { selector in
            switch selector.name {
            case "authorization": wasResent || !request.contains(.authorization)
            case "cookie": wasResent
            default: selector.name == "proxy-authorization"
            }
        }
    }
}
