// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Explores every order of calls to an event-driven load.
@Suite(.timeLimit(.minutes(2))) struct TurnLifeTests {
    struct World: Hashable {
        var life = EventLoadState()
        var starts = 0
        var stops = 0
        var destroys = 0
        var knewEnd = false
    }

    static let turns: [SerialCalls.Call] = [.stop, .start, .resume, .woken, .answered, .ready, .destroy]

    @Test func noOrderOfTurnsBreaksTheContract() {
        var seen: Set<World> = [World()]
        var open = [World()]
        while let world = open.popLast() {
            for turn in Self.turns {
                for endsItself in [false, true] {
                    var next = world
                    let call = next.life.begin(turn)
                    if world.destroys > 0 { #expect(call == nil) }
                    switch call {
                    case .start:
                        #expect(world.starts == 0 && world.stops == 0)
                        next.starts += 1
                    case .resume, .woken, .answered, .ready:
                        #expect(world.starts == 1 && world.stops == 0 && !world.knewEnd)
                    case .stop:
                        #expect(world.starts == 1 && world.stops == 0 && !world.knewEnd)
                        next.stops += 1
                    case .destroy:
                        next.destroys += 1
                    case nil: break
                    }
                    if endsItself, call != nil, call != .stop, call != .destroy {
                        next.life.noteEnd()
                        next.knewEnd = true
                    }
                    #expect(next.destroys <= 1)
                    if next.stops > 0 || next.knewEnd { #expect(next.life.owesDestroy || next.destroys == 1) }
                    if seen.insert(next).inserted { open.append(next) }
                }
            }
        }
        #expect(seen.count >= 8)
    }

    @Test func aLoadThatIsStoppedFirstIsDestroyedWithoutACall() {
        var life = EventLoadState()
        let calls = [life.begin(.stop), life.begin(.start)]
        #expect(calls == [nil, nil])
        #expect(life.owesDestroy)
        let last = [life.begin(.destroy), life.begin(.destroy)]
        #expect(last == [.destroy, nil])
    }
}
