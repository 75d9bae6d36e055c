// SPDX-License-Identifier: Apache-2.0

/// Models the contract of the delegate: the calls of its methods are serial, and while the task is suspended, the
/// delegate receives no event but a failure.
///
/// Other events wait, and are delivered in order after the delegate returns or the task is resumed.
struct GateModel {
    struct WaitingEvent {
        let event: DelegateEvent
        /// The number of the event's handler load.
        let handlerLoad: Int
        /// The number of the request, if the event is a challenge.
        let requestNumber: Int

        /// Whether the event is delivered although the task is suspended, which is true of a failure.
        var ignoresSuspension: Bool {
            if case .end(.some) = event { true } else { false }
        }
    }

    private(set) var received: [DelegateEvent] = []
    private(set) var waitingEvents: [WaitingEvent] = []
    private(set) var isSuspended = false
    /// The event that is being delivered; no other event is delivered at the same time.
    private(set) var current: WaitingEvent?
    /// The event that the load itself is about to deliver.
    private var directDelivery: WaitingEvent?
    /// Whether waiting events are being delivered.
    var isDeliveringWaiting = false

    /// Whether an event waits although it could be delivered.
    var hasOverdueEvent: Bool {
        guard let first = waitingEvents.first else { return false }
        return current == nil && (!isSuspended || first.ignoresSuspension)
    }

    var hasDeliveries: Bool { waitingEvents.contains { $0.event.returnsFlow } }

    /// - Returns: Whether the delegate receives the event at once.
    mutating func enqueue(_ event: DelegateEvent, of handlerLoad: Int, requestNumber: Int = -1) -> Bool {
        let waitingEvent = WaitingEvent(event: event, handlerLoad: handlerLoad, requestNumber: requestNumber)
        if case .end(let ending?) = event, isSuspended || ending == .cancelled { waitingEvents = [] }
        if current == nil, !isDeliveringWaiting, waitingEvents.isEmpty, !isSuspended || waitingEvent.ignoresSuspension {
            directDelivery = waitingEvent
            received.append(event)
            return true
        }
        if event != .sent || waitingEvents.last?.event != .sent { waitingEvents.append(waitingEvent) }
        return false
    }

    /// Handles a cancel between the end of the load and its delivery: the delegate then receives only the end.
    mutating func cancelWaitingEnd() {
        guard let last = waitingEvents.last, case .end = last.event else { return }
        _ = enqueue(.end(.cancelled), of: last.handlerLoad)
    }

    /// Records that the delegate is called with the next event. Not used for an end, which may come before the model
    /// knows of it.
    ///
    /// - Returns: `true` if the load itself calls the delegate; `false` if a waiting event is delivered; `nil` if no
    ///   event is due.
    mutating func enter() -> Bool? {
        guard current == nil else { return nil }
        if let waitingEvent = directDelivery {
            (current, directDelivery) = (waitingEvent, nil)
            return true
        }
        guard hasOverdueEvent else { return nil }
        let waitingEvent = waitingEvents.removeFirst()
        received.append(waitingEvent.event)
        current = waitingEvent
        isDeliveringWaiting = true
        return false
    }

    /// Records that the delegate has returned.
    mutating func leave() { current = nil }

    /// Records that the delegate is called with the end, if the end was waiting.
    mutating func enterEnd() {
        guard case .end? = waitingEvents.first?.event, hasOverdueEvent else { return }
        received.append(waitingEvents.removeFirst().event)
    }

    mutating func suspend() { isSuspended = true }

    /// - Returns: Whether responses or data wait; then the delegate's return values decide how to go on.
    mutating func resume() -> Bool {
        defer { isSuspended = false }
        return isSuspended && hasDeliveries
    }
}
