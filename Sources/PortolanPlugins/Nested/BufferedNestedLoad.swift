// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore
import Synchronization

/// A nested load of a plugin's load. Buffers events until the plugin reads them, and pauses when the buffer is full.
///
/// The functions of `ProtocolClient` can be called on any thread. The functions under "Reading" must be called one at a
/// time, except for ``close()``.
@safe
final class BufferedNestedLoad: ProtocolClient, @unchecked Sendable {  // … because the reading functions are serial
    /// The number of buffered bytes above which the load pauses.
    static let bufferLimit = 256 << 10

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

    /// The result of a read.
    enum Pull<Value> {
        case value(Value)
        /// There is nothing to read now. `onProgress` will be called.
        case pending
        case end
        case failed
    }

    private let state = Mutex(State())
    private let parentClient: any ProtocolClient
    private let onProgress: @Sendable () -> Void
    private var cResponse: CStorage<portolan_response>?
    private var cError: CStorage<portolan_error>?

    /// - Parameters:
    ///   - parentClient: the client of the parent load.
    ///   - onProgress: called on any thread after the response, bytes or the end of the load have arrived.
    init(parentClient: any ProtocolClient, onProgress: @escaping @Sendable () -> Void) {
        self.parentClient = parentClient
        self.onProgress = onProgress
    }

    // MARK: Reading

    func start(_ request: Request) {
        let load = parentClient.makeNestedLoad(for: request, client: self)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.load = load }
            return state.isClosed
        }
        if isClosed { load.stopLoading() } else { load.startLoading() }
    }

    /// Fails the load without starting it.
    func fail(_ error: LoadError) {
        state.withLock { $0.end = $0.end ?? .failed(error) }
    }

    func pullResponse() -> Pull<UnsafePointer<portolan_response>> {
        if unsafe cResponse == nil {
            let (response, hasEnded) = state.withLock { ($0.response, $0.end != nil) }
            guard let response else { return unsafe hasEnded ? .failed : .pending }
            unsafe cResponse = unsafe CStorage(response.0, storage: response.1)
        }
        guard let pointer = unsafe cResponse?.pointer else { return unsafe .pending }
        return unsafe .value(pointer)
    }

    /// Returns all buffered bytes. They are valid until the next call.
    func pullBytes() -> Pull<UnsafeRawBufferPointer> {
        var pausedLoad: (any ProtocolLoad)?
        let pull = unsafe state.withLock { state -> Pull<UnsafeRawBufferPointer> in
            guard state.bytes.count > 0 else {
                return switch state.end {
                case nil: unsafe .pending
                case .finished: unsafe .end
                case .failed: unsafe .failed
                }
            }
            if state.isPaused {
                state.isPaused = false
                pausedLoad = state.load
            }
            return unsafe .value(state.bytes.take())
        }
        pausedLoad?.resumeLoading()
        return unsafe pull
    }

    /// The error if the load failed. It is valid until this object is released.
    func pullError() -> UnsafePointer<portolan_error>? {
        if unsafe cError == nil {
            let end = state.withLock { $0.end }
            guard case .failed(let error) = end else { return nil }
            unsafe cError = unsafe CStorage(error)
        }
        return unsafe cError?.pointer
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
        // If there are several responses (multipart), the plugin receives the first one, and the bytes of all.
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
                state.isPaused = state.bytes.count > Self.bufferLimit
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

    /// The loader has decided not to follow the redirect, so its response is delivered.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow { .keepGoing }

    /// The loader sends challenges to the delegate of the task. For a challenge that arrives here, there is no
    /// delegate.
    func didReceive(_ challenge: AuthenticationChallenge) { challenge.answer(.performDefault) }

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        parentClient.makeNestedLoad(for: request, client: client)
    }

    // A plugin cannot read these events of a nested load.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {}
    func didReceiveInterim(_ response: Response) {}
    func didReceiveTrailers(_ fields: HTTPFields) {}
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {}
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { answer(nil) }
    func didCancel(_ challenge: AuthenticationChallenge) {}
}
