// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import PortolanPlugins

/// Presents a load of a handler of this process as an event-driven load of a plugin.
///
/// Events on a thread that is in a call into the load are delivered immediately. Other events wait for the next call,
/// and the load is paused until then. No thread waits for a call, because the thread can be an event loop that other
/// loads share. A load on a shared event loop delivers nothing inside its calls.
@safe
final class ExportedLoad: @unchecked Sendable {  // … because a lock guards everything that changes
    let client: UnsafeMutablePointer<portolan_client>
    /// The owner of the client table. It is retained so that an event after the end is recorded, and does not crash
    /// this process.
    let probe: ProbeClient
    private let traits: HandlerTraits
    private let state = ConditionLock(State())

    private struct State {
        var load: (any ProtocolLoad)?
        /// The thread that is in a call into the load; 0 if there is none.
        var callingThread: Int32 = 0
        var waitingEvents: [Event] = []
        /// Whether a delivery waits for a call into the load. Until the client responds to it, the load can deliver
        /// nothing else.
        var hasWaitingDelivery = false
        /// Whether a delivery returned a pause to the load.
        var isPaused = false
        /// Whether the load was notified of the stop, so that later events are violations.
        var wasNotifiedOfStop = false
        /// Whether the load has sent its end, even if the end was dropped.
        var hasEnded = false
        /// The thread that is in the load's `stopLoading`; 0 if there is none.
        var stopThread: Int32 = 0
        /// The number of threads that are about to wake the load.
        var wakingThreadCount = 0
        var stage = Stage.made
        var challenge: AuthenticationChallenge?
        /// The body read that waits for more bytes.
        var waitingBodyRead: Event?
    }

    private enum Stage {
        /// Events are violations, and are passed on.
        case made
        case running
        /// The load was stopped, but possibly not notified yet. Events are dropped.
        case stopped
        /// The load has delivered its end, or was notified of the stop. Events are violations, and are passed on.
        case ended
    }

    /// An event that is to be delivered.
    struct Event: Sendable {
        enum Kind: Hashable, Sendable {
            case delivery, redirect, finish, failure, other

            var isEnd: Bool { self == .finish || self == .failure }
            /// Whether the return value says how to continue.
            var returnsFlow: Bool { self == .delivery || self == .redirect }
        }

        let kind: Kind
        /// Delivers the event to the client.
        let deliver: @Sendable () -> portolan_flow
    }

    init(_ handler: any ProtocolHandler, _ client: UnsafeMutablePointer<portolan_client>) {
        unsafe self.client = unsafe client
        probe = unsafe ProbeClient.at(client)
        traits = handler.traits
        var request = probe.request
        if let body = request.body { request.body = ExportedBody.body(of: self, length: body.length) }
        let load = handler.makeLoad(for: request, cachedResponse: probe.script.stored?.cachedResponse, client: self)
        state.withLock { $0.load = load }
    }

    static func at(_ pointer: UnsafeMutableRawPointer) -> ExportedLoad {
        unsafe Unmanaged<ExportedLoad>.fromOpaque(pointer).takeUnretainedValue()
    }

    // MARK: Calls from the runner

    func start() {
        state.withLock { if $0.stage == .made { $0.stage = .running } }
        callLoad { $0.startLoading() }
    }

    func resume() {
        // Resumes at most once for each pause (``ProtocolLoad/resumeLoading()``), and not while a delivery waits for
        // the client's response. In a loader, the core ensures that.
        callLoad { load in if !state.withLock(\.hasWaitingDelivery), endPause() { load.resumeLoading() } }
    }

    func woken() {
        callLoad { load in
            guard let waitingBodyRead = state.withLock({ $0.waitingBodyRead.take() }) else { return }
            deliver(waitingBodyRead, of: load)
        }
    }

    func answered(_ answer: UnsafePointer<portolan_answer>) {
        callLoad { _ in
            guard let challenge = state.withLock({ $0.challenge.take() }) else { return }
            challenge.answer(unsafe ChallengeAnswer(borrowed: answer.pointee, to: challenge.protectionSpace.kind))
        }
    }

    func stop() {
        dropPending()
        callLoad(stop)
    }

    private func stop(_ load: any ProtocolLoad) {
        guard state.withLock({ !$0.hasEnded }) else { return }
        let thread = portolan_thread_number()
        state.withLock { $0.stopThread = thread }
        load.stopLoading()
        state.withLock { $0.stopThread = 0 }
        // A load that runs elsewhere can deliver events until it is notified of the stop
        // (``HandlerTraits/stopsAsynchronously``).
        if traits.isDisjoint(with: [.blocking, .stopsAsynchronously]), !load.stopsAsynchronously { state.withLock { $0.stage = .ended } }
    }

    func destroy() {
        let (load, mustStop) = state.withLock { ($0.load.take(), $0.stage != .ended && !$0.hasEnded) }
        dropPending()
        if mustStop { load?.stopLoading() }
        // After this wait, no thread calls the client any more.
        state.wait { $0.wakingThreadCount == 0 ? () : nil }
    }

