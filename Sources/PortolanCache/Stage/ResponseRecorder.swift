// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Stores one response while its load delivers it, if the delegate agrees.
///
/// The delegate can decide later. Until then, the octets wait in memory. A writer is opened after the decision, because
/// the decision says where it writes.
///
/// RFC 9111 §3
final class ResponseRecorder: Sendable {
    /// A response that may be stored, without its final content.
    struct Draft: Sendable {
        let stored: StoredResponse
        /// The range of a 206 response; `nil` for another response.
        let range: ContentRange?
        /// The response as the server has sent it, or as the delegate has changed it.
        var response: Response
        /// The stored part that is extended.
        let extended: CacheEntry?
        /// Whether a part of the response may be stored (RFC 9111 §3.3).
        let mayBeIncomplete: Bool
    }

    /// Checks a response, which the delegate may have changed; `nil` if it may not be stored.
    typealias Drafting = @Sendable (Response) -> Draft?
    typealias Opening = @Sendable (Draft, CacheableResponse) -> (any CacheWriter)?

    /// The largest number of octets that wait for the decision of the delegate.
    static let bufferLimit = 1 << 20

    private enum Phase {
        case asking(octets: [UInt8])
        case answered(CacheableResponse, octets: [UInt8])
        /// A writer is being opened.
        case opening
        case writing(any CacheWriter, Draft)
        /// The response is complete, and the delegate has not decided.
        case complete(octets: [UInt8])
        case over
    }

    private struct State {
        var phase: Phase
        /// The number of received octets.
        var count: Int64 = 0
        var trailers: HTTPFields?
    }

    /// Whether the response is stored without its body, which the load does not receive.
    private let isHeadOnly: Bool
    private let proposed: Draft
    private let draft: Drafting
    private let open: Opening
    private let combine: @Sendable (CacheEntry, StoredResponse) -> StoredResponse?
    private let state = Mutex(State(phase: .asking(octets: [])))

    /// - Parameters:
    ///   - proposed: the response as the server has sent it.
    ///   - combine: joins a stored part with the received one.
    init(
        _ proposed: Draft, isHeadOnly: Bool, draft: @escaping Drafting, open: @escaping Opening,
        combine: @escaping @Sendable (CacheEntry, StoredResponse) -> StoredResponse?
    ) {
        (self.proposed, self.isHeadOnly) = (proposed, isHeadOnly)
        (self.draft, self.open, self.combine) = (draft, open, combine)
    }

    /// Asks the delegate whether and how the response is stored.
    func ask(_ client: any ProtocolClient, _ storagePolicy: CacheStoragePolicy) {
        let proposal = CacheableResponse(proposed.response, storagePolicy: storagePolicy)
        client.willCache(proposal) { [self] in receive($0, of: proposal) }
        openIfAnswered()
    }

    private func receive(_ answer: CacheableResponse?, of proposal: CacheableResponse) {
        let answer = answer.map { $0.keepingContent(of: proposal) }
        let isComplete = state.withLock { state in
            switch state.phase {
            case .asking(let octets):
                state.phase = answer.map { .answered($0, octets: octets) } ?? .over
                return false
            case .complete(let octets):
                state.phase = answer.map { .answered($0, octets: octets) } ?? .over
                return true
            case .answered, .opening, .writing, .over: return false
            }
        }
        if isComplete { finish(isComplete: true) }
    }

    /// Whether the response can still be stored.
    var isRecording: Bool {
        if case .over = state.withLock({ $0.phase }) { false } else { true }
    }

    // MARK: - Called by the load

    func write(_ bytes: borrowing RawSpan) {
        openIfAnswered()
        let count = Int64(bytes.byteCount)
        let (waits, writer) = state.withLock { state -> (Bool, (any CacheWriter)?) in
            switch state.phase {
            case .asking, .answered: return (true, nil)
            case .writing(let writer, let draft):
                state.count += count
                // A part that is longer than its Content-Range says is not stored.
                if let part = draft.partLength, state.count > part { state.phase = .over }
                return (false, writer)
            case .opening, .complete, .over: return (false, nil)
            }
        }
        if waits { return wait(with: [UInt8](copying: bytes)) }
        guard let writer else { return }
        if !isRecording { writer.discard() } else if !writer.write(bytes) { end() }
    }

    /// Keeps octets until the delegate has decided.
    private func wait(with bytes: [UInt8]) {
        state.withLock { state in
            state.count += Int64(bytes.count)
            switch state.phase {
            case .asking(let octets):
                state.phase = .over
                guard octets.count + bytes.count <= Self.bufferLimit else { return }
                state.phase = .asking(octets: octets + bytes)
            case .answered(let answer, let octets): state.phase = .answered(answer, octets: octets + bytes)
            case .opening, .writing, .complete, .over: break
            }
        }
    }

