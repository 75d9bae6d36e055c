// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CThreadTrace
import PortolanCore
import PortolanPlugins

/// A load of a handler of this process, as an event-driven one of a plugin's.
///
/// What it tells on a thread that is in one of its turns, is told there and then. What it tells elsewhere waits for a turn, and the load is told to pause
/// meanwhile: no thread ever waits, as one may be the loop that other loads share; a load that shares one tells nothing inside its calls.
@safe
final class ExportedLoad: @unchecked Sendable {  // … because all that changes is behind the monitor, or belongs to the load's turns
    let client: UnsafeMutablePointer<portolan_client>
    /// Whose table that is: a handler that tells something when all is over is to be heard, and not to end this process.
    let judge: JudgeClient
    private let traits: HandlerTraits
    private let state = Monitor(State())

    private struct State {
        var load: (any ProtocolLoad)?
        /// The thread that is in a turn; 0: none.
        var turnThread: Int32 = 0
        var waiting: [Event] = []
        /// A delivery waits for its turn: until it is answered nothing may be delivered.
        var isHeld = false
        /// The load was told to pause.
        var isPaused = false
        /// The load was told that nobody wants the rest: it has no excuse any more.
        var knowsOfStop = false
        /// It has told its end, whether anybody wanted to hear it or not.
        var hasEnded = false
        /// The thread that is in the load's `stopLoading`; 0: none.
        var stopThread: Int32 = 0
        /// How many threads are about to wake the load.
        var wakers = 0
        var stage = Stage.made
        var challenge: AuthenticationChallenge?
        /// Of the body, which had nothing yet.
        var reading: Event?
    }

    private enum Stage {
        /// What it tells breaks a rule, and is passed on.
        case made
        case running
        /// Nobody wants the rest, and the load may not have heard of it: what it tells meanwhile is let drop.
        case deaf
        /// It has told its end, or heard that it is to stop: what it tells now breaks a rule, and is passed on.
        case over
    }

    /// Something to be told.
    struct Event: Sendable {
        enum Kind: Hashable, Sendable {
            case delivery, redirect, finish, failure, other

            var isEnd: Bool { self == .finish || self == .failure }
            /// Whether its answer says how to go on.
            var isAnswered: Bool { self == .delivery || self == .redirect }
        }

        let kind: Kind
        /// Tells the client.
        let tell: @Sendable () -> portolan_flow
    }

    init(_ handler: any ProtocolHandler, _ client: UnsafeMutablePointer<portolan_client>) {
        unsafe self.client = unsafe client
        judge = unsafe JudgeClient.at(client)
        traits = handler.traits
        var request = judge.request
        if let body = request.body { request.body = ExportedBody.body(of: self, length: body.length) }
        let load = handler.makeLoad(for: request, cachedResponse: nil, client: self)
        state.withLock { $0.load = load }
    }

    static func at(_ pointer: UnsafeMutableRawPointer) -> ExportedLoad {
        unsafe Unmanaged<ExportedLoad>.fromOpaque(pointer).takeUnretainedValue()
    }

    // MARK: Turns

    func start() {
        state.withLock { if $0.stage == .made { $0.stage = .running } }
        turn { $0.startLoading() }
    }

    func resume() {
        // At most once for each answer that says so (``ProtocolLoad/resumeLoading()``), and not before that is known: the core sees to that.
        turn { load in if !state.withLock(\.isHeld), takePause() { load.resumeLoading() } }
    }

    func woken() {
        turn { load in
            guard let reading = state.withLock({ $0.reading.take() }) else { return }
            tell(reading, of: load)
        }
    }

    func answered(_ answer: UnsafePointer<portolan_answer>) {
        turn { _ in
            guard let challenge = state.withLock({ $0.challenge.take() }) else { return }
            challenge.answer(unsafe ChallengeAnswer(lent: answer.pointee, to: challenge.protectionSpace.kind))
        }
    }

    func stop() {
        silence()
        turn(stop)
    }

    private func stop(_ load: any ProtocolLoad) {
        guard state.withLock({ !$0.hasEnded }) else { return }
        let thread = portolan_thread_number()
        state.withLock { $0.stopThread = thread }
        load.stopLoading()
        state.withLock { $0.stopThread = 0 }
        // A load that has its turns elsewhere may tell on until it hears of it (``HandlerTraits/stopsInTurn``).
        if traits.isDisjoint(with: [.blocking, .stopsInTurn]), !load.stopsInTurn { state.withLock { $0.stage = .over } }
    }

