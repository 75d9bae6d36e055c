// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore

/// A client that records its events, and responds as the test decides.
public final class RecordingClient: ProtocolClient {
    /// An event that a client received.
    public enum Event: Sendable, Equatable {
        /// The status code; 0 for none.
        case interim(Int)
        /// The expected length in bytes.
        case response(Int?)
        /// The number of bytes.
        case data(Int)
        case trailers
        /// The URL of the proposed request.
        case redirect(String)
        /// The cached response is still valid.
        case confirmed
        /// The number of bytes of the request's body that were sent in total.
        case sent(Int64)
        case step(LoadStep)
        case newBody
        case challenge(failures: Int)
        case challengeCancelled
        case finished
        case failed(LoadError)

        public var isEnd: Bool {
            switch self {
            case .finished, .failed: true
            default: false
            }
        }
    }

    private struct State {
        var events: [Event] = []
        var bytes: [UInt8] = []
        var responses: [Response] = []
        var redirect: Request?
        var redirectResponse: Response?
        var trailers: HTTPFields?
        var storage: CacheStoragePolicy?
        var newerResponse: Response?
        var challenge: AuthenticationChallenge?
    }

    private let state = ConditionLock(State())
    /// Returns the flow for an event. Receives the index of the event, counted from 0. Called without a lock held.
    private let onEvent: @Sendable (Int, Event) -> Flow
    private let onChallenge: @Sendable (AuthenticationChallenge) -> Void
    private let newBody: Body?

    public init(
        newBody: Body? = nil, onEvent: @escaping @Sendable (Int, Event) -> Flow = { _, _ in .keepGoing },
        onChallenge: @escaping @Sendable (AuthenticationChallenge) -> Void = { _ in }
    ) {
        self.newBody = newBody
        self.onChallenge = onChallenge
        self.onEvent = onEvent
    }

    public var events: [Event] { state.withLock { $0.events } }
    public var bytes: [UInt8] { state.withLock { $0.bytes } }
    public var response: Response? { state.withLock { $0.responses.last } }
    public var responses: [Response] { state.withLock { $0.responses } }
    public var redirect: Request? { state.withLock { $0.redirect } }
    public var redirectResponse: Response? { state.withLock { $0.redirectResponse } }
    public var trailers: HTTPFields? { state.withLock { $0.trailers } }
    /// The storage policy of the last response.
    public var storage: CacheStoragePolicy? { state.withLock { $0.storage } }
    /// The newer fields with which a load has confirmed its stored response.
    public var newerResponse: Response? { state.withLock { $0.newerResponse } }

    /// The load's error; `nil` if it finished or did not end by itself.
    public var error: LoadError? {
        guard case .failed(let error)? = events.last else { return nil }
        return error
    }

    /// Waits until the condition holds for the events.
    public func wait(until condition: ([Event]) -> Bool) {
        state.wait { condition($0.events) ? () : nil }
    }

    /// Waits for a challenge that this method has not returned before.
    public func waitForChallenge() -> AuthenticationChallenge {
        state.wait { state in
            defer { state.challenge = nil }
            return state.challenge
        }
    }

    @discardableResult
    private func record(_ event: Event, _ change: (inout State) -> Void = { _ in }) -> Flow {
        let index = state.withLockBroadcasting { state in
            state.events.append(event)
            change(&state)
            return state.events.count - 1
        }
        return onEvent(index, event)
    }

    public func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        record(.redirect(request.url.string)) { ($0.redirect, $0.redirectResponse) = (request, redirectResponse) }
    }
    public func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        record(.confirmed) { $0.newerResponse = newer }
    }
    public func didReceiveInterim(_ response: Response) { record(.interim(response.status?.code ?? 0)) }
    public func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        record(.response(response.expectedLength.map { Int($0) })) {
            $0.responses.append(response)
            $0.storage = storage
        }
    }
    public func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        return record(.data(copy.count)) { $0.bytes += copy }
    }
    public func didReceiveTrailers(_ fields: HTTPFields) { record(.trailers) { $0.trailers = fields } }
    public func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) { record(.sent(total)) }
    public func didReach(_ step: LoadStep) { record(.step(step)) }
    public func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        record(.newBody)
        answer(newBody)
    }
    public func didReceive(_ challenge: AuthenticationChallenge) {
        record(.challenge(failures: challenge.previousFailureCount)) { $0.challenge = challenge }
        onChallenge(challenge)
    }
    public func didCancel(_ challenge: AuthenticationChallenge) { record(.challengeCancelled) }
    public func didFinishLoading() { record(.finished) }
    public func didFail(with error: LoadError) { record(.failed(error)) }
    public func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "this client makes no nested loads"), client: client)
    }
}
