// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import Synchronization

/// A load whose events are known beforehand: reports them in order, and waits and stops where its client says so.
///
/// Enough for a handler that makes its answer at once:
///
///     ScriptedLoad([.response(Response(url: request.url)), .data(bytes), .finish], client: client)
///
/// Events may have times, too: then each waits for its own, and no thread does.
public final class ScriptedLoad: ProtocolLoad {
    public enum Event: Sendable {
        case interim(Response)
        /// Where the client does not take it, the next event follows.
        case redirect(to: Request, Response)
        case response(Response)
        case data([UInt8])
        case trailers(HTTPFields)
        case finish
        case failure(LoadError)
    }

    private struct State {
        /// The index of the event that comes next.
        var next = 0
        /// By the clock, when the load was started.
        var start: Duration?
        /// Set while the next event waits for its time.
        var alarm: ScheduledTimer?
    }

    private enum Step {
        case report(Event)
        case wait(ScheduledTimer, until: Duration)
        case nothing
    }

    private let events: [Event]
    /// When each event is due, since the load's start; `nil`: all at once.
    private let times: [Duration]?
    private let clock: any LoadClock
    private let client: any ProtocolClient
    private let calls = SerialCalls()
    private let state = Mutex(State())

    /// A load whose events come one right after the other.
    ///
    /// - Parameters:
    ///   - events: the last of which is an end, or a redirect that the client takes.
    ///   - client: whom the load reports to.
    public init(_ events: [Event], client: any ProtocolClient) {
        self.events = events
        times = nil
        clock = SystemClock.shared
        self.client = client
    }

    /// A load whose events have their times.
    ///
    /// What is late, because the client paused, comes at once; it makes nothing later that follows.
    ///
    /// - Parameters:
    ///   - events: each with the time at which it is due, since the load's start.
    ///   - clock: says when that is, and calls the load then on a thread of its own.
    ///   - client: whom the load reports to.
    public init(_ events: [(event: Event, time: Duration)], by clock: any LoadClock, client: any ProtocolClient) {
        self.events = events.map(\.event)
        times = events.map(\.time)
        self.clock = clock
        self.client = client
    }

    /// A stop may come between two events, when the next one is about to be reported.
    public var stopsInTurn: Bool { true }

    public func startLoading() {
        if times != nil { state.withLock { $0.start = clock.now } }
        calls.submit(.start) { _ in play() }
    }

    public func resumeLoading() { calls.submit(.resume) { _ in play() } }

    public func stopLoading() {
        let alarm = state.withLock { state in
            state.next = events.count
            return state.alarm.take()
        }
        alarm?.cancel()
    }

    private func play() {
        var flow = Flow.keepGoing
        while flow == .keepGoing {
            switch takeStep() {
            case .report(let event): flow = report(event)
            case .wait(let alarm, let deadline): return clock.schedule(alarm, at: deadline)
            case .nothing: return
            }
        }
        if flow == .stopped { stopLoading() }
    }

    private func takeStep() -> Step {
        state.withLock { state in
            // Whoever comes while an alarm is set comes too early: the alarm does it.
            guard state.next < events.count, state.alarm?.isPending != true else { return .nothing }
            state.alarm = nil
            if let start = state.start, let time = times?[state.next], start + time > clock.now {
                let alarm = ScheduledTimer { [self] in calls.submit(.resume) { _ in play() } }
                state.alarm = alarm
                return .wait(alarm, until: start + time)
            }
            defer { state.next += 1 }
            return .report(events[state.next])
        }
    }

    private func report(_ event: Event) -> Flow {
        switch event {
        case .interim(let response):
            client.didReceiveInterim(response)
            return .keepGoing
        case .redirect(let request, let response):
            return client.wasRedirected(to: request, redirectResponse: response)
        case .response(let response):
            return client.didReceive(response, storage: .notAllowed)
        case .data(let bytes):
            let span = bytes.span
            return unsafe client.didLoad(span.bytes)
        case .trailers(let fields):
            client.didReceiveTrailers(fields)
            return .keepGoing
        case .finish:
            client.didFinishLoading()
        case .failure(let error):
            client.didFail(with: error)
        }
        return .stopped
    }
}
