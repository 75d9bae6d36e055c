// SPDX-License-Identifier: Apache-2.0

/// Models the contract of the delegate: its calls are serial, and while the caller suspends the task, it receives only
/// a failure.
///
/// Other events wait, and are delivered in order after the delegate returns or the task is resumed.
struct GateModel {
    struct Waiting {
        let event: DelegateEvent
        /// The number of the event's handler load.
        let handlerLoad: Int
        /// The number of the request, if the event is a challenge.
        let requestNumber: Int

        /// Whether the delegate of a suspended task receives the event too, as it does a failure.
        var ignoresSuspension: Bool {
            if case .end(.some) = event { true } else { false }
        }
    }

    private(set) var received: [DelegateEvent] = []
    private(set) var waiting: [Waiting] = []
    private(set) var isHeld = false
    /// The event in delivery, which excludes all others.
    private(set) var current: Waiting?
    /// The event that the load itself is about to deliver.
    private var direct: Waiting?
    /// Whether waiting events are being delivered.
    var isDeliveringWaiting = false

    /// Whether an event waits without a reason.
    var hasOverdueEvent: Bool {
        guard let first = waiting.first else { return false }
        return current == nil && (!isHeld || first.ignoresSuspension)
    }

    var hasDeliveries: Bool { waiting.contains { $0.event.returnsFlow } }

    /// - Returns: Whether the delegate receives the event at once.
    mutating func enqueue(_ event: DelegateEvent, of handlerLoad: Int, requestNumber: Int = -1) -> Bool {
        let item = Waiting(event: event, handlerLoad: handlerLoad, requestNumber: requestNumber)
        if case .end(let ending?) = event, isHeld || ending == .cancelled { waiting = [] }
        if current == nil, !isDeliveringWaiting, waiting.isEmpty, !isHeld || item.ignoresSuspension {
            direct = item
            received.append(event)
            return true
        }
        if event != .sent || waiting.last?.event != .sent { waiting.append(item) }
        return false
    }

    /// Handles a cancel after the end of the load, while the delegate has not received the end: it then receives only
    /// the end.
    mutating func cancelWaitingEnd() {
        guard let last = waiting.last, case .end = last.event else { return }
        _ = enqueue(.end(.cancelled), of: last.handlerLoad)
    }

    /// The delegate is called. Not used for an end, which may come before the model knows of it.
    ///
    /// - Returns: Whether the load itself calls; `nil` if there is nothing to deliver.
    mutating func enter() -> Bool? {
        guard current == nil else { return nil }
        if let item = direct {
            (current, direct) = (item, nil)
            return true
        }
        guard hasOverdueEvent else { return nil }
        let item = waiting.removeFirst()
        received.append(item.event)
        current = item
        isDeliveringWaiting = true
        return false
    }

    mutating func leave() { current = nil }

    /// Delivers the end, if it was waiting.
    mutating func enterEnd() {
        guard case .end? = waiting.first?.event, hasOverdueEvent else { return }
        received.append(waiting.removeFirst().event)
    }

    mutating func hold() { isHeld = true }

    /// - Returns: Whether responses or data wait; then the delegate's return values decide how to go on.
    mutating func release() -> Bool {
        defer { isHeld = false }
        return isHeld && hasDeliveries
    }
}