    /// Drops the waiting events, the challenge and the body read, because the load was stopped.
    private func dropPending() {
        // Outside of the lock, because the release of these values can call the load.
        let droppedValues = state.withLock { state in
            if state.stage != .ended { state.stage = .stopped }
            defer { state.waitingEvents = [] }
            return (state.waitingEvents, state.challenge.take(), state.waitingBodyRead.take())
        }
        withExtendedLifetime(droppedValues) {}
    }

    /// Runs `action`, which calls the load, and then delivers the waiting events.
    private func callLoad(_ action: (any ProtocolLoad) -> Void) {
        let thread = portolan_thread_number()
        let load = state.withLock { state in
            state.callingThread = thread
            return state.load
        }
        guard let load else { return }
        action(load)
        while let event = nextEvent() { deliver(event, of: load) }
    }

    private func nextEvent() -> Event? {
        state.withLock { state in
            guard state.waitingEvents.isEmpty else { return state.waitingEvents.removeFirst() }
            state.callingThread = 0
            return nil
        }
    }

    /// Delivers an event that waited, and passes the response on to the load.
    private func deliver(_ event: Event, of load: any ProtocolLoad) {
        let flow = self.flow(for: event)
        guard event.kind.returnsFlow else { return }
        switch flow {
        case .keepGoing: if endPause() { load.resumeLoading() }
        // The load is paused already; the runner resumes it.
        case .pause: state.withLock { $0.hasWaitingDelivery = false }
        case .stopped: stop(load)
        }
    }

    /// Ends the pause of the load.
    ///
    /// - Returns: Whether the load was paused.
    private func endPause() -> Bool {
        state.withLock { state in
            defer { (state.hasWaitingDelivery, state.isPaused) = (false, false) }
            return state.isPaused
        }
    }

    private func flow(for event: Event) -> Flow {
        let flow = event.deliver()
        if event.kind.returnsFlow, flow == PORTOLAN_PAUSE { state.withLock { $0.isPaused = true } }
        if event.kind.isEnd { state.withLock { $0.stage = .ended } }
        if flow == PORTOLAN_STOPPED { dropPending() }
        return Flow(rawValue: flow.rawValue) ?? .pause
    }

    // MARK: Events from the load

    /// Delivers an event now if this thread is in a call into the load, or else in the next call.
    ///
    /// - Returns: The client's response, or `.pause` if it is not known yet.
    @discardableResult
    func deliver(_ kind: Event.Kind = .other, _ deliver: @escaping @Sendable () -> portolan_flow) -> Flow {
        enum Delivery { case immediate, queued, violation, dropped }
        let (thread, event) = (portolan_thread_number(), Event(kind: kind, deliver: deliver))
        let deliversAfterStopByTrait = !traits.isDisjoint(with: [.blocking, .stopsAsynchronously])
        let delivery = state.withLock { state -> Delivery in
            let mayDeliverAfterStop = deliversAfterStopByTrait || state.load?.stopsAsynchronously == true
            defer { if kind.isEnd { state.hasEnded = true } }
            switch state.stage {
            // An event after a STOPPED response, or from within `stopLoading`, is a violation, as it is for the core.
            case .stopped: return state.wasNotifiedOfStop || (state.stopThread == thread && !mayDeliverAfterStop) ? .violation : .dropped
            case .made, .ended: return .violation
            case .running: break
            }
            if kind.returnsFlow || kind == .finish, state.hasWaitingDelivery { return .violation }
            if state.callingThread == thread, state.waitingEvents.isEmpty, !traits.contains(.stopsAsynchronously) { return .immediate }
            if kind.returnsFlow { (state.hasWaitingDelivery, state.isPaused) = (true, true) }
            state.waitingEvents.append(event)
            state.wakingThreadCount += 1
            return .queued
        }
        let flow: Flow
        switch delivery {
        case .dropped: flow = .stopped
        case .immediate:
            flow = self.flow(for: event)
            // The return value notifies the load of its end. A load whose event waited is notified by `stopLoading`.
            if kind == .redirect, flow == .stopped { state.withLock { $0.stage = .ended } }
        // The client records the violation: an event outside of a call, in a pause or after the end.
        case .violation: flow = Flow(rawValue: deliver().rawValue) ?? .stopped
        case .queued:
            unsafe client.pointee.wake(client)
            state.withLockBroadcasting { $0.wakingThreadCount -= 1 }
            flow = .pause
        }
        if kind.returnsFlow, flow == .stopped { state.withLock { $0.wasNotifiedOfStop = true } }
        return flow
    }

    /// Retains a challenge that is answered in a later call. `nil` releases the retained challenge.
    func keep(_ challenge: AuthenticationChallenge?) {
        let old = state.withLock { state in
            defer { state.challenge = challenge }
            return state.challenge
        }
        withExtendedLifetime(old) {}
    }

    /// Retains a body read until the client has more bytes.
    func keep(_ waitingBodyRead: Event) { state.withLock { $0.waitingBodyRead = waitingBodyRead } }
}
