// SPDX-License-Identifier: Apache-2.0

import PortolanCoding
import PortolanCore
import Synchronization

/// Which requests are under way, and which loads wait for their responses instead of sending an equal request. Does no
/// input or output, and calls nothing.
///
/// At most one request per key has waiting loads. A load that can't wait for that request sends its own request.
///
/// RFC 9111 §4
struct CollapsedRequests {
    /// The facts about a request that decide whether it can wait for another one.
    struct Candidate: Sendable {
        let lookup: CacheLookup
        let priority: LoadPriority
        /// A load waits only for loads that are nested at least as deep. Otherwise two loads could wait for each
        /// other's nested loads.
        let nestingDepth: Int
        let decodesContent: Bool

        func mayWait(for sent: Candidate) -> Bool {
            lookup.mayWait(for: sent.lookup) && priority <= sent.priority && nestingDepth <= sent.nestingDepth
                && decodesContent == sent.decodesContent
        }
    }

    struct RequestID: Hashable, Sendable { let rawValue: Int }

    /// What a load does with its request.
    enum Role: Sendable {
        /// It sends the request. Others can wait for the response until ``end(_:_:)``.
        case first(RequestID)
        case wait
        /// It sends the request. Nobody waits for the response.
        case alone
    }

    private struct Sent {
        let id: RequestID
        let candidate: Candidate
        var waiting: [Int: WaitingLoad] = [:]
    }

    /// The largest number of keys in ``unshared``.
    static let limit = 256

    private var sent: [CacheKey: Sent] = [:]
    private var lastNumber = 0
    /// Keys whose last response could not answer another request. Loads of these keys do not wait, because they would
    /// only lose time.
    private var unshared: Set<CacheKey> = []
    /// The same keys, the oldest first. The oldest key is removed if there are too many.
    private var unsharedOrder: [CacheKey] = []

    /// - Parameter isRepeated: whether the load has waited before, for a response that did not match its request. It
    ///   then waits only for an equal request.
    mutating func begin(_ key: CacheKey, _ candidate: Candidate, _ load: WaitingLoad, isRepeated: Bool) -> Role {
        guard let first = sent[key], !unshared.contains(key) else { return beginFirst(key, candidate) ?? .alone }
        guard candidate.mayWait(for: first.candidate), !isRepeated || candidate.lookup.fields == first.candidate.lookup.fields else {
            return .alone
        }
        lastNumber += 1
        sent[key]?.waiting[lastNumber] = load
        load.number.store(lastNumber, ordering: .relaxed)
        return .wait
    }

    /// Begins a request, if no request for its key is under way.
    ///
    /// - Returns: `nil` if a request is under way, for which the load may wait.
    mutating func beginFirst(_ key: CacheKey, _ candidate: Candidate) -> Role? {
        if unshared.contains(key) { return .alone }
        if sent[key] != nil { return nil }
        guard candidate.lookup.isShareable else { return .alone }
        lastNumber += 1
        let id = RequestID(rawValue: lastNumber)
        sent[key] = Sent(id: id, candidate: candidate)
        return .first(id)
    }

    /// - Returns: whether the load was waiting.
    mutating func remove(_ load: WaitingLoad, _ key: CacheKey) -> Bool {
        sent[key]?.waiting.removeValue(forKey: load.number.load(ordering: .relaxed)) != nil
    }

    /// The response to a request will answer no more loads.
    ///
    /// - Returns: the loads that waited for it, in order.
    mutating func end(_ key: CacheKey, _ id: RequestID) -> [WaitingLoad] {
        guard sent[key]?.id == id, let ended = sent.removeValue(forKey: key) else { return [] }
        return ended.waiting.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Records whether a response could answer other requests for its key.
    mutating func record(_ key: CacheKey, isShareable: Bool) {
        if isShareable {
            if unshared.remove(key) != nil { unsharedOrder.removeAll { $0 == key } }
        } else if unshared.insert(key).inserted {
            unsharedOrder.append(key)
            if unsharedOrder.count > Self.limit { unshared.remove(unsharedOrder.removeFirst()) }
        }
    }

    func isUnderWay(_ key: CacheKey) -> Bool { sent[key] != nil }
    var waitingCount: Int { sent.values.reduce(0) { $0 + $1.waiting.count } }
    var sentCount: Int { sent.count }
}

extension CollapsedRequests.Candidate {
    init(_ lookup: CacheLookup, _ request: Request) {
        (self.lookup, priority) = (lookup, request.priority)
        (nestingDepth, decodesContent) = (request.nestingDepth, request.decodesContent)
    }
}

/// A load that waits for the response to an equal request. It continues once.
final class WaitingLoad: Sendable {
    /// How a wait ends.
    enum End: Sendable {
        /// The response is stored.
        case stored
        /// The other load was stopped before its response was complete.
        case stopped
        /// The other response is not stored, or not soon, or can't be used. The load sends its own request.
        case alone
    }

    /// The number of the load in ``CollapsedRequests``.
    fileprivate let number = Atomic(0)
    let timer: ScheduledTimer
    private let resume: Mutex<(@Sendable (End) -> Void)?>

    /// - Parameters:
    ///   - onTimeout: called if the wait becomes too long.
    ///   - resume: called once, without a lock held.
    init(onTimeout: @escaping @Sendable () -> Void, resume: @escaping @Sendable (End) -> Void) {
        timer = ScheduledTimer(onTimeout)
        self.resume = Mutex(resume)
    }

    func end(_ end: End) {
        timer.cancel()
        resume.withLock { $0.take() }?(end)
    }

    /// Ends the wait without a call.
    func cancel() {
        timer.cancel()
        _ = resume.withLock { $0.take() }
    }
}
