// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

/// Checks every event in every state against a table. The table was written from the contract, not from the code.
@Suite struct EventStateMachineTests {
    /// One row per state: how to reach it, and the verdict on each event of ``Self/columns``.
    ///
    /// `·` means that the event is delivered, and `drop` that it is dropped. A rule's ID is a violation. `late-` and an
    /// ID is a violation that can only be reported.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let path: @Sendable () -> EventStateMachine
        let cells: String
        var testDescription: String { name }
    }

    static let columns: [EventStateMachine.Event] = [
        .interim, .redirect, .confirmation, .response, .data, .trailers, .finish, .failure, .challenge, .challengeCancelled, .sent, .step,
        .newBody,
    ]

    static let rows: [Row] = [
        Row(name: "making", path: { EventStateMachine() }, cells: String(repeating: "LIFE-01 ", count: 13)),
        Row(name: "made", path: { made() }, cells: String(repeating: "LIFE-04 ", count: 13)),
        Row(
            name: "awaiting a response", path: { started() },
            cells: "· · · · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "a redirect is being decided", path: { after(started(), .redirect, .pause) },
            cells: "FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-07 · · · · · ·"),
        Row(
            name: "a redirect was declined", path: { after(started(), .redirect, .keepGoing) },
            cells: "ORDER-04 ORDER-04 ORDER-04 · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "a redirect was declined late", path: { declined(after(started(), .redirect, .pause)) },
            cells: "ORDER-04 ORDER-04 ORDER-04 · ORDER-01 ORDER-01 ORDER-01 · · · · · ·"),
        Row(
            name: "confirmed", path: { after(started(), .confirmation, .keepGoing) },
            cells: "ORDER-13 ORDER-13 ORDER-13 CACHE-02 CACHE-03 CACHE-03 · · ORDER-13 · · · ORDER-13"),
        Row(
            name: "receiving", path: { after(started(), .response, .keepGoing) },
            cells: "ORDER-13 ORDER-13 CACHE-02 ORDER-08 · · · · · · · · ·"),
        Row(
            name: "receiving, paused", path: { after(started(), .response, .pause) },
            cells: "FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-01 FLOW-07 · · · · · ·"),
        Row(
            name: "trailing", path: { after(after(started(), .response, .keepGoing), .trailers, .keepGoing) },
            cells: "ORDER-13 ORDER-13 CACHE-02 ORDER-13 ORDER-13 ORDER-13 · · ORDER-13 · · · ORDER-13"),
        Row(
            name: "finished", path: { after(after(started(), .response, .keepGoing), .finish, .keepGoing) },
            cells: """
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-02 late-ORDER-02 \
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03
                """),
        Row(
            name: "failed", path: { after(started(), .failure, .keepGoing) },
            cells: """
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-02 late-ORDER-02 \
                late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03 late-ORDER-03
                """),
        Row(
            name: "redirected", path: { after(started(), .redirect, .stopped) },
            cells: String(repeating: "late-ORDER-04 ", count: 13)),
        Row(name: "stopped by the caller", path: { ended(started()) }, cells: String(repeating: "drop ", count: 13)),
        Row(
            name: "stopped by the returned flow", path: { after(after(started(), .response, .keepGoing), .data, .stopped) },
            cells: "drop late-FLOW-06 drop late-FLOW-06 late-FLOW-06 drop drop drop drop drop drop drop drop"),
        Row(
            name: "stopped, and stopLoading has returned", path: { stopReturned(ended(started())) },
            cells: String(repeating: "late-CANCEL-01 ", count: 13)),
        Row(
            name: "an event is being delivered", path: { delivering(started()) }, cells: String(repeating: "drop ", count: 13)),
    ]

    @Test(arguments: rows)
    func verdictOfEachEventMatchesTheTable(_ row: Row) {
        let cells = row.cells.split(separator: " ").map(String.init)
        #expect(cells.count == Self.columns.count)
        for (event, expected) in zip(Self.columns, cells) {
            var machine = row.path()
            let verdict = machine.begin(event, rules: EventStateMachine.Rules(offersCachedResponse: true))
            #expect(Self.text(verdict) == expected, "\(event) while \(row.name)")
        }
    }

    @Test func tableCoversEveryEventAndPhase() {
        #expect(Self.columns.count == EventStateMachine.Event.allCases.count)
        #expect(Set(Self.rows.map { $0.path().phase }) == Set(EventStateMachine.Phase.allCases))
    }

    /// Checks the calls of the core in every state: start, resume, decline and follow a redirect, and end.
    @Test(arguments: rows)
    func coreCallsReturnTheExpectedResultInEveryState(_ row: Row) {
        let machine = row.path()
        let isDelivering = machine.flags.contains(.delivering)
        func after<Result>(_ change: (inout EventStateMachine) -> Result) -> Result {
            var machine = machine
            return change(&machine)
        }
        #expect(after { $0.start() } == (machine.phase == .loadMade))
        #expect(after { $0.followRedirect() } == !machine.isOver)
        #expect(after { $0.declineRedirect() } == (machine.phase == .decidingRedirect))
        #expect(after { $0.resume() } == (row.name == "receiving, paused"))
        let end: EventStateMachine.EndAction =
            machine.phase == .redirected ? .redirected : machine.isOver ? .none : isDelivering ? .reportLater : .reportNow
        #expect(after { $0.end() } == end)
        // To suspend and unsuspend leaves the state unchanged, because the machine did not return a pause meanwhile.
        let unsuspended = after { machine -> (Bool, EventStateMachine) in
            machine.suspend()
            return (machine.unsuspend(), machine)
        }
        #expect(unsuspended.0 == false)
        #expect(unsuspended.1 == machine)
        // No call changes whether the load is over.
        for change in [{ _ = $0.resume() }, { _ = $0.declineRedirect() }, { _ = $0.unsuspend() }, { $0.loadWasMade() }]
            as [(inout EventStateMachine) -> Void]
        {
            #expect(
                after { machine in
                    change(&machine)
                    return machine.isOver
                } == machine.isOver)
        }
    }

    // MARK: What the handler declares

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

    /// Such a load can be about to call the client when it is stopped (``ProtocolLoad/stopsAsynchronously``).
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

    @Test func overlappingEventIsReportedByTheRunningDelivery() {
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

    @Test func aResumeAfterAPauseReachesTheLoadOnce() {
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

    // MARK: The atomic form

    @Test func everyStateRoundTripsThroughItsAtomicRepresentation() {
        for row in Self.rows {
            let machine = row.path()
            let encoded = EventStateMachine.encodeAtomicRepresentation(machine)
            #expect(EventStateMachine.decodeAtomicRepresentation(encoded) == machine)
        }
    }

    // MARK: Paths

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

    static func delivering(_ machine: EventStateMachine, _ event: EventStateMachine.Event = .step) -> EventStateMachine {
        var machine = machine
        _ = machine.begin(event, rules: EventStateMachine.Rules(offersCachedResponse: true))
        return machine
    }

    static func after(_ machine: EventStateMachine, _ event: EventStateMachine.Event, _ answer: Flow) -> EventStateMachine {
        var machine = delivering(machine, event)
        _ = machine.endDelivery(of: event, flow: answer)
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
