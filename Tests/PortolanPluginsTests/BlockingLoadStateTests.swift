// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

/// Explores every order of calls to a blocking load until its end.
@Suite(.timeLimit(.minutes(2))) struct BlockingLifeTests {
    /// The state machine and the calls into the plugin so far.
    struct World: Hashable {
        var life = BlockingLoadState()
        var runs = 0
        var stops = 0
        var stopsRunning = 0
        var destroys = 0
        /// The load was notified of the end, or has ended: `stop` must not begin any more.
        var knewEnd = false
        var hasThread = false
        var isInWait = false
        var violation: String?
    }

    enum Step: CaseIterable {
        case start, threadArrives, stopElsewhere, stopOnLoadThread, noteEnd, beginWait, endWait, clientReturns, stopReturns, runReturns
        case threadLooksWhetherToDestroy
    }

    /// The world after `step`, or `nil` if the step can't occur.
    static func after(_ step: Step, _ world: World) -> World? {
        var next = world
        let runs = world.life.phase == .running
        switch step {
        case .start:
            guard world.life.phase == .made || world.life.phase == .destroyed, !world.hasThread else { return nil }
            next.hasThread = next.life.start()
        case .threadArrives:
            guard world.hasThread, world.runs == 0, world.life.phase == .queued || world.life.phase == .destroyed else { return nil }
            if next.life.enter() { next.runs += 1 } else { next.hasThread = false }
        case .stopElsewhere:
            note(next.life.stop(onLoadThread: false), &next)
        case .stopOnLoadThread:
            guard runs, !world.isInWait else { return nil }
            note(next.life.stop(onLoadThread: true), &next)
        case .noteEnd:
            guard runs, !world.isInWait else { return nil }
            next.life.noteEnd()
            next.knewEnd = true
        case .beginWait:
            guard runs, !world.isInWait, !world.knewEnd else { return nil }
            next.life.beginWait()
            next.isInWait = true
        case .endWait:
            guard world.isInWait else { return nil }
            next.life.endWait()
            next.isInWait = false
            if next.life.isStopped {
                next.life.noteEnd()
                next.knewEnd = true
            }
        case .clientReturns:
            guard runs, !world.isInWait else { return nil }
            if next.life.takeOwedStop() { callStop(&next) }
        case .stopReturns:
            guard world.stopsRunning > 0 else { return nil }
            next.life.stopReturned()
            next.stopsRunning -= 1
        case .runReturns:
            guard runs, !world.isInWait else { return nil }
            _ = next.life.leave()
        case .threadLooksWhetherToDestroy:
            guard world.life.phase == .returned else { return nil }
            if next.life.destroy() { destroy(&next) }
        }
        return next
    }

    private static func note(_ action: BlockingLoadState.StopAction, _ world: inout World) {
        switch action {
        case .nothing: break
        case .callStop: callStop(&world)
        case .destroy: destroy(&world)
        }
    }

    private static func callStop(_ world: inout World) {
        if world.runs == 0 { world.violation = "stop before run" }
        if world.knewEnd { world.violation = "stop after the end" }
        if world.destroys > 0 { world.violation = "stop after destroy" }
        world.stops += 1
        world.stopsRunning += 1
    }

    private static func destroy(_ world: inout World) {
        if world.stopsRunning > 0 { world.violation = "destroy while stop runs" }
        if world.life.phase == .running { world.violation = "destroy while run runs" }
        world.destroys += 1
    }

    @Test func noOrderOfCallsBreaksTheContract() {
        var seen: Set<World> = [World()]
        var open = [World()]
        while let world = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.after(step, world), seen.insert(next).inserted else { continue }
                #expect(next.violation == nil, "\(step) after \(world)")
                #expect(next.runs <= 1 && next.stops <= 1 && next.destroys <= 1, "\(step) after \(world)")
                #expect(next.life.phase != .destroyed || next.destroys == 1, "\(step) after \(world)")
                open.append(next)
            }
        }
        #expect(seen.count > 25)
    }

    /// From every state, `destroy` follows when the threads run to their end.
    @Test func destroyAlwaysComes() {
        var seen: Set<World> = [World()]
        var open = [World()]
        while let world = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.after(step, world), seen.insert(next).inserted else { continue }
                open.append(next)
            }
        }
        for world in seen {
            var end = world
            for step in [Step.stopElsewhere, .threadArrives, .endWait, .runReturns, .stopReturns, .threadLooksWhetherToDestroy] {
                end = Self.after(step, end) ?? end
            }
            #expect(end.destroys == 1, "\(world)")
        }
    }

    private static func running() -> BlockingLoadState {
        var life = BlockingLoadState()
        _ = life.start()
        _ = life.enter()
        return life
    }

    @Test func runThatReturnsWithoutAnEndOwesIt() {
        var life = Self.running()
        let owesEnd = life.leave()
        #expect(owesEnd)
    }

    @Test(arguments: [true, false])
    func runThatEndedOrWasStoppedOwesNothing(_ isStopped: Bool) {
        var life = Self.running()
        if isStopped { _ = life.stop(onLoadThread: false) } else { life.noteEnd() }
        let owesEnd = life.leave()
        #expect(!owesEnd)
    }

    @Test func aLoadThatWaitsIsToldAndNotStopped() {
        var life = Self.running()
        life.beginWait()
        let action = life.stop(onLoadThread: false)
        life.endWait()
        #expect(action == .nothing)
        #expect(life.knowsEnd)
    }
}
