// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Explores every order of calls to an event-driven load.
@Suite(.timeLimit(.minutes(2))) struct EventLoadStateTests {
    struct Model: Hashable {
        var state = EventLoadState()
        var startCount = 0
        var stopCount = 0
        var destroyCount = 0
        var pluginKnowsEnd = false
    }

    static let calls: [SerialCalls.Call] = [.stop, .start, .resume, .woken, .answered, .ready, .destroy]

    @Test func everyOrderOfCallsKeepsTheContract() {
        var visited: Set<Model> = [Model()]
        var unexploredModels = [Model()]
        while let model = unexploredModels.popLast() {
            for requestedCall in Self.calls {
                for reportsEnd in [false, true] {
                    var nextModel = model
                    let call = nextModel.state.begin(requestedCall)
                    if model.destroyCount > 0 { #expect(call == nil) }
                    switch call {
                    case .start:
                        #expect(model.startCount == 0 && model.stopCount == 0)
                        nextModel.startCount += 1
                    case .resume, .woken, .answered, .ready:
                        #expect(model.startCount == 1 && model.stopCount == 0 && !model.pluginKnowsEnd)
                    case .stop:
                        #expect(model.startCount == 1 && model.stopCount == 0 && !model.pluginKnowsEnd)
                        nextModel.stopCount += 1
                    case .destroy:
                        nextModel.destroyCount += 1
                    case nil: break
                    }
                    if reportsEnd, call != nil, call != .stop, call != .destroy {
                        nextModel.state.recordEnd()
                        nextModel.pluginKnowsEnd = true
                    }
                    #expect(nextModel.destroyCount <= 1)
                    if nextModel.stopCount > 0 || nextModel.pluginKnowsEnd {
                        #expect(nextModel.state.mustDestroy || nextModel.destroyCount == 1)
                    }
                    if visited.insert(nextModel).inserted { unexploredModels.append(nextModel) }
                }
            }
        }
        #expect(visited.count >= 8)
    }

    @Test func loadStoppedBeforeItsStartIsDestroyedWithoutACall() {
        var state = EventLoadState()
        let calls = [state.begin(.stop), state.begin(.start)]
        #expect(calls == [nil, nil])
        #expect(state.mustDestroy)
        let destroyCalls = [state.begin(.destroy), state.begin(.destroy)]
        #expect(destroyCalls == [.destroy, nil])
    }
}
