// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

/// Explores every order of calls to a blocking load until its end.
@Suite(.timeLimit(.minutes(2))) struct BlockingLoadStateTests {
    /// The state machine under test. The model also counts the calls of each plugin function.
    struct Model: Hashable {
        var state = BlockingLoadState()
        var runCount = 0
        var stopCount = 0
        var activeStopCount = 0
        var destroyCount = 0
        /// Whether the plugin has reported the end, or a client call has returned PORTOLAN_STOPPED. The host must then
        /// not call `stop`.
        var pluginKnowsEnd = false
        var hasThread = false
        var isWaiting = false
        var violation: String?
    }

    enum Step: CaseIterable {
        case start, beginRunning, stopOnOtherThread, stopOnLoadThread, reportEnd, beginWait, endWait, clientCallReturns
        case stopReturns, runReturns, destroy
    }

    /// Returns the model after `step`. Returns `nil` if the step cannot occur.
    static func model(after step: Step, in model: Model) -> Model? {
        var nextModel = model
        let isRunning = model.state.phase == .running
        switch step {
        case .start:
            guard model.state.phase == .created || model.state.phase == .destroyed, !model.hasThread else { return nil }
            nextModel.hasThread = nextModel.state.start()
        case .beginRunning:
            guard model.hasThread, model.runCount == 0, model.state.phase == .queued || model.state.phase == .destroyed else { return nil }
            if nextModel.state.beginRunning() { nextModel.runCount += 1 } else { nextModel.hasThread = false }
        case .stopOnOtherThread:
            perform(nextModel.state.stop(onLoadThread: false), &nextModel)
        case .stopOnLoadThread:
            guard isRunning, !model.isWaiting else { return nil }
            perform(nextModel.state.stop(onLoadThread: true), &nextModel)
        case .reportEnd:
            guard isRunning, !model.isWaiting else { return nil }
            nextModel.state.recordEnd()
            nextModel.pluginKnowsEnd = true
        case .beginWait:
            guard isRunning, !model.isWaiting, !model.pluginKnowsEnd else { return nil }
            nextModel.state.beginWait()
            nextModel.isWaiting = true
        case .endWait:
            guard model.isWaiting else { return nil }
            nextModel.state.endWait()
            nextModel.isWaiting = false
            if nextModel.state.isStopped {
                nextModel.state.recordEnd()
                nextModel.pluginKnowsEnd = true
            }
        case .clientCallReturns:
            guard isRunning, !model.isWaiting else { return nil }
            if nextModel.state.beginPendingStop() { callStop(&nextModel) }
        case .stopReturns:
            guard model.activeStopCount > 0 else { return nil }
            nextModel.state.stopDidReturn()
            nextModel.activeStopCount -= 1
        case .runReturns:
            guard isRunning, !model.isWaiting else { return nil }
            _ = nextModel.state.runDidReturn()
        case .destroy:
            guard model.state.phase == .returned else { return nil }
            if nextModel.state.destroy() { destroy(&nextModel) }
        }
        return nextModel
    }

    private static func perform(_ action: BlockingLoadState.StopAction, _ model: inout Model) {
        switch action {
        case .nothing: break
        case .callStop: callStop(&model)
        case .destroy: destroy(&model)
        }
    }

    private static func callStop(_ model: inout Model) {
        if model.runCount == 0 { model.violation = "stop was called before run" }
        if model.pluginKnowsEnd { model.violation = "stop was called after the plugin knew of the end" }
        if model.destroyCount > 0 { model.violation = "stop was called after destroy" }
        model.stopCount += 1
        model.activeStopCount += 1
    }

    private static func destroy(_ model: inout Model) {
        if model.activeStopCount > 0 { model.violation = "destroy was called before stop returned" }
        if model.state.phase == .running { model.violation = "destroy was called before run returned" }
        model.destroyCount += 1
    }

    @Test func everyOrderOfCallsKeepsTheContract() {
        var visited: Set<Model> = [Model()]
        var unexploredModels = [Model()]
        while let model = unexploredModels.popLast() {
            for step in Step.allCases {
                guard let nextModel = Self.model(after: step, in: model), visited.insert(nextModel).inserted else { continue }
                #expect(nextModel.violation == nil, "\(step) after \(model)")
                #expect(nextModel.runCount <= 1 && nextModel.stopCount <= 1 && nextModel.destroyCount <= 1, "\(step) after \(model)")
                #expect(nextModel.state.phase != .destroyed || nextModel.destroyCount == 1, "\(step) after \(model)")
                unexploredModels.append(nextModel)
            }
        }
        #expect(visited.count > 25)
    }

    /// From every state, the host calls `destroy` after another thread stops the load and all calls return.
    @Test func destroyIsCalledAfterAStop() {
        var visited: Set<Model> = [Model()]
        var unexploredModels = [Model()]
        while let model = unexploredModels.popLast() {
            for step in Step.allCases {
                guard let nextModel = Self.model(after: step, in: model), visited.insert(nextModel).inserted else { continue }
                unexploredModels.append(nextModel)
            }
        }
        for model in visited {
            var finalModel = model
            for step in [Step.stopOnOtherThread, .beginRunning, .endWait, .runReturns, .stopReturns, .destroy] {
                finalModel = Self.model(after: step, in: finalModel) ?? finalModel
            }
            #expect(finalModel.destroyCount == 1, "\(model)")
        }
    }

    private static func makeRunningState() -> BlockingLoadState {
        var state = BlockingLoadState()
        _ = state.start()
        _ = state.beginRunning()
        return state
    }

    @Test func runThatReturnsWithoutAnEndIsAViolation() {
        var state = Self.makeRunningState()
        let isEndMissing = state.runDidReturn()
        #expect(isEndMissing)
    }

    @Test(arguments: [true, false])
    func runMayReturnAfterTheEndOfTheLoadOrAStop(_ isStopped: Bool) {
        var state = Self.makeRunningState()
        if isStopped { _ = state.stop(onLoadThread: false) } else { state.recordEnd() }
        let isEndMissing = state.runDidReturn()
        #expect(!isEndMissing)
    }

    @Test func waitingLoadIsStoppedWithoutACallOfStop() {
        var state = Self.makeRunningState()
        state.beginWait()
        let action = state.stop(onLoadThread: false)
        state.endWait()
        #expect(action == .nothing)
        #expect(state.knowsEnd)
    }
}
