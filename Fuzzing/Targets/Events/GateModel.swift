// SPDX-License-Identifier: Apache-2.0

/// What the contract says of the way to the delegate: one call at a time, and while the caller has suspended the task only its failure.
///
/// What comes at another time waits, and is told in its order by whoever leaves the delegate or resumes the task.
struct GateModel {
    struct Waiting {
        let event: Heard
        /// The number of the attempt that it is from.
        let attempt: Int
        /// The number of the question, where it is a challenge.
        let question: Int

        /// Whether it comes to the delegate of a suspended task, too: a failure does.
        var ignoresSuspension: Bool {
            if case .end(.some) = event { true } else { false }
        }
    }

    private(set) var heard: [Heard] = []
    private(set) var waiting: [Waiting] = []
    private(set) var isHeld = false
    /// The event that is with the delegate; nothing else may come to it.
    private(set) var current: Waiting?
    /// What the delegate is about to be told by the load itself.
    private var direct: Waiting?
    /// Someone tells what waited, one event after another, and is not done.
    var isTelling = false

    /// Whether something waits that nothing keeps back.
    var owes: Bool {
        guard let first = waiting.first else { return false }
        return current == nil && (!isHeld || first.ignoresSuspension)
    }

    var hasDeliveries: Bool { waiting.contains { $0.event.hasAnswer } }

    /// - Returns: whether the delegate hears it now.
    mutating func put(_ event: Heard, of attempt: Int, question: Int = -1) -> Bool {
        let item = Waiting(event: event, attempt: attempt, question: question)
        if case .end(let ending?) = event, isHeld || ending == .cancelled { waiting = [] }
        if current == nil, !isTelling, waiting.isEmpty, !isHeld || item.ignoresSuspension {
            direct = item
            heard.append(event)
            return true
        }
        if event != .sent || waiting.last?.event != .sent { waiting.append(item) }
        return false
    }

    /// The load is over, and the delegate has not heard of it: who cancels now wants no more than the end.
    mutating func cancelWaitingEnd() {
        guard let last = waiting.last, case .end = last.event else { return }
        _ = put(.end(.cancelled), of: last.attempt)
    }

    /// The delegate is called. Not for an end: it may come before the model knows of it.
    ///
    /// - Returns: whether by the load itself; `nil` where nothing is to be told.
    mutating func enter() -> Bool? {
        guard current == nil else { return nil }
        if let item = direct {
            (current, direct) = (item, nil)
            return true
        }
        guard owes else { return nil }
        let item = waiting.removeFirst()
        heard.append(item.event)
        current = item
        isTelling = true
        return false
    }

    mutating func leave() { current = nil }

    /// The end is told, if it was one of those that wait.
    mutating func enterEnd() {
        guard case .end? = waiting.first?.event, owes else { return }
        heard.append(waiting.removeFirst().event)
    }

    mutating func hold() { isHeld = true }

    /// - Returns: whether responses or data wait: then their answers say how to go on.
    mutating func release() -> Bool {
        defer { isHeld = false }
        return isHeld && hasDeliveries
    }
}
