// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import Synchronization

/// A load with predefined events. It reports them in order, and pauses and stops when its client requests that.
///
/// A handler that has its whole response at the start can use it:
///
///     ScriptedLoad([.response(Response(url: request.url)), .data(bytes), .finish], client: client)
///
/// Events can also have times. The load then waits for the time of each event, without occupying a thread.
public final class ScriptedLoad: ProtocolLoad {
    public enum Event: Sendable {
        case interim(Response)
        /// If the client declines the redirect, the next event follows.
        case redirect(to: Request, Response)
        case response(Response)
        case data([UInt8])
        case trailers(HTTPFields)
        case finish
        case failure(LoadError)
    }

    private struct State {
        /// The index of the next event.
        var nextIndex = 0
        /// The clock's time at the start of the load; `nil` if the events have no times.
        var startTime: Duration?
        /// Set while the next event waits for its time.
        var timer: ScheduledTimer?
    }

    private enum Step {
        case report(Event)
        case wait(ScheduledTimer, until: Duration)
        case none
    }

    private let events: [Event]
    /// The time of each event after the load's start; `nil` to report all events without delay.
    private let times: [Duration]?
    private let clock: any LoadClock
    private let client: any ProtocolClient
    private let calls = SerialCalls()
    private let state = Mutex(State())

    /// Makes a load that reports its events without delay.
    ///
    /// - Parameters:
    ///   - events: the last one is an end, or a redirect that the client follows.
    ///   - client: receives the events of the load.
    public init(_ events: [Event], client: any ProtocolClient) {
        self.events = events
        times = nil
        clock = SystemClock.shared
        self.client = client
    }

    /// Makes a load that reports its events at their times.
    ///
    /// An event that is late because the client paused is reported immediately, and does not delay the events that
    /// follow.
    ///
    /// - Parameters:
    ///   - events: each event with its time after the load's start.
    ///   - clock: measures the time, and calls the load at the time of an event, on one of the clock's threads.
    ///   - client: receives the events of the load.
    public init(_ events: [(event: Event, time: Duration)], by clock: any LoadClock, client: any ProtocolClient) {
        self.events = events.map(\.event)
        times = events.map(\.time)
        self.clock = clock
        self.client = client
    }

    /// Always `true`, because a stop can come between two events, when the next one is about to be reported.
    public var stopsAsynchronously: Bool { true }

    public func startLoading() {
        if times != nil { state.withLock { $0.startTime = clock.now } }
        calls.submit(.start) { _ in play() }
    }

    public func resumeLoading() { calls.submit(.resume) { _ in play() } }

    public func stopLoading() {
        let timer = state.withLock { state in
            state.nextIndex = events.count
            return state.timer.take()
        }
        timer?.cancel()
    }

    private func play() {
        var flow = Flow.keepGoing
        while flow == .keepGoing {
            switch nextStep() {
            case .report(let event): flow = report(event)
            case .wait(let timer, let deadline): return clock.schedule(timer, at: deadline)
            case .none: return
            }
        }
        if flow == .stopped { stopLoading() }
    }

    private func nextStep() -> Step {
        state.withLock { state in
            // The pending timer will resume the load.
            guard state.nextIndex < events.count, state.timer?.isPending != true else { return .none }
            state.timer = nil
            if let start = state.startTime, let time = times?[state.nextIndex], start + time > clock.now {
                let timer = ScheduledTimer { [self] in calls.submit(.resume) { _ in play() } }
                state.timer = timer
                return .wait(timer, until: start + time)
            }
            defer { state.nextIndex += 1 }
            return .report(events[state.nextIndex])
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