    func receiveTrailers(_ fields: HTTPFields) { state.withLock { $0.trailers = fields } }

    /// Makes the stored response visible, if it is complete or can be completed later.
    ///
    /// - Returns: whether it is visible now. It is not if the delegate has not decided yet.
    @discardableResult
    func finish(isComplete: Bool) -> Bool {
        openIfAnswered()
        let ended = state.withLock { state -> (writer: any CacheWriter, draft: Draft, count: Int64, trailers: HTTPFields?)? in
            switch state.phase {
            case .writing(let writer, let draft):
                state.phase = .over
                return (writer, draft, state.count, state.trailers)
            case .asking(let octets) where isComplete: state.phase = .complete(octets: octets)
            case .asking, .answered, .opening, .complete, .over: state.phase = .over
            }
            return nil
        }
        guard let ended else { return false }
        guard let stored = content(of: ended.draft, ended.count, isComplete: isComplete) else {
            ended.writer.discard()
            return false
        }
        ended.writer.finish(stored, trailers: ended.trailers)
        return true
    }

    /// Stores nothing.
    func discard() {
        if let writer = end() { writer.discard() }
    }

    @discardableResult
    private func end() -> (any CacheWriter)? {
        state.withLock { state in
            defer { state.phase = .over }
            if case .writing(let writer, _) = state.phase { return writer } else { return nil }
        }
    }

    // MARK: - Writing

    private func openIfAnswered() {
        let answer = state.withLock { state -> (CacheableResponse, [UInt8])? in
            guard case .answered(let answer, let octets) = state.phase else { return nil }
            state.phase = .opening
            return (answer, octets)
        }
        guard let (answer, octets) = answer else { return }
        guard answer.storagePolicy != .notAllowed, let draft = checked(answer.response), let writer = open(draft, answer) else {
            end()
            return
        }
        let span = octets.span
        var isAccepted = (draft.partLength ?? .max) >= Int64(octets.count)
        if isAccepted, !octets.isEmpty { isAccepted = unsafe writer.write(span.bytes) }
        let isOpen = state.withLock { state in
            guard case .opening = state.phase, isAccepted else {
                state.phase = .over
                return false
            }
            state.phase = .writing(writer, draft)
            return true
        }
        if !isOpen { writer.discard() }
    }

    /// The response that the delegate has returned; `nil` if it may not be stored.
    private func checked(_ response: Response) -> Draft? {
        guard response.fields == proposed.response.fields else { return draft(response) }
        var unchanged = proposed
        unchanged.response = response
        return unchanged
    }

    /// The response with the octets that were received; `nil` if it is not stored.
    private func content(of draft: Draft, _ count: Int64, isComplete: Bool) -> StoredResponse? {
        let start = draft.range?.bytes?.lowerBound ?? 0
        var content = StoredContent(ByteRangeSet(start..<start + count), completeLength: draft.completeLength)
        if let partLength = draft.partLength {
            guard !isComplete || count == partLength else { return nil }
        } else if isComplete {
            content = .complete(length: count)
        }
        guard isComplete || (draft.mayBeIncomplete && count > 0 && Storability.canBeCompleted(draft.stored)) else { return nil }
        var stored = draft.stored.withContent(content)
        // A stored redirect with neither a body nor this field is one whose body was not received.
        if isComplete, !isHeadOnly, count == 0, stored.status.kind == .redirection { stored.fields.set(.contentLength, "0".utf8) }
        if let extended = draft.extended { return combine(extended, stored) }
        return stored
    }
}

extension ResponseRecorder.Draft {
    /// The length of the representation; `nil` if it is not known.
    var completeLength: Int64? { range.map(\.size) ?? response.expectedLength }
    /// The number of octets of a 206 response, by its `Content-Range`; `nil` for another response.
    var partLength: Int64? { range.map { Int64($0.bytes?.count ?? 0) } }
}

extension StoredResponse {
    func withContent(_ content: StoredContent) -> StoredResponse {
        var response = self
        response.content = content
        return response
    }
}

extension CacheableResponse {
    /// This response, but with those properties of another one that describe its octets: the URL, the status, the
    /// lengths, the ranges and the content codings.
    fileprivate func keepingContent(of received: CacheableResponse) -> CacheableResponse {
        var kept = self
        (kept.response.url, kept.response.status) = (received.response.url, received.response.status)
        for name in [HTTPField.Name.contentEncoding, .contentLength, .contentRange] {
            kept.response.fields[fields: name] = received.response.fields[fields: name]
        }
        (kept.response.expectedLength, kept.response.isBodyPart) = (received.response.expectedLength, received.response.isBodyPart)
        kept.response.remainingContentCodings = received.response.remainingContentCodings
        return kept
    }
}
