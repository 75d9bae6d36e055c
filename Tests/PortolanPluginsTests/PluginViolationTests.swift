// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The loads of a plugin that violates the contract fail with the rule's ID.
@Suite(.timeLimit(.minutes(2))) struct PluginViolationTests {
    struct ContractViolation: CustomTestStringConvertible {
        let url: String
        let rules: [String]
        init(_ url: String, _ rules: String...) {
            self.url = url
            self.rules = rules
        }
        var testDescription: String { url }
    }

    /// Violations that fail the load.
    static let violationsThatFailTheLoad: [ContractViolation] = [
        ContractViolation("fixture://data-before-response", "ORDER-01"),
        ContractViolation("fixture://finish-before-response", "ORDER-01"),
        ContractViolation("fixture://no-end", "ORDER-02"),
        ContractViolation("fixture://overlap", "ORDER-05", "THREAD-01"),
        ContractViolation("fixture://event-in-make", "ORDER-06", "LIFE-01"),
        ContractViolation("fixture://second-response", "ORDER-08"),
        ContractViolation("fixture://confirms-nothing", "ORDER-10"),
        ContractViolation("fixture://fail-without-error", "ORDER-11"),
        ContractViolation("fixture://longer-than-expected", "BODY-02"),
        ContractViolation("fixture://shorter-than-expected", "BODY-02"),
        ContractViolation("fixture://bad-mime-type", "BODY-09"),
        ContractViolation("fixture://bad-charset", "BODY-09"),
        ContractViolation("fixture://unknown-storage", "CACHE-01"),
        ContractViolation("fixture://bad-field-name", "SEC-08"),
        ContractViolation("fixture://bad-field-value", "SEC-08"),
        ContractViolation("fixture://short-response", "DESC-05"),
        ContractViolation("fixture://huge-field-value", "DESC-05"),
        ContractViolation("fixture://endless-field-value", "DESC-05"),
        ContractViolation("fixture://huge-field-count", "DESC-05"),
        ContractViolation("fixture://many-fields", "SEC-08"),
        ContractViolation("fixture://huge-data", "BODY-04"),
        ContractViolation("fixture://response-from-nowhere", "BODY-11"),
        ContractViolation("fixture://short-error", "DESC-05"),
        ContractViolation("fixture://redirect-malformed", "REDIR-01"),
        ContractViolation("fixture://redirect-relative", "REDIR-01"),
        ContractViolation("fixture://redirect-nowhere", "REDIR-01"),
        ContractViolation("fixture://challenge-without-space", "CHAL-01"),
        ContractViolation("fixture://error-empty", "ERR-02"),
        ContractViolation("fixture://error-two-lines", "ERR-02"),
        ContractViolation("fixture://error-not-utf8", "ERR-02"),
        ContractViolation("fixture://error-too-long", "ERR-02"),
        ContractViolation("fixture://error-unpublished", "ERR-03"),
        ContractViolation("fixture://call-from-own-thread", "THREAD-01"),
        ContractViolation("fixture-events://call-from-own-thread", "THREAD-01"),
    ]

    @Test(arguments: violationsThatFailTheLoad)
    func violationFailsTheLoadWithTheRule(_ violation: ContractViolation) throws {
        let plugin = try Fixtures.plugin("fixture")
        let load = try TestHandlerLoad(plugin, violation.url)
        load.run()
        let error = try #require(load.client.error)
        #expect(error.code == .protocolViolation)
        #expect(violation.rules.contains(try #require(error.rule).id), "\(error.message)")
        #expect(error.message.hasPrefix(error.rule?.id ?? "?"))
        #expect(error.message.contains("org.portolan.fixture"))
        #expect(load.client.events.filter(\.isEnd).count == 1)
        plugin.waitUntilIdle()
    }

    @Test(arguments: ["fixture://call-from-own-thread", "fixture://confirms-nothing", "fixture-events://call-from-own-thread"])
    func callsAfterAViolationAreNotFurtherViolations(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let load = try TestHandlerLoad(plugin, url)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
    }

    /// Violations after the load's end. They cannot fail the load, so they are only reported.
    @Test(arguments: [
        ContractViolation("fixture://two-finishes", "ORDER-02"),
        ContractViolation("fixture://fail-after-finish", "ORDER-02"),
        ContractViolation("fixture://data-after-finish", "ORDER-03"),
        ContractViolation("fixture://response-after-finish", "ORDER-03"),
    ])
    func eventsAfterTheEndAreReported(_ violation: ContractViolation) throws {
        let plugin = try Fixtures.plugin("fixture")
        let load = try TestHandlerLoad(plugin, violation.url)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.client.events.last == .finished)
        #expect(load.violations.map(\.id) == violation.rules)
    }

    /// Violations after the end of the load are logged.
    @Test(arguments: [
        ContractViolation("fixture://event-in-destroy", "ORDER-06"),
        ContractViolation("fixture-events://event-in-destroy", "ORDER-06"),
        ContractViolation("fixture-events://event-in-stop", "CANCEL-01"),
    ])
    func eventsFromDestroyOrStopAreLogged(_ violation: ContractViolation) throws {
        let log = RecordingLog()
        let plugin = try Fixtures.plugin("fixture", logger: log.logger)
        // The host does not call `stop` if a client function has already returned PORTOLAN_STOPPED. Which of them comes
        // first is a race, so the test runs many loads.
        for _ in 0..<500 where log.all.isEmpty {
            let load = try TestHandlerLoad(plugin, violation.url)
            load.start()
            load.client.wait { $0.contains(.data(4)) }
            if violation.url.hasSuffix("stop") { load.handlerLoad.end(with: LoadError(.cancelled, message: "enough")) }
            load.waitUntilEnded()
            plugin.waitUntilIdle()
        }
        #expect(log.all.count { $0.contains("broke \(violation.rules[0])") } == 1, "\(log.all)")
    }

    @Test func dataAfterAFollowedRedirectIsReported() throws {
        let plugin = try Fixtures.plugin("fixture")
        let client = RecordingClient { _, event in if case .redirect = event { .stopped } else { .keepGoing } }
        let load = try TestHandlerLoad(plugin, "fixture://data-after-redirect", client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(client.events == [.redirect("fixture://good")])
        #expect(Set(load.violations.map(\.id)) == ["ORDER-04"])
    }

    @Test func dataAfterTheResultStoppedIsReported() throws {
        let plugin = try Fixtures.plugin("fixture")
        let client = RecordingClient { index, _ in index == 3 ? .stopped : .keepGoing }
        let load = try TestHandlerLoad(plugin, "fixture://data-after-stopped", client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(client.events == [.response(nil), .data(4), .data(4), .data(4)])
        #expect(Set(load.violations.map(\.id)) == ["FLOW-06"])
    }

    @Test(arguments: [
        ContractViolation("fixture-events://data-while-paused", "FLOW-01"),
        ContractViolation("fixture-events://finish-while-paused", "FLOW-07"),
    ])
    func eventsWhilePausedFailTheLoad(_ violation: ContractViolation) throws {
        let plugin = try Fixtures.plugin("fixture")
        let client = RecordingClient { index, _ in index == 2 ? .pause : .keepGoing }
        let load = try TestHandlerLoad(plugin, violation.url, client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(client.error?.rule?.id == violation.rules.first)
        #expect(client.events.count == 4)
    }

    @Test(arguments: ["fixture://good", "fixture-events://good"])
    func correctLoadHasNoViolations(_ url: String) throws {
        let plugin = try Fixtures.plugin("fixture")
        let load = try TestHandlerLoad(plugin, url)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.client.events == [.response(4), .data(4), .finished])
        #expect(load.client.bytes == Array("data".utf8))
        #expect(load.client.response?.mimeType?.essence == "text/plain")
        #expect(load.violations.isEmpty)
    }
}
