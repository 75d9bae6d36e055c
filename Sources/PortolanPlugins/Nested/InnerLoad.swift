// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import Synchronization

/// A nested load of a plugin's load. Buffers events until the plugin pulls them, and pauses when too many bytes are
/// waiting.
///
/// The client's functions may be called on any thread, the pulling functions only one at a time.
@safe
final class InnerLoad: ProtocolClient, @unchecked Sendable {  // … because what is not behind `state` belongs to the pulling side
    /// The number of waiting bytes above which the load is paused.
    static let window = 256 << 10

    private struct State: ~Copyable {
        var load: (any ProtocolLoad)?
        var response: (Response, CacheStoragePolicy)?
        var bytes = ByteQueue()
        var end: End?
        var isPaused = false
        var isClosed = false
    }

    private enum End {
        case finished
        case failed(LoadError)
    }

    /// The result of a pull.
    enum Pull<Value> {
        case value(Value)
        /// Nothing yet; `onProgress` will be called when there is something.
        case nothing
        case end
        case failed
    }

    private let state = Mutex(State())
    private let outer: any ProtocolClient
    private let onProgress: @Sendable () -> Void
    private var responseImage: CStorage<portolan_response>?
    private var errorImage: CStorage<portolan_error>?

    /// - Parameters:
    ///   - outer: the client of the parent load.
    ///   - onProgress: called on any thread when something arrived.
    init(outer: any ProtocolClient, onProgress: @escaping @Sendable () -> Void) {
        self.outer = outer
        self.onProgress = onProgress
    }

    // MARK: The pulling side

    func start(_ request: Request) {
        let load = outer.makeNestedLoad(for: request, client: self)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.load = load }
            return state.isClosed
        }
        if isClosed { load.stopLoading() } else { load.startLoading() }
    }

    /// Ends a load that was never started.
    func fail(_ error: LoadError) {
        state.withLock { $0.end = $0.end ?? .failed(error) }
    }

    func pullResponse() -> Pull<UnsafePointer<portolan_response>> {
        if unsafe responseImage == nil {
            let (response, hasEnded) = state.withLock { ($0.response, $0.end != nil) }
            guard let response else { return unsafe hasEnded ? .failed : .nothing }
            unsafe responseImage = unsafe CStorage(response.0, storage: response.1)
        }
        guard let image = unsafe responseImage?.pointer else { return unsafe .nothing }
        return unsafe .value(image)
    }

    /// Returns all waiting bytes. They stay valid until the next call.
    func pullBytes() -> Pull<UnsafeRawBufferPointer> {
        var toResume: (any ProtocolLoad)?
        let pull = unsafe state.withLock { state -> Pull<UnsafeRawBufferPointer> in
            guard state.bytes.count > 0 else {
                return switch state.end {
                case nil: unsafe .nothing
                case .finished: unsafe .end
                case .failed: unsafe .failed
                }
            }
            if state.isPaused {
                state.isPaused = false
                toResume = state.load
            }
            return unsafe .value(state.bytes.take())
        }
        toResume?.resumeLoading()
        return unsafe pull
    }

    /// The error if the load failed; valid until this load is released.
    func pullError() -> UnsafePointer<portolan_error>? {
        if unsafe errorImage == nil {
            let end = state.withLock { $0.end }
            guard case .failed(let error) = end else { return nil }
            unsafe errorImage = unsafe CStorage(error)
        }
        return unsafe errorImage?.pointer
    }

    /// Stops the load. Any thread; idempotent.
    func close() {
        let load = state.withLock { state in
            state.isClosed = true
            defer { state.load = nil }
            return state.end == nil ? state.load : nil
        }
        load?.stopLoading()
    }

    // MARK: Events of the nested load

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        // A multipart response: the plugin receives the first response, and all bytes.
        let isClosed = state.withLock { state in
            if state.response == nil { state.response = (response, storage) }
            return state.isClosed
        }
        onProgress()
        return isClosed ? .stopped : .keepGoing
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let count = bytes.byteCount
        let flow = unsafe bytes.withUnsafeBytes { source in
            state.withLock { state -> Flow in
                guard !state.isClosed else { return .stopped }
                unsafe state.bytes.append(source.bytes)
                state.isPaused = state.bytes.count > Self.window
                return state.isPaused ? .pause : .keepGoing
            }
        }
        if count > 0 { onProgress() }
        return flow
    }

    func didFinishLoading() { end(.finished) }

    func didFail(with error: LoadError) { end(.failed(error)) }

    private func end(_ end: End) {
        state.withLock { state in
            state.end = state.end ?? end
            state.load = nil
        }
        onProgress()
    }

    /// The loader has already decided, so the response that still arrives here is delivered.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow { .keepGoing }

    /// The loader sends challenges to the delegate of the outermost load. A challenge that arrives here has no other
    /// recipient.
    func didReceive(_ challenge: AuthenticationChallenge) { challenge.answer(.performDefault) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        outer.makeNestedLoad(for: request, client: client)
    }

    // Events that a pulled load does not use.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}
    func didReceiveInterim(_ response: Response) {}
    func didReceiveTrailers(_ fields: HTTPFields) {}
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {}
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { answer(nil) }
    func didCancel(_ challenge: AuthenticationChallenge) {}
}
