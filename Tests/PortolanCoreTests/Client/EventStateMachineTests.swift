// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

/// Checks every event in every state against a table that was written from the contract, not from the machine.
@Suite struct EventStateMachineTests {
    /// One row per state: how to reach it, and the result of each event. `·` means that the event passes, a rule's ID
    /// is a violation, `late ID` is a violation that can only be reported, `drop` means that the event is dropped. The
    /// columns are ``Self/columns``.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let path: @Sendable () -> EventStateMachine
        let cells: String
        var testDescription: String { name }
    }

    static let columns: [EventStateMachine.Event] = [
        .interim, .redirect, .confirmation, .response, .data, .trailers, .finish, .failure, .challenge, .challengeWithdrawn, .sent, .step,
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
            var order = row.path()
            let verdict = order.begin(event, rules: EventStateMachine.Rules(offersCached: true))
            #expect(Self.text(verdict) == expected, "\(event) while \(row.name)")
        }
    }

    @Test func tableCoversEveryEventAndPhase() {
        #expect(Self.columns.count == EventStateMachine.Event.allCases.count)
        #expect(Set(Self.rows.map { $0.path().phase }) == Set(EventStateMachine.Phase.allCases))
    }

    /// Checks the calls of the core in every state: start, resume, decline and take a redirect, and end.
    @Test(arguments: rows)
    func coreCallsReturnTheExpectedResultInEveryState(_ row: Row) {
        let order = row.path()
        let isDelivering = order.flags.contains(.delivering)
        func after<Result>(_ change: (inout EventStateMachine) -> Result) -> Result {
            var order = order
            return change(&order)
        }
        #expect(after { $0.start() } == (order.phase == .made))
        #expect(after { $0.takeRedirect() } == !order.isOver)
        #expect(after { $0.declineRedirect() } == (order.phase == .deciding))
        #expect(after { $0.resume() } == (row.name == "receiving, paused"))
        let end: EventStateMachine.End = order.phase == .redirected ? .redirected : order.isOver ? .nothing : isDelivering ? .later : .now
        #expect(after { $0.end() } == end)
        // Suspending and unsuspending leaves the state unchanged, because the machine did not return a pause meanwhile.
        let unsuspended = after { order -> (Bool, EventStateMachine) in
            order.suspend()
            return (order.unsuspend(), order)
        }
        #expect(unsuspended.0 == false)
        #expect(unsuspended.1 == order)
        // No call changes whether the load is over.
        for change in [{ _ = $0.resume() }, { _ = $0.declineRedirect() }, { _ = $0.unsuspend() }, { $0.made() }]
            as [(inout EventStateMachine) -> Void]
        {
            #expect(
                after { order in
                    change(&order)
                    return order.isOver
                } == order.isOver)
        }
    }

    // MARK: What the handler declares

    @Test func secondResponseIsAllowedIfMultipartIsDeclared() {
        var order = Self.after(Self.started(), .response, .keepGoing)
        let result = order.begin(.response, rules: EventStateMachine.Rules(allowsParts: true))
        #expect(result == .deliver)
    }

    @Test func cacheConfirmationWithoutOfferIsAViolation() {
        var order = Self.started()
        let result = order.begin(.confirmation, rules: EventStateMachine.Rules()) == .violation(.confirmsOnlyWhatWasOffered)
        #expect(result)
    }

    /// A load may be about to call the client when it is stopped (``ProtocolLoad/stopsInTurn``). The first call after
    /// the stop is therefore no violation.
    @Test func loadThatStopsInTurnMaySendOneEventAfterItsStop() {
        let rules = EventStateMachine.Rules()
        var order = Self.ended(Self.after(Self.started(), .response, .keepGoing))
        let first = order.begin(.data, rules: rules)
        #expect(first == .drop)
        let second = order.begin(.data, rules: rules) == .lateViolation(.stoppedIsLast)
        #expect(second)
    }

    // MARK: Overlap, ends and pauses during a delivery

    @Test func overlappingEventIsReportedByTheRunningDelivery() {
        var order = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = order.begin(.data, rules: EventStateMachine.Rules())
        #expect(first == .drop)
        let second = order.endDelivery(of: .data, flow: .keepGoing) == .report(.eventsAreSerial)
        #expect(second)
        #expect(order.isOver)
    }

    @Test func endDuringADeliveryIsReportedAfterTheDelivery() {
        var order = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = order.end()
        #expect(first == .later)
        let second = order.end()
        #expect(second == .nothing)
        let third = order.endDelivery(of: .data, flow: .keepGoing) == .report(nil)
        #expect(third)
    }

    @Test func endDuringTheFinishDeliveryHasNoEffect() {
        var order = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .finish)
        let first = order.end()
        #expect(first == .nothing)
        let second = order.endDelivery(of: .finish, flow: .keepGoing)
        #expect(second == .over)
    }

    @Test func resumeBeforeThePauseReturnsCancelsThePause() {
        var order = Self.delivering(Self.after(Self.started(), .response, .keepGoing), .data)
        let first = order.resume()
        #expect(first == false)
        let second = order.endDelivery(of: .data, flow: .pause) == .flow(.keepGoing)
        #expect(second)
    }

    @Test func aResumeAfterAPauseReachesTheLoadOnce() {
        var order = Self.after(Self.started(), .response, .pause)
        let first = order.resume()
        #expect(first)
        let second = order.resume()
        #expect(second == false)
        let third = order.begin(.data, rules: EventStateMachine.Rules())
        #expect(third == .deliver)
    }

    @Test func suspendedLoadStaysPausedUntilUnsuspended() {
        var order = Self.started()
        order.suspend()
        let first = order.begin(.response, rules: EventStateMachine.Rules())
        #expect(first == .deliver)
        let second = order.endDelivery(of: .response, flow: .pause) == .flow(.pause)
        #expect(second)
        let third = order.resume()
        #expect(third == false)
        let fourth = order.unsuspend()
        #expect(fourth)
    }

    @Test func redirectFollowedDuringItsDeliveryStopsTheLoad() {
        var order = Self.delivering(Self.started(), .redirect)
        let first = order.takeRedirect()
        #expect(first)
        let second = order.endDelivery(of: .redirect, flow: .pause)
        #expect(second == .over)
        let third = order.begin(.response, rules: EventStateMachine.Rules()) == .lateViolation(.nothingAfterRedirect)
        #expect(third)
    }

    @Test func endedLoadIsNeitherStartedNorResumed() {
        var order = Self.ended(Self.made())
        let first = order.start()
        #expect(first == false)
        let second = order.resume()
        #expect(second == false)
        let third = order.takeRedirect()
        #expect(third == false)
    }

    // MARK: The atomic form

    @Test func everyStateRoundTripsThroughItsAtomicRepresentation() {
        for row in Self.rows {
            let order = row.path()
            let encoded = EventStateMachine.encodeAtomicRepresentation(order)
            #expect(EventStateMachine.decodeAtomicRepresentation(encoded) == order)
        }
    }

    // MARK: Paths

    static func made() -> EventStateMachine {
        var order = EventStateMachine()
        order.made()
        return order
    }

    static func started() -> EventStateMachine {
        var order = made()
        _ = order.start()
        return order
    }

    static func delivering(_ order: EventStateMachine, _ event: EventStateMachine.Event = .step) -> EventStateMachine {
        var order = order
        _ = order.begin(event, rules: EventStateMachine.Rules(offersCached: true))
        return order
    }

    static func after(_ order: EventStateMachine, _ event: EventStateMachine.Event, _ answer: Flow) -> EventStateMachine {
        var order = delivering(order, event)
        _ = order.endDelivery(of: event, flow: answer)
        return order
    }

    static func resumed(_ order: EventStateMachine) -> EventStateMachine {
        var order = order
        _ = order.resume()
        return order
    }

    static func declined(_ order: EventStateMachine) -> EventStateMachine {
        var order = order
        _ = order.declineRedirect()
        return order
    }

    static func ended(_ order: EventStateMachine) -> EventStateMachine {
        var order = order
        _ = order.end()
        return order
    }

    static func stopReturned(_ order: EventStateMachine) -> EventStateMachine {
        var order = order
        order.stopReturned()
        return order
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
