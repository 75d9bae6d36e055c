// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
import Synchronization

/// Receives the events of an ``AsyncHandler``'s load.
///
/// The calls that deliver the response and the body return when the reader is ready for more, so a load that awaits
/// them is never faster than its reader. One call at a time. After the load was stopped, every call throws
/// `CancellationError`. Cancelling a child task ends only its ``challenge(_:previousFailureCount:failureResponse:)``.
/// The order of events is that of ``ProtocolClient``; a violation fails the load with
/// ``LoadError/Code/protocolViolation``.
public struct AsyncClient: Sendable {
    let load: AsyncLoad

    /// Whether the load was stopped. Check it in loops that call no other method. Can be read on any thread.
    public var isStopped: Bool { load.isOver }

    /// Delivers an interim response (1xx), before the final response.
    public func didReceiveInterim(_ response: Response) async throws {
        try load.throwIfStopped()
        load.client.didReceiveInterim(response)
    }

    /// Delivers the response. A multipart handler delivers one for each part.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - storage: whether a cache may store it.
    public func didReceive(_ response: Response, storage: CacheStoragePolicy = .notAllowed) async throws {
        try load.throwIfStopped()
        try await load.waitIfPaused(load.client.didReceive(response, storage: storage))
    }

    /// Delivers body bytes. The reader has read or copied them when this call returns.
    public func didLoad(_ bytes: [UInt8]) async throws {
        try load.throwIfStopped()
        let span = bytes.span
        let flow = unsafe load.client.didLoad(span.bytes)
        try await load.waitIfPaused(flow)
    }

    /// Delivers body bytes.
    public func didLoad(_ bytes: Data) async throws {
        try await didLoad([UInt8](bytes))
    }

    /// Delivers text as body bytes, in UTF-8.
    public func didLoad(_ text: String) async throws {
        try await didLoad(Array(text.utf8))
    }

    /// Delivers the trailer fields. At most once, after the body.
    public func didReceiveTrailers(_ fields: HTTPFields) async throws {
        try load.throwIfStopped()
        load.client.didReceiveTrailers(fields)
    }

    /// Redirects the request.
    ///
    /// If the caller does not follow the redirect, this call returns: then deliver `response` and its body as usual. If
    /// the caller follows it, the load is over, and this call throws `CancellationError`.
    public func wasRedirected(to request: Request, response: Response) async throws {
        try load.throwIfStopped()
        try await load.waitIfPaused(load.client.wasRedirected(to: request, redirectResponse: response))
    }

    /// Sends a challenge for a credential, or for trust in a server, and waits for the answer.
    ///
    /// - Parameters:
    ///   - space: where the credential is valid.
    ///   - failureCount: the number of answers to this challenge that were rejected.
    ///   - response: the response that contains the challenge, if there is one.
    public func challenge(
        _ space: ProtectionSpace, previousFailureCount failureCount: Int = 0, failureResponse response: Response? = nil
    ) async throws -> ChallengeAnswer {
        try load.throwIfStopped()
        let answer = PendingAnswer()
        let challenge = AuthenticationChallenge(
            protectionSpace: space, previousFailureCount: failureCount, failureResponse: response
        ) { answer.set($0) }
        load.client.didReceive(challenge)
        let received = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in answer.whenSet { continuation.resume(returning: $0) } }
        } onCancel: {
            if answer.set(.cancel) { load.client.didCancel(challenge) }
        }
        try load.throwIfStopped()
        return received
    }
}

/// The answer to a challenge, or `.cancel` after the wait for the answer was cancelled. Only the first of the two has
/// an effect.
private final class PendingAnswer: Sendable {
    private struct State {
        var answer: ChallengeAnswer?
        var waiter: (@Sendable (ChallengeAnswer) -> Void)?
    }

    private let state = Mutex(State())

    /// - Returns: whether this is the first answer.
    @discardableResult
    func set(_ answer: ChallengeAnswer) -> Bool {
        let (isFirst, waiter) = state.withLock { state -> (Bool, (@Sendable (ChallengeAnswer) -> Void)?) in
            guard state.answer == nil else { return (false, nil) }
            state.answer = answer
            return (true, state.waiter.take())
        }
        waiter?(answer)
        return isFirst
    }

    func whenSet(_ receive: @escaping @Sendable (ChallengeAnswer) -> Void) {
        let answer = state.withLock { state in
            if state.answer == nil { state.waiter = receive }
            return state.answer
        }
        if let answer { receive(answer) }
    }
}
