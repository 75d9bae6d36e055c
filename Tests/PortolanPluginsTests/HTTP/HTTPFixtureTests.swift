// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import ServerSupport
import Testing

/// An HTTP plugin can do everything that the built-in handler can: the events and the bytes are the same.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureTests {
    @Test(arguments: HTTPExchange.all)
    func theBuiltInHandlerDoesWhatTheTableSays(exchange: HTTPExchange) async throws {
        let outcome = try await exchange.run(on: .builtIn)
        #expect(Self.stand(exchange.hears, in: outcome.heard) { $0.hasPrefix($1) }, "\(outcome.heard)")
        #expect(
            Self.stand(exchange.sends, in: outcome.received.flatMap { $0.split(separator: "\n") }) { $0.contains($1) },
            "\(outcome.received)")
    }

    @Test(arguments: HTTPExchange.all, HTTPSide.plugins)
    func thePluginDoesTheSame(exchange: HTTPExchange, side: HTTPSide) async throws {
        let (plugin, builtIn) = (try await exchange.run(on: side), try await exchange.run(on: .builtIn))
        #expect(plugin == builtIn)
    }

    @Test(arguments: HTTPExchange.all, HTTPSide.allCases)
    func aPauseAtEachDeliveryChangesNothing(exchange: HTTPExchange, side: HTTPSide) async throws {
        let (paused, unpaused) = (try await exchange.run(on: side, pausing: true), try await exchange.run(on: side))
        #expect(paused == unpaused)
    }

    /// Whether the lines contain all words in this order.
    private static func stand<Line>(_ words: [String], in lines: [Line], _ matches: (Line, String) -> Bool) -> Bool {
        var rest = lines[...]
        for word in words {
            guard let index = rest.firstIndex(where: { matches($0, word) }) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
