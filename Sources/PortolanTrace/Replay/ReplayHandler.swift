// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Answers requests from a recording, in front of the handlers that would load them.
///
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [ReplayHandler(try Recording(parsing: bytes))]
///     let loader = Loader(configuration: configuration)
///
/// A request gets an answer that was recorded for the same method and URL, without fragment and user information; where the recording has what was
/// sent, the body has to be the same, too, unless it can be read only once. What was left out of the recording as a secret is not compared. Of several answers each is given once, in their order, and then the last
/// one again and again; a failure is played where there is no answer. Redirects are told as redirects, so the loader asks for the next one; an answer 401 is an answer, and no question. Failures
/// are played, with code and message; an answer that was recorded in part comes to that point, and fails with `LoadError.Code.truncated`.
public final class ReplayHandler: ProtocolHandler {
    /// What happens to requests that the recording has no answer for, and to it.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// They fail with `LoadError.Code.notFound`, and a message that says what comes near.
        case strict
        /// They are loaded by the handler that stands behind, and added to the recording. What was recorded in part counts as missing, and so
        /// does a failure.
        case fill
        /// All requests are loaded by the handlers that stand behind, and make a new recording.
        case record
    }

    public let identifier: String
    public let schemes: SchemeSet
    public let mode: Mode
    /// As HTTP's are, some of which may stand behind.
    public var traits: HandlerTraits { [.multipart, .stopsInTurn] }
    private let speed: Double?
    private let clock: any LoadClock
    private let state: Mutex<State>

    private struct State {
        /// What was there in the beginning.
        let recording: Recording
        var shelf: AnswerShelf
        var records: [ExchangeRecord] = []
    }

    /// - Parameters:
    ///   - recording: what is played; in ``Mode/record`` nothing of it.
    ///   - mode: what happens to other requests.
    ///   - speed: how many times as fast as it was recorded an answer comes, above 0; `nil`: at once.
    ///   - clock: by which it comes, and is recorded.
    ///   - identifier: of the handler.
    ///   - schemes: what it is asked about; by default all, so that nothing passes it by.
    public init(
        _ recording: Recording, mode: Mode = .strict, speed: Double? = nil, clock: any LoadClock = SystemClock.shared,
        identifier: String = "org.portolan.replay", schemes: SchemeSet = .any
    ) {
        (self.mode, self.clock, self.identifier, self.schemes) = (mode, clock, identifier, schemes)
        // Within what a Duration holds: no recorded time is longer than some days.
        self.speed = speed.flatMap { $0 > 0 ? min(max($0, 0.001), 1_000_000) : nil }
        let recording = mode == .record ? Recording() : recording
        state = Mutex(State(recording: recording, shelf: AnswerShelf(recording.exchanges)))
    }

    /// The recording as it is now: what was read, and behind it each load that has ended by itself since, in the order in which they began. Of
    /// what failed before and does again, it has the first failure. Any thread.
    public var recording: Recording {
        let (recording, shelf, records) = state.withLock { ($0.recording, $0.shelf, $0.records) }
        return records.reduce(into: recording) { recording, record in
            if let exchange = record.exchange, !shelf.hasFailure(like: exchange) { recording.add(exchange) }
        }
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ReplayLoad(request, handler: self, client: client)
    }

    /// Whether what a request sends has to be known before ``load(for:sending:client:)``.
    func needsBody(of request: Request) -> Bool {
        mode != .strict && request.body != nil || state.withLock { $0.shelf.comparesBody(of: request) }
    }

    /// The load that answers, not started yet.
    func load(for request: Request, sending sent: SentBody, client: any ProtocolClient) -> ReplayedLoad {
        let found = state.withLock { $0.shelf.take(request, sent, wholeOnly: mode == .fill) }
        if let found { return .played(play(found, for: request, client)) }
        guard mode != .strict else {
            return .played(FailedLoad(state.withLock { $0.shelf.absence(of: request) }, client: client))
        }
        var exchange = Exchange(request, began: Self.secondsSince1970)
        if request.body != nil { exchange.note(sent: sent) }
        let record = ExchangeRecord(exchange, clock: clock)
        state.withLock { $0.records.append(record) }
        return .recorded(client.makeNextLoad(for: request, client: ExchangeRecorder(record, next: client)), record)
    }

    /// Forgets what came of a load that was stopped, unless it had ended by itself: nobody asks for it again.
    func drop(_ record: ExchangeRecord) {
        guard record.exchange == nil else { return }
        state.withLock { state in
            // From the end, because most that are stopped have begun of late.
            if let index = state.records.lastIndex(where: { $0 === record }) { state.records.remove(at: index) }
        }
    }

    /// How many loads are written down, those that run among them.
    var recordCount: Int { state.withLock { $0.records.count } }

    private func play(_ exchange: Exchange, for request: Request, _ client: any ProtocolClient) -> any ProtocolLoad {
        let script = exchange.script(for: request)
        guard let speed else { return ScriptedLoad(script.map(\.event), client: client) }
        return ScriptedLoad(script.map { ($0.event, $0.time / speed) }, by: clock, client: client)
    }

    private static var secondsSince1970: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
