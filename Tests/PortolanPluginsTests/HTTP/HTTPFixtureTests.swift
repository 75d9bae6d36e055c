// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import ServerSupport
import Testing

/// An HTTP plugin can do everything that the built-in handler can: the events and the bytes are the same.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureTests {
    @Test(arguments: HTTPTransaction.all)
    func builtInHandlerBehavesAsTheTableSays(transaction: HTTPTransaction) async throws {
        let outcome = try await transaction.run(on: .builtIn)
        #expect(Self.occurInOrder(transaction.expectedEvents, in: outcome.events) { $0.hasPrefix($1) }, "\(outcome.events)")
        #expect(
            Self.occurInOrder(transaction.expectedRequests, in: outcome.received.flatMap { $0.split(separator: "\n") }) { $0.contains($1) },
            "\(outcome.received)")
    }

    @Test(arguments: HTTPTransaction.all, HTTPSide.plugins)
    func pluginBehavesAsTheBuiltInHandler(transaction: HTTPTransaction, side: HTTPSide) async throws {
        let (plugin, builtIn) = (try await transaction.run(on: side), try await transaction.run(on: .builtIn))
        #expect(plugin == builtIn)
    }

    @Test(arguments: HTTPTransaction.all, HTTPSide.allCases)
    func pausingAtEachDeliveryChangesNothing(transaction: HTTPTransaction, side: HTTPSide) async throws {
        let (paused, unpaused) = (try await transaction.run(on: side, pausing: true), try await transaction.run(on: side))
        #expect(paused == unpaused)
    }

    /// Whether the lines contain all words in this order.
    private static func occurInOrder<Line>(_ texts: [String], in lines: [Line], _ matches: (Line, String) -> Bool) -> Bool {
        var rest = lines[...]
        for text in texts {
            guard let index = rest.firstIndex(where: { matches($0, text) }) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