    func destroy() {
        let (load, isWanted) = state.withLock { ($0.load.take(), $0.stage != .over && !$0.hasEnded) }
        silence()
        if isWanted { load?.stopLoading() }
        // Nothing touches the client when this has returned.
        state.wait { $0.wakers == 0 ? () : nil }
    }

    /// Nobody wants the rest.
    private func silence() {
        // What is let go of here may call the load: not under the lock.
        let rest = state.withLock { state in
            if state.stage != .over { state.stage = .deaf }
            defer { state.waiting = [] }
            return (state.waiting, state.challenge.take(), state.reading.take())
        }
        withExtendedLifetime(rest) {}
    }

    /// Calls the load, and tells what waits.
    private func turn(_ body: (any ProtocolLoad) -> Void) {
        let thread = portolan_thread_number()
        let load = state.withLock { state in
            state.turnThread = thread
            return state.load
        }
        guard let load else { return }
        body(load)
        while let event = nextEvent() { tell(event, of: load) }
    }

    private func nextEvent() -> Event? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.turnThread = 0
            return nil
        }
    }

    /// Tells what waited, and the load what was answered.
    private func tell(_ event: Event, of load: any ProtocolLoad) {
        let flow = answer(to: event)
        guard event.kind.isAnswered else { return }
        switch flow {
        case .keepGoing: if takePause() { load.resumeLoading() }
        // It waits already; the judge resumes it.
        case .pause: state.withLock { $0.isHeld = false }
        case .stopped: stop(load)
        }
    }

    private func takePause() -> Bool {
        state.withLock { state in
            defer { (state.isHeld, state.isPaused) = (false, false) }
            return state.isPaused
        }
    }

    private func answer(to event: Event) -> Flow {
        let flow = event.tell()
        if event.kind.isAnswered, flow == PORTOLAN_PAUSE { state.withLock { $0.isPaused = true } }
        if event.kind.isEnd { state.withLock { $0.stage = .over } }
        if flow == PORTOLAN_STOPPED { silence() }
        return Flow(rawValue: flow.rawValue) ?? .pause
    }

    // MARK: From the load

    /// Tells `event` where this thread is in a turn, or else in the next one.
    ///
    /// - Returns: what the client answered, or `.pause` where that is not known yet.
    @discardableResult
    func tell(_ kind: Event.Kind = .other, _ tell: @escaping @Sendable () -> portolan_flow) -> Flow {
        enum Way { case now, later, breach, nowhere }
        let (thread, event) = (portolan_thread_number(), Event(kind: kind, tell: tell))
        let overrunsByTrait = !traits.isDisjoint(with: [.blocking, .stopsInTurn])
        let way = state.withLock { state -> Way in
            let mayOverrun = overrunsByTrait || state.load?.stopsInTurn == true
            defer { if kind.isEnd { state.hasEnded = true } }
            switch state.stage {
            // An event after an answer that says stop, or from within `stopLoading`, breaks a rule, as it does for the core.
            case .deaf: return state.knowsOfStop || (state.stopThread == thread && !mayOverrun) ? .breach : .nowhere
            case .made, .over: return .breach
            case .running: break
            }
            if kind.isAnswered || kind == .finish, state.isHeld { return .breach }
            if state.turnThread == thread, state.waiting.isEmpty, !traits.contains(.stopsInTurn) { return .now }
            if kind.isAnswered { (state.isHeld, state.isPaused) = (true, true) }
            state.waiting.append(event)
            state.wakers += 1
            return .later
        }
        let flow: Flow
        switch way {
        case .nowhere: flow = .stopped
        case .now:
            flow = answer(to: event)
            // It knows at once that it is over; one that waited hears it by `stopLoading`.
            if kind == .redirect, flow == .stopped { state.withLock { $0.stage = .over } }
        // As the client sees it: outside of a turn, in a pause or after the end.
        case .breach: flow = Flow(rawValue: tell().rawValue) ?? .stopped
        case .later:
            unsafe client.pointee.wake(client)
            state.signalling { $0.wakers -= 1 }
            flow = .pause
        }
        if kind.isAnswered, flow == .stopped { state.withLock { $0.knowsOfStop = true } }
        return flow
    }

    /// The question is answered in another turn.
    func keep(_ challenge: AuthenticationChallenge?) {
        let old = state.withLock { state in
            defer { state.challenge = challenge }
            return state.challenge
        }
        withExtendedLifetime(old) {}
    }

    /// The reader of the body waits for a turn in which there is more of it.
    func keep(_ reading: Event) { state.withLock { $0.reading = reading } }
}
