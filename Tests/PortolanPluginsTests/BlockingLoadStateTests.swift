// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

/// Explores every order of calls to a blocking load until its end.
@Suite(.timeLimit(.minutes(2))) struct BlockingLoadStateTests {
    /// The state machine, and the calls into the plugin that were made.
    struct Model: Hashable {
        var state = BlockingLoadState()
        var runs = 0
        var stops = 0
        var stopsRunning = 0
        var destroys = 0
        /// Whether the load knows that it has ended. `stop` must then not be called.
        var knewEnd = false
        var hasThread = false
        var isInWait = false
        var violation: String?
    }

    enum Step: CaseIterable {
        case start, startRunning, stopOnOtherThread, stopOnLoadThread, reportEnd, beginWait, endWait, clientReturns, stopReturns, runReturns
        case checkDestroy
    }

    /// Returns the model after `step`. `nil` if the step cannot occur.
    static func model(after step: Step, in model: Model) -> Model? {
        var next = model
        let isRunning = model.state.phase == .running
        switch step {
        case .start:
            guard model.state.phase == .created || model.state.phase == .destroyed, !model.hasThread else { return nil }
            next.hasThread = next.state.start()
        case .startRunning:
            guard model.hasThread, model.runs == 0, model.state.phase == .queued || model.state.phase == .destroyed else { return nil }
            if next.state.beginRunning() { next.runs += 1 } else { next.hasThread = false }
        case .stopOnOtherThread:
            perform(next.state.stop(onLoadThread: false), &next)
        case .stopOnLoadThread:
            guard isRunning, !model.isInWait else { return nil }
            perform(next.state.stop(onLoadThread: true), &next)
        case .reportEnd:
            guard isRunning, !model.isInWait else { return nil }
            next.state.recordEnd()
            next.knewEnd = true
        case .beginWait:
            guard isRunning, !model.isInWait, !model.knewEnd else { return nil }
            next.state.beginWait()
            next.isInWait = true
        case .endWait:
            guard model.isInWait else { return nil }
            next.state.endWait()
            next.isInWait = false
            if next.state.isStopped {
                next.state.recordEnd()
                next.knewEnd = true
            }
        case .clientReturns:
            guard isRunning, !model.isInWait else { return nil }
            if next.state.takePendingStop() { callStop(&next) }
        case .stopReturns:
            guard model.stopsRunning > 0 else { return nil }
            next.state.stopDidReturn()
            next.stopsRunning -= 1
        case .runReturns:
            guard isRunning, !model.isInWait else { return nil }
            _ = next.state.runDidReturn()
        case .checkDestroy:
            guard model.state.phase == .returned else { return nil }
            if next.state.destroy() { destroy(&next) }
        }
        return next
    }

    private static func perform(_ action: BlockingLoadState.StopAction, _ model: inout Model) {
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
        var visited: Set<Model> = [Model()]
        var open = [Model()]
        while let model = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.model(after: step, in: model), visited.insert(next).inserted else { continue }
                #expect(next.violation == nil, "\(step) after \(model)")
                #expect(next.runs <= 1 && next.stops <= 1 && next.destroys <= 1, "\(step) after \(model)")
                #expect(next.state.phase != .destroyed || next.destroys == 1, "\(step) after \(model)")
                open.append(next)
            }
        }
        #expect(visited.count > 25)
    }

    /// From every state, `destroy` follows when the threads run to their end.
    @Test func destroyIsAlwaysCalled() {
        var visited: Set<Model> = [Model()]
        var open = [Model()]
        while let model = open.popLast() {
            for step in Step.allCases {
                guard let next = Self.model(after: step, in: model), visited.insert(next).inserted else { continue }
                open.append(next)
            }
        }
        for model in visited {
            var end = model
            for step in [Step.stopOnOtherThread, .startRunning, .endWait, .runReturns, .stopReturns, .checkDestroy] {
                end = Self.model(after: step, in: end) ?? end
            }
            #expect(end.destroys == 1, "\(model)")
        }
    }

    private static func running() -> BlockingLoadState {
        var state = BlockingLoadState()
        _ = state.start()
        _ = state.beginRunning()
        return state
    }

    @Test func runThatReturnsWithoutAnEndIsAViolation() {
        var state = Self.running()
        let isEndMissing = state.runDidReturn()
        #expect(isEndMissing)
    }

    @Test(arguments: [true, false])
    func runMayReturnAfterItsEndOrAStop(_ isStopped: Bool) {
        var state = Self.running()
        if isStopped { _ = state.stop(onLoadThread: false) } else { state.recordEnd() }
        let isEndMissing = state.runDidReturn()
        #expect(!isEndMissing)
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
