// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Explores every order of calls to an event-driven load.
@Suite(.timeLimit(.minutes(2))) struct EventLoadStateTests {
    struct Model: Hashable {
        var state = EventLoadState()
        var starts = 0
        var stops = 0
        var destroys = 0
        var knewEnd = false
    }

    static let calls: [SerialCalls.Call] = [.stop, .start, .resume, .woken, .answered, .ready, .destroy]

    @Test func everyOrderOfCallsKeepsTheContract() {
        var visited: Set<Model> = [Model()]
        var open = [Model()]
        while let model = open.popLast() {
            for requested in Self.calls {
                for reportsEnd in [false, true] {
                    var next = model
                    let call = next.state.begin(requested)
                    if model.destroys > 0 { #expect(call == nil) }
                    switch call {
                    case .start:
                        #expect(model.starts == 0 && model.stops == 0)
                        next.starts += 1
                    case .resume, .woken, .answered, .ready:
                        #expect(model.starts == 1 && model.stops == 0 && !model.knewEnd)
                    case .stop:
                        #expect(model.starts == 1 && model.stops == 0 && !model.knewEnd)
                        next.stops += 1
                    case .destroy:
                        next.destroys += 1
                    case nil: break
                    }
                    if reportsEnd, call != nil, call != .stop, call != .destroy {
                        next.state.recordEnd()
                        next.knewEnd = true
                    }
                    #expect(next.destroys <= 1)
                    if next.stops > 0 || next.knewEnd { #expect(next.state.mustDestroy || next.destroys == 1) }
                    if visited.insert(next).inserted { open.append(next) }
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
        let last = [state.begin(.destroy), state.begin(.destroy)]
        #expect(last == [.destroy, nil])
    }
}
