// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

/// Checks the verdict on every event in every state against a table that was written from the contract.
@Suite struct EventStateMachineTests {
    /// A state, and the verdict on each event of ``columns`` in this state.
    ///
    /// The verdict `·` means that the event is delivered, and `drop` that the event is dropped. The ID of a rule means
    /// that the event violates the rule. The ID after `late-` means the same after the load's end, where the violation
    /// can only be reported.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Makes a state machine in this state.
        let makeMachine: @Sendable () -> EventStateMachine
        /// The verdicts for the events of `columns`, in their order and separated by spaces.
        let verdicts: String
        var testDescription: String { name }
    }

    static let columns: [EventStateMachine.Event] = [
        .interim, .redirect, .confirmation, .response, .data, .trailers, .finish, .failure, .challenge, .challengeCancelled, .sent, .step,
        .newBody,
    ]

    static let rows: [Row] = [
        Row(name: "the handler makes the load", makeMachine: { EventStateMachine() }, verdicts: String(repeating: "LIFE-01 ", count: 13)),
        Row(name: "the load is made, and not started", makeMachine: { made() }, verdicts: String(repeating: "LIFE-04 ", count: 13)),
        Row(
            name: "awaiting a response", makeMachine: { started() },
            verdicts: "· · · · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "a redirect is being decided", makeMachine: { after(started(), .redirect, .pause) },
            verdicts: "FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-07 · · · · · ·"),
        Row(
            name: "a redirect was declined", makeMachine: { after(started(), .redirect, .keepGoing) },
            verdicts: "ORDER-04 ORDER-04 ORDER-04 · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "a redirect was declined after its delivery", makeMachine: { declined(after(started(), .redirect, .pause)) },
            verdicts: "ORDER-04 ORDER-04 ORDER-04 · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "the cached response is confirmed", makeMachine: { after(started(), .confirmation, .keepGoing) },
            verdicts: "ORDER-13 ORDER-13 ORDER-13 CACHE-02 CACHE-03 CACHE-03 · · ORDER-13 · · · ORDER-13"),
        Row(
            name: "receiving the body", makeMachine: { after(started(), .response, .keepGoing) },
            verdicts: "ORDER-13 ORDER-13 CACHE-02 ORDER-08 · · · · · · · · ·"),
        Row(
            name: "receiving the body, paused", makeMachine: { after(started(), .response, .pause) },
            verdicts: "FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-07 · · · · · ·"),
        Row(
            name: "trailers are received", makeMachine: { after(after(started(), .response, .keepGoing), .trailers, .keepGoing) },
            verdicts: "ORDER-13 ORDER-13 CACHE-02 ORDER-13 ORDER-13 ORDER-13 · · ORDER-13 · · · ORDER-13"),
        Row(
            name: "finished", makeMachine: { after(after(started(), .response, .keepGoing), .finish, .keepGoing) },
            verdicts: """
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-02 late-ORDER-02 \
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03
                """),
        Row(
            name: "failed", makeMachine: { after(started(), .failure, .keepGoing) },
            verdicts: """
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-02 late-ORDER-02 \
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03
                """),
        Row(
            name: "redirected", makeMachine: { after(started(), .redirect, .stopped) },
            verdicts: String(repeating: "late-ORDER-04 ", count: 13)),
        Row(name: "stopped by the caller", makeMachine: { ended(started()) }, verdicts: String(repeating: "drop ", count: 13)),
        Row(
            name: "stopped by the returned flow", makeMachine: { after(after(started(), .response, .keepGoing), .data, .stopped) },
            verdicts: "drop late-FLOW-06 drop late-FLOW-06 late-FLOW-06 drop drop drop drop drop drop drop drop"),
        Row(
            name: "stopped, and stopLoading() has returned", makeMachine: { stopReturned(ended(started())) },
            verdicts: String(repeating: "late-CANCEL-01 ", count: 13)),
        Row(
            name: "an event is being delivered", makeMachine: { delivering(started()) }, verdicts: String(repeating: "drop ", count: 13)),
    ]

    @Test(arguments: rows)
    func verdictOfEachEventMatchesTheTable(_ row: Row) {
        let verdicts = row.verdicts.split(separator: " ").map(String.init)
        #expect(verdicts.count == Self.columns.count)
        for (event, expected) in zip(Self.columns, verdicts) {
            var machine = row.makeMachine()
            let verdict = machine.begin(event, rules: EventStateMachine.Rules(offersCachedResponse: true))
            #expect(Self.text(verdict) == expected, "\(event) while \(row.name)")
        }
    }

    @Test func tableCoversEveryEventAndPhase() {
        #expect(Self.columns.count == EventStateMachine.Event.allCases.count)
        #expect(Set(Self.rows.map { $0.makeMachine().phase }) == Set(EventStateMachine.Phase.allCases))
    }

    /// Checks the calls of the core in every state: start, resume, decline and follow a redirect, and end.
    @Test(arguments: rows)
    func coreCallsReturnTheExpectedResultInEveryState(_ row: Row) {
        let machine = row.makeMachine()
        let isDelivering = machine.flags.contains(.delivering)
        /// The result of a call on a copy of the machine.
        func result<Result>(_ change: (inout EventStateMachine) -> Result) -> Result {
            var machine = machine
            return change(&machine)
        }
        #expect(result { $0.start() } == (machine.phase == .loadMade))
        #expect(result { $0.followRedirect() } == !machine.isOver)
        #expect(result { $0.declineRedirect() } == (machine.phase == .decidingRedirect))
        #expect(result { $0.resume() } == (row.name == "receiving the body, paused"))
        let expectedAction: EventStateMachine.EndAction =
            machine.phase == .redirected ? .redirected : machine.isOver ? .none : isDelivering ? .reportLater : .reportNow
        #expect(result { $0.end() } == expectedAction)
        // A suspend and an unsuspend leave the state unchanged, because the machine returned no pause between them.
        let (mustResume, unsuspendedMachine) = result { machine -> (Bool, EventStateMachine) in
            machine.suspend()
            return (machine.unsuspend(), machine)
        }
        #expect(mustResume == false)
        #expect(unsuspendedMachine == machine)
        // No call changes whether the load is over.
        for change in [{ _ = $0.resume() }, { _ = $0.declineRedirect() }, { _ = $0.unsuspend() }, { $0.loadWasMade() }]
            as [(inout EventStateMachine) -> Void]
        {
            #expect(
                result { machine in
                    change(&machine)
                    return machine.isOver
                } == machine.isOver)
        }
    }

    // MARK: Rules that depend on the traits of the handler

    @Test func secondResponseIsAllowedIfMultipartIsDeclared() {
        var machine = Self.after(Self.started(), .response, .keepGoing)
        let result = machine.begin(.response, rules: EventStateMachine.Rules(allowsParts: true))
        #expect(result == .deliver)
    }

    @Test func cacheConfirmationWithoutOfferIsAViolation() {
        var machine = Self.started()
        let result = machine.begin(.confirmation, rules: EventStateMachine.Rules()) == .violation(.confirmsOnlyWhatWasOffered)
        #expect(result)
    }

    /// When such a load is stopped, it can be about to call the client (``ProtocolLoad/stopsAsynchronously``).
    @Test("If a load stops asynchronously, its first event after the stop is no violation")
    func firstEventAfterAnAsynchronousStopIsDropped() {
        let rules = EventStateMachine.Rules()
        var machine = Self.ended(Self.after(Self.started(), .response, .keepGoing))
        let first = machine.begin(.data, rules: rules)
        #expect(first == .drop)
        let second = machine.begin(.data, rules: rules) == .lateViolation(.stoppedIsLast)
        #expect(second)
    }

    // MARK: Overlap, ends and pauses during a delivery

    @Test func overlappingEventIsReportedAtTheEndOfTheRunningDelivery() {
        var machine = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = machine.begin(.data, rules: EventStateMachine.Rules())
        #expect(first == .drop)
        let second = machine.endDelivery(of: .data, flow: .keepGoing) == .mustReportEnd(.eventsAreSerial)
        #expect(second)
        #expect(machine.isOver)
    }

    @Test func endDuringADeliveryIsReportedAfterTheDelivery() {
        var machine = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = machine.end()
        #expect(first == .reportLater)
        let second = machine.end()
        #expect(second == .none)
        let third = machine.endDelivery(of: .data, flow: .keepGoing) == .mustReportEnd(nil)
        #expect(third)
    }

    @Test func endDuringTheFinishDeliveryHasNoEffect() {
        var machine = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .finish)
        let first = machine.end()
        #expect(first == .none)
        let second = machine.endDelivery(of: .finish, flow: .keepGoing)
        #expect(second == .ended)
    }

    @Test func resumeBeforeThePauseReturnsCancelsThePause() {
        var machine = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = machine.resume()
        #expect(first == false)
        let second = machine.endDelivery(of: .data, flow: .pause) == .flow(.keepGoing)
        #expect(second)
    }

    @Test func onlyTheFirstResumeAfterAPauseReachesTheLoad() {
        var machine = Self.after(Self.started(), .response, .pause)
        let first = machine.resume()
        #expect(first)
        let second = machine.resume()
        #expect(second == false)
        let third = machine.begin(.data, rules: EventStateMachine.Rules())
        #expect(third == .deliver)
    }

    @Test func suspendedLoadStaysPausedUntilUnsuspended() {
        var machine = Self.started()
        machine.suspend()
        let first = machine.begin(.response, rules: EventStateMachine.Rules())
        #expect(first == .deliver)
        let second = machine.endDelivery(of: .response, flow: .pause) == .flow(.pause)
        #expect(second)
        let third = machine.resume()
        #expect(third == false)
        let fourth = machine.unsuspend()
        #expect(fourth)
    }

    @Test func redirectFollowedDuringItsDeliveryStopsTheLoad() {
        var machine = Self.delivering(Self.started(), .redirect)
        let first = machine.followRedirect()
        #expect(first)
        let second = machine.endDelivery(of: .redirect, flow: .pause)
        #expect(second == .ended)
        let third = machine.begin(.response, rules: EventStateMachine.Rules()) == .lateViolation(.nothingAfterRedirect)
        #expect(third)
    }

    @Test func endedLoadIsNeitherStartedNorResumed() {
        var machine = Self.ended(Self.made())
        let first = machine.start()
        #expect(first == false)
        let second = machine.resume()
        #expect(second == false)
        let third = machine.followRedirect()
        #expect(third == false)
    }

    // MARK: The atomic representation

    @Test func everyStateRoundTripsThroughItsAtomicRepresentation() {
        for row in Self.rows {
            let machine = row.makeMachine()
            let encoded = EventStateMachine.encodeAtomicRepresentation(machine)
            #expect(EventStateMachine.decodeAtomicRepresentation(encoded) == machine)
        }
    }

    // MARK: State machines in a state

    static func made() -> EventStateMachine {
        var machine = EventStateMachine()
        machine.loadWasMade()
        return machine
    }

    static func started() -> EventStateMachine {
        var machine = made()
        _ = machine.start()
        return machine
    }

    /// The machine during the delivery of the event.
    static func delivering(_ machine: EventStateMachine, _ event: EventStateMachine.Event = .step) -> EventStateMachine {
        var machine = machine
        _ = machine.begin(event, rules: EventStateMachine.Rules(offersCachedResponse: true))
        return machine
    }

    /// The machine after the delivery of the event, which returned `flow`.
    static func after(_ machine: EventStateMachine, _ event: EventStateMachine.Event, _ flow: Flow) -> EventStateMachine {
        var machine = delivering(machine, event)
        _ = machine.endDelivery(of: event, flow: flow)
        return machine
    }

    static func resumed(_ machine: EventStateMachine) -> EventStateMachine {
        var machine = machine
        _ = machine.resume()
        return machine
    }

    static func declined(_ machine: EventStateMachine) -> EventStateMachine {
        var machine = machine
        _ = machine.declineRedirect()
        return machine
    }

    static func ended(_ machine: EventStateMachine) -> EventStateMachine {
        var machine = machine
        _ = machine.end()
        return machine
    }

    static func stopReturned(_ machine: EventStateMachine) -> EventStateMachine {
        var machine = machine
        machine.stopLoadingHasReturned()
        return machine
    }

    static func text(_ verdict: EventStateMachine.Verdict) -> String {
        switch verdict {
        case .deliver: "·"
        case .drop: "drop"
        case .violation(let rule): rule.id
        case .lateViolation(let rule): "late-\(rule.id)"
        }
    }
}
