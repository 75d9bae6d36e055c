// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

/// Explores every order of calls to a blocking load until its end.
@Suite(.timeLimit(.minutes(2))) struct BlockingLoadStateTests {
    /// The state machine and the calls into the plugin so far.
    struct Model: Hashable {
        var state = BlockingLoadState()
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

    /// The model after `step`, or `nil` if the step can't occur.
    static func after(_ step: Step, _ model: Model) -> Model? {
        var next = model
        let runs = model.state.phase == .running
        switch step {
        case .start:
            guard model.state.phase == .made || model.state.phase == .destroyed, !model.hasThread else { return nil }
            next.hasThread = next.state.start()
        case .threadArrives:
            guard model.hasThread, model.runs == 0, model.state.phase == .queued || model.state.phase == .destroyed else { return nil }
            if next.state.enter() { next.runs += 1 } else { next.hasThread = false }
        case .stopElsewhere:
            note(next.state.stop(onLoadThread: false), &next)
        case .stopOnLoadThread:
            guard runs, !model.isInWait else { return nil }
            note(next.state.stop(onLoadThread: true), &next)
        case .noteEnd:
            guard runs, !model.isInWait else { return nil }
            next.state.noteEnd()
            next.knewEnd = true
        case .beginWait:
            guard runs, !model.isInWait, !model.knewEnd else { return nil }
            next.state.beginWait()
            next.isInWait = true
        case .endWait:
            guard model.isInWait else { return nil }
            next.state.endWait()
            next.isInWait = false
            if next.state.isStopped {
                next.state.noteEnd()
                next.knewEnd = true
            }
        case .clientReturns:
            guard runs, !model.isInWait else { return nil }
            if next.state.takeOwedStop() { callStop(&next) }
        case .stopReturns:
            guard model.stopsRunning > 0 else { return nil }
            next.state.stopReturned()
            next.stopsRunning -= 1
        case .runReturns:
            guard runs, !model.isInWait else { return nil }
            _ = next.state.leave()
        case .threadLooksWhetherToDestroy:
            guard model.state.phase == .returned else { return nil }
            if next.state.destroy() { destroy(&next) }
        }
        return next
    }

    private static func note(_ action: BlockingLoadState.StopAction, _ model: inout Model) {
        switch action {
        case .nothing: break
        case .callStop: callStop(&model)
        case .destroy: destroy(&model)
        }
    }

    private static func callStop(_ model: inout Model) {
        if model.runs == 0 { model.violation = "stop before run" }
        if model.knewEnd { model.violation = "stop after the end" }
        if model.destroys > 0 { model.violation = "stop after destroy" }
        model.stops += 1
        model.stopsRunning += 1
    }

    private static func destroy(_ model: inout Model) {
        if model.stopsRunning > 0 { model.violation = "destroy while stop runs" }
        if model.state.phase == .running { model.violation = "destroy while run runs" }
        model.destroys += 1
    }

    @Test func everyOrderOfCallsKeepsTheContract() {
        var seen: Set<Model> = [Model()]
        var open = [Model()]
        while let model = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.after(step, model), seen.insert(next).inserted else { continue }
                #expect(next.violation == nil, "\(step) after \(model)")
                #expect(next.runs <= 1 && next.stops <= 1 && next.destroys <= 1, "\(step) after \(model)")
                #expect(next.state.phase != .destroyed || next.destroys == 1, "\(step) after \(model)")
                open.append(next)
            }
        }
        #expect(seen.count > 25)
    }

    /// From every state, `destroy` follows when the threads run to their end.
    @Test func destroyIsAlwaysCalled() {
        var seen: Set<Model> = [Model()]
        var open = [Model()]
        while let model = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.after(step, model), seen.insert(next).inserted else { continue }
                open.append(next)
            }
        }
        for model in seen {
            var end = model
            for step in [Step.stopElsewhere, .threadArrives, .endWait, .runReturns, .stopReturns, .threadLooksWhetherToDestroy] {
                end = Self.after(step, end) ?? end
            }
            #expect(end.destroys == 1, "\(model)")
        }
    }

    private static func running() -> BlockingLoadState {
        var state = BlockingLoadState()
        _ = state.start()
        _ = state.enter()
        return state
    }

    @Test func runThatReturnsWithoutAnEndStillNeedsOne() {
        var state = Self.running()
        let owesEnd = state.leave()
        #expect(owesEnd)
    }

    @Test(arguments: [true, false])
    func endedOrStoppedRunNeedsNoFurtherEnd(_ isStopped: Bool) {
        var state = Self.running()
        if isStopped { _ = state.stop(onLoadThread: false) } else { state.noteEnd() }
        let owesEnd = state.leave()
        #expect(!owesEnd)
    }

    @Test func waitingLoadLearnsOfTheEndWithoutAStopCall() {
        var state = Self.running()
        state.beginWait()
        let action = state.stop(onLoadThread: false)
        state.endWait()
        #expect(action == .nothing)
        #expect(state.knowsEnd)
    }
}
