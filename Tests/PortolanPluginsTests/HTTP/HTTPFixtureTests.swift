// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import ServerSupport
import Testing

/// A plugin for HTTP can do everything that the built-in handler does: both have the same events and send the same
/// bytes.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureTests {
    @Test(arguments: HTTPTransaction.all)
    func builtInHandlerSendsTheExpectedEvents(transaction: HTTPTransaction) async throws {
        let outcome = try await transaction.run(on: .builtIn)
        #expect(Self.occurInOrder(transaction.expectedEvents, in: outcome.events) { $0.hasPrefix($1) }, "\(outcome.events)")
        #expect(
            Self.occurInOrder(transaction.expectedRequests, in: outcome.received.flatMap { $0.split(separator: "\n") }) { $0.contains($1) },
            "\(outcome.received)")
    }

    @Test(arguments: HTTPTransaction.all, HTTPHandlerKind.plugins)
    func pluginBehavesAsTheBuiltInHandler(transaction: HTTPTransaction, handlerKind: HTTPHandlerKind) async throws {
        let (plugin, builtIn) = (try await transaction.run(on: handlerKind), try await transaction.run(on: .builtIn))
        #expect(plugin == builtIn)
    }

    @Test(arguments: HTTPTransaction.all, HTTPHandlerKind.allCases)
    func pausingAtEachDeliveryChangesNothing(transaction: HTTPTransaction, handlerKind: HTTPHandlerKind) async throws {
        let (paused, unpaused) = (try await transaction.run(on: handlerKind, pausing: true), try await transaction.run(on: handlerKind))
        #expect(paused == unpaused)
    }

    /// Whether lines match all texts, in this order.
    private static func occurInOrder<Line>(_ texts: [String], in lines: [Line], _ matches: (Line, String) -> Bool) -> Bool {
        var remainingLines = lines[...]
        for text in texts {
            guard let index = remainingLines.firstIndex(where: { matches($0, text) }) else { return false }
            remainingLines = remainingLines[(index + 1)...]
        }
        return true
    }
}
