// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

/// A handler whose loads do nothing by themselves. A test sends events to the clients of the loads, and reads the calls
/// that the loads have received.
public final class ManualHandler: ProtocolHandler {
    public let identifier: String
    public let schemes: SchemeSet
    public let traits: HandlerTraits
    private let onStart: @Sendable (ManualLoad) -> Void
    private struct State {
        var startedLoads: [ManualLoad] = []
        /// The number of loads that ``nextLoad()`` has returned.
        var returnedCount = 0
        var waiters: [@Sendable (ManualLoad) -> Void] = []
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - identifier: the handler's identifier.
    ///   - schemes: the schemes that the handler accepts.
    ///   - traits: the handler's traits.
    ///   - onStart: called inside each load's `startLoading`.
    public init(
        identifier: String = "org.portolan.manual", schemes: SchemeSet = .any, traits: HandlerTraits = [],
        onStart: @escaping @Sendable (ManualLoad) -> Void = { _ in }
    ) {
        self.identifier = identifier
        self.schemes = schemes
        self.traits = traits
        self.onStart = onStart
    }

    /// The loads started so far, in order.
    public var loads: [ManualLoad] { state.withLock { $0.startedLoads } }

    /// Returns the first started load that this method has not returned before. Waits for a start if necessary.
    public func nextLoad() async -> ManualLoad {
        await withCheckedContinuation { continuation in
            let load = state.withLock { state -> ManualLoad? in
                guard state.returnedCount < state.startedLoads.count else {
                    state.waiters.append { continuation.resume(returning: $0) }
                    return nil
                }
                defer { state.returnedCount += 1 }
                return state.startedLoads[state.returnedCount]
            }
            if let load { continuation.resume(returning: load) }
        }
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ManualLoad(request, client) { [self] load in
            let waiter = state.withLock { state -> (@Sendable (ManualLoad) -> Void)? in
                state.startedLoads.append(load)
                guard !state.waiters.isEmpty else { return nil }
                state.returnedCount += 1
                return state.waiters.removeFirst()
            }
            onStart(load)
            waiter?(load)
        }
    }
}

/// A load that records its calls.
public final class ManualLoad: ProtocolLoad {
    public enum Call: Hashable, Sendable { case start, stop, resume }

    private struct State {
        /// Weak, because the handler retains its loads, and a client refers back to the handler.
        weak var client: (any ProtocolClient)?
        var onStart: (@Sendable (ManualLoad) -> Void)?
        var calls: [Call] = []
    }

    public let request: Request
    private let state: Mutex<State>

    init(_ request: Request, _ client: any ProtocolClient, _ onStart: @escaping @Sendable (ManualLoad) -> Void) {
        self.request = request
        state = Mutex(State(client: client, onStart: onStart))
    }

    public var calls: [Call] { state.withLock { $0.calls } }

    /// The load's client; after its release, a client that ignores all events.
    public var client: any ProtocolClient { state.withLock { $0.client } ?? SilentClient.shared }

    public func startLoading() {
        record(.start)
        state.withLock { $0.onStart.take() }?(self)
    }

    public func stopLoading() { record(.stop) }
    public func resumeLoading() { record(.resume) }

    private func record(_ call: Call) { state.withLock { $0.calls.append(call) } }

    // MARK: Short forms of events

    @discardableResult
    public func respond(expectedLength: Int64? = nil) -> Flow {
        client.didReceive(Response(url: request.url, expectedLength: expectedLength), storage: .notAllowed)
    }

    @discardableResult
    public func deliver(_ bytes: [UInt8]) -> Flow {
        let span = bytes.span
        return unsafe client.didLoad(span.bytes)
    }

    @discardableResult
    public func deliver(_ text: String) -> Flow { deliver(Array(text.utf8)) }

    public func finish() { client.didFinishLoading() }

    @discardableResult
    public func redirect(to url: URLRecord) -> Flow {
        var successor = request
        successor.url = url
        return client.wasRedirected(to: successor, redirectResponse: Response(url: request.url))
    }
}
