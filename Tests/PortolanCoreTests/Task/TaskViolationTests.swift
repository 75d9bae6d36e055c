// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// If a handler breaks the contract, its load fails, and the error names the rule.
@Suite(.timeLimit(.minutes(2))) struct TaskViolationTests {
    struct ContractViolation: Sendable, CustomTestStringConvertible {
        let rule: String
        let deliver: @Sendable (ManualLoad) -> Void
        var testDescription: String { rule }
    }

    static let violations: [ContractViolation] = [
        ContractViolation(rule: "ORDER-01") { $0.deliver([1]) },
        ContractViolation(rule: "ORDER-01") { $0.finish() },
        ContractViolation(rule: "ORDER-08") {
            $0.respond()
            $0.respond()
        },
        ContractViolation(rule: "ORDER-10") {
            $0.client.cachedResponseIsValid(CachedResponse(response: Response(url: $0.request.url), body: .bytes([])), newer: nil)
        },
        ContractViolation(rule: "ORDER-13") {
            $0.respond()
            $0.client.didReceiveInterim(Response(url: $0.request.url))
        },
        ContractViolation(rule: "BODY-02") {
            $0.respond(expectedLength: 1)
            $0.deliver([1, 2])
        },
        ContractViolation(rule: "BODY-02") {
            $0.respond(expectedLength: 2)
            $0.deliver([1])
            $0.finish()
        },
    ]

    @Test(arguments: violations)
    func violationFailsTheLoadAndNamesItsRule(_ violation: ContractViolation) async throws {
        let handler = ManualHandler { violation.deliver($0) }
        let reportedViolations = Mutex<[String]>([])
        let loader = loader(handler) {
            $0.violationObserver = { rule, handler in reportedViolations.withLock { $0.append("\(handler) \(rule)") } }
        }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "x:1") }
        #expect(error.code == .protocolViolation)
        #expect(error.rule?.id == violation.rule)
        #expect(error.message.hasPrefix(violation.rule + ": "))
        #expect(error.message.contains("org.portolan.manual"))
        #expect(reportedViolations.withLock { $0 } == ["org.portolan.manual \(violation.rule)"])
        #expect(handler.loads.first?.calls == [.start, .stop])
    }

    @Test func anEventBeforeTheStartFailsTheLoad() async throws {
        let error = try await #require(throws: LoadError.self) { try await loader(EarlyEventHandler()).data(from: "x:1") }
        #expect(error.rule?.id == "LIFE-01")
    }

    @Test func eventsAfterTheEndAreReported() async throws {
        let reportedViolations = Mutex<[String]>([])
        let handler = ManualHandler {
            $0.respond()
            $0.finish()
            $0.finish()
            $0.deliver([1])
        }
        let loader = loader(handler) { $0.violationObserver = { rule, _ in reportedViolations.withLock { $0.append(rule.id) } } }
        let (body, _) = try await loader.data(from: "x:1")
        #expect(body.isEmpty)
        #expect(reportedViolations.withLock { $0 } == ["ORDER-02", "ORDER-03"])
    }

    @Test func firstViolationAndTheNumberOfOthersAreLogged() async throws {
        let lines = Mutex<[String]>([])
        let reportedViolations = Mutex(0)
        do {
            let handler = ManualHandler { load in
                load.respond()
                load.finish()
                load.finish()
                for _ in 0..<95 { load.deliver([1]) }
            }
            let loader = loader(handler) { configuration in
                configuration.logger = Logger(label: "test") { _ in ViolationLog { line in lines.withLock { $0.append(line) } } }
                configuration.violationObserver = { _, _ in reportedViolations.withLock { $0 += 1 } }
            }
            _ = try await loader.data(from: "x:1")
        }
        #expect(reportedViolations.withLock { $0 } == 96)
        #expect(
            lines.withLock { $0 } == [
                "contract broken: \(ContractRule.oneEnd.sentence)",
                "contract broken 95 more times by the same load (ORDER-03: 95)",
            ])
    }

    @Test func moreInterimResponsesThanTheLimitFailTheLoad() async throws {
        let handler = ManualHandler { load in
            for _ in 0..<10_000 { load.client.didReceiveInterim(Response(url: load.request.url, status: .earlyHints)) }
            load.respond()
            load.finish()
        }
        let delegate = RecordingDelegate()
        let loader = loader(handler) { $0.maximumInterimResponsesPerRequest = 5 }
        loader.task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(delegate.events == [.interim, .interim, .interim, .interim, .interim, .failed(.limitExceeded)])
        #expect(delegate.error?.message.contains("maximumInterimResponsesPerRequest") == true)
        #expect(handler.loads.first?.calls == [.start, .stop])
    }

    @Test func interimResponseLimitAppliesToASlowDelegate() async throws {
        let handler = ManualHandler { load in
            for _ in 0..<10_000 { load.client.didReceiveInterim(Response(url: load.request.url, status: .earlyHints)) }
        }
        let jobs = Mutex<[@Sendable () -> Void]>([])
        let delegate = RecordingDelegate()
        loader(handler).task(
            for: try Request("x:1"), delegate: delegate, on: DeliveryQueue { job in jobs.withLock { $0.append(job) } }
        ).resume()
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        #expect(delegate.events.count(where: { $0 == .interim }) == 128)
        #expect(delegate.events.last == .failed(.limitExceeded))
    }

    @Test func headResponseMayAnnounceALengthWithoutABody() async throws {
        let handler = ManualHandler {
            $0.respond(expectedLength: 10)
            $0.finish()
        }
        var request = try Request("x:1")
        request.method = .head
        let (body, _) = try await loader(handler).data(for: request)
        #expect(body.isEmpty)
    }

    @Test func overlappingEventsFailTheLoad() async throws {
        let handler = ManualHandler()
        let delegate = RecordingDelegate { event, _ in
            // The second piece arrives while the client handles the first.
            if event == .data([1]) { #expect(handler.loads.first?.deliver([2]) == .stopped) }
            return .keepGoing
        }
        loader(handler).task(for: try Request("x:1"), delegate: delegate).resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([1]) == .stopped)
        #expect(delegate.body == [1])
        #expect(delegate.error?.rule?.id == "ORDER-05")
    }

    /// A handler that delivers a response in `makeLoad`, before the load is started.
    private struct EarlyEventHandler: ProtocolHandler {
        let identifier = "org.example.hasty"
        let schemes = SchemeSet.any
        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            _ = client.didReceive(Response(url: request.url), storage: .notAllowed)
            return FailedLoad(LoadError(.unknown, message: "never started"), client: client)
        }
    }
}

/// A log handler that passes each message to a closure.
private struct ViolationLog: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { write("\(event.message)") }
}
