// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Serves requests from a recording, before the handlers that would load them.
///
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [ReplayHandler(try Recording(parsing: bytes))]
///     let loader = Loader(configuration: configuration)
///
/// A request matches a recorded one with the same method and the same URL, without fragment and user information. If
/// the recording has the sent body, the bodies must match too, unless the request's body can be read only once. Secrets
/// that were left out of the recording are not compared.
///
/// Several responses to the same request are used once each, in recorded order; after that, the last one repeats. A
/// recorded failure is replayed, with code and message, if there is no response. Redirects are reported as redirects,
/// so the loader requests the target. A 401 is a plain response and causes no challenge. A partly recorded response
/// ends after its recorded part, and the load fails with `LoadError.Code.truncated`.
public final class ReplayHandler: ProtocolHandler {
    /// How to handle requests without a recorded response, and whether to add to the recording.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Requests without a response fail with `LoadError.Code.notFound`, and a message that names similar requests.
        case strict
        /// The next handler loads requests without a response, and they are added to the recording. Partly recorded
        /// responses and failures count as missing.
        case fill
        /// The next handlers load all requests, which make a new recording.
        case record
    }

    public let identifier: String
    public let schemes: SchemeSet
    public let mode: Mode
    /// The traits of HTTP, because an HTTP handler can be the next handler.
    public var traits: HandlerTraits { [.multipart, .stopsAsynchronously] }
    private let speed: Double?
    private let clock: any LoadClock
    private let state: Mutex<State>

    private struct State {
        /// The recording as it was at the start.
        let recording: Recording
        var index: ReplayIndex
        var records: [TransactionRecord] = []
    }

    /// - Parameters:
    ///   - recording: the recording to replay; ignored in ``Mode/record``.
    ///   - mode: how to handle requests without a recorded response.
    ///   - speed: how many times as fast as recorded a response arrives, above 0; `nil` for no delay.
    ///   - clock: the clock for replay and recording.
    ///   - identifier: the identifier of the handler.
    ///   - schemes: the schemes that the handler serves; by default all.
    public init(
        _ recording: Recording, mode: Mode = .strict, speed: Double? = nil, clock: any LoadClock = SystemClock.shared,
        identifier: String = "org.portolan.replay", schemes: SchemeSet = .any
    ) {
        (self.mode, self.clock, self.identifier, self.schemes) = (mode, clock, identifier, schemes)
        // These limits keep times in the range of `Duration`, because recorded times are not longer than some days.
        self.speed = speed.flatMap { $0 > 0 ? min(max($0, 0.001), 1_000_000) : nil }
        let recording = mode == .record ? Recording() : recording
        state = Mutex(State(recording: recording, index: ReplayIndex(recording.transactions)))
    }

    /// The initial recording, followed by the loads that have since ended without a stop, in the order of their starts.
    /// If a request has failed repeatedly, only its first failure is included. Callable from any thread.
    public var recording: Recording {
        let (recording, index, records) = state.withLock { ($0.recording, $0.index, $0.records) }
        return records.reduce(into: recording) { recording, record in
            if let transaction = record.transaction, !index.hasFailure(like: transaction) { recording.add(transaction) }
        }
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ReplayLoad(request, handler: self, client: client)
    }

    /// Whether ``load(for:sending:client:)`` needs the body of the request.
    func needsBody(of request: Request) -> Bool {
        mode != .strict && request.body != nil || state.withLock { $0.index.comparesBody(of: request) }
    }

    /// Returns the load that serves the request. The load is not started.
    func load(for request: Request, sending sent: SentBody, client: any ProtocolClient) -> ReplayedLoad {
        let recorded = state.withLock { $0.index.useTransaction(for: request, sent, completeOnly: mode == .fill) }
        if let recorded { return .played(play(recorded, for: request, client)) }
        guard mode != .strict else {
            return .played(FailedLoad(state.withLock { $0.index.notFoundError(of: request) }, client: client))
        }
        var transaction = Transaction(request, began: Self.secondsSince1970)
        if request.body != nil { transaction.setBody(sent) }
        let record = TransactionRecord(transaction, clock: clock)
        state.withLock { $0.records.append(record) }
        return .recorded(client.makeLoadByNextHandler(for: request, client: TransactionRecorder(record, next: client)), record)
    }

    /// Removes the record of a stopped load, unless the load had ended before the stop.
    func drop(_ record: TransactionRecord) {
        guard record.transaction == nil else { return }
        state.withLock { state in
            // Searches from the end, because most stopped loads started recently.
            if let index = state.records.lastIndex(where: { $0 === record }) { state.records.remove(at: index) }
        }
    }

    /// The number of recorded loads, including running ones.
    var recordCount: Int { state.withLock { $0.records.count } }

    /// Makes a load that sends the events of a recorded transaction.
    private func play(_ transaction: Transaction, for request: Request, _ client: any ProtocolClient) -> any ProtocolLoad {
        let script = transaction.script(for: request)
        guard let speed else { return ScriptedLoad(script.map(\.event), client: client) }
        return ScriptedLoad(script.map { ($0.event, $0.time / speed) }, by: clock, client: client)
    }

    private static var secondsSince1970: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
