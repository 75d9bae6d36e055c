// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanConformance

/// Runs the checks with handlers in this process: one that follows all rules, and for each flaw one that violates a
/// rule.
@Suite(.blocking, .timeLimit(.minutes(10))) struct HandlerConformanceTests {
    /// A runner for a stub handler with this flaw.
    private func runner(_ flaw: Flaw?) throws -> ConformanceRunner {
        let load = #"{"url": "stub://text", "length": 12, "tags": ["small"]}"#
        let section = #"{"loads": [\#(load), {"url": "stub://user", "error": "notFound", "tags": ["fails"]}]}"#
        return withLongTimeLimit(
            ConformanceRunner(
                ConformanceTarget(loads: try ConformanceSection(parsing: Array(section.utf8), path: "test").loads) { StubHandler(flaw) }))
    }

    /// Raises the time limit for sanitizers: a check that times out has no verdict and leaves its load running.
    private func withLongTimeLimit(_ runner: ConformanceRunner) -> ConformanceRunner {
        var runner = runner
        runner.timeLimit = .seconds(120)
        return runner
    }

    /// A runner for a stub handler without a flaw, with this load in its manifest. Nested loads use another stub
    /// handler.
    private func runner(of load: String) throws -> ConformanceRunner {
        let section = #"{"loads": [\#(load)]}"#
        var runner = withLongTimeLimit(
            ConformanceRunner(
                ConformanceTarget(loads: try ConformanceSection(parsing: Array(section.utf8), path: "test").loads) { StubHandler(nil) }))
        runner.makeNestedLoader = {
            let registry = ProtocolRegistry()
            registry.register(StubHandler(nil, schemes: ["inner"]))
            return Loader(configuration: .init(), registry: registry)
        }
        return runner
    }

    @Test(arguments: ConformanceCheck.all(level: 3).filter { !$0.needsProcess })
    func handlerThatFollowsTheRulesPasses(_ check: ConformanceCheck) throws {
        let result = try runner(nil).result(of: check)
        #expect(result.verdict == .passed || result.verdict == .skipped, "\(result.findings.map(\.detail)) \(result.lastEvents)")
        let isForPlugins =
            ConformanceTarget.categoriesOfLibraries.contains(check.rule.category) || ConformanceTarget.rulesOfTheHost.contains(check.id)
        if isForPlugins || check.rule.category == "MANIF" { #expect(result.verdict == .skipped) }
        if ["LIFE", "ORDER", "BODY"].contains(check.rule.category), check.rule.scenario == .any || check.rule.scenario == .succeeds,
            !isForPlugins, !["LIFE-05", "LIFE-10", "ORDER-13"].contains(check.id)
        {
            #expect(result.verdict == .passed, "\(result.note ?? "")")
        }
    }

    @Test(arguments: Flaw.allCases)
    func handlerThatViolatesARuleFailsItsCheck(_ flaw: Flaw) throws {
        let check = try #require(ConformanceCheck.named(flaw.rule))
        let result = try runner(flaw).result(of: check)
        #expect(result.verdict == .failed, "\(result.verdict) \(result.note ?? "") \(result.lastEvents)")
    }

    @Test func longURLDoesNotHideTheFinding() throws {
        let query = String(repeating: "x", count: 2000)
        let result = try runner(of: #"{"url": "stub://text?\#(query)", "length": 13}"#).result(
            of: try #require(ConformanceCheck.named("BODY-01")))
        let detail = try #require(result.findings.first?.detail)
        #expect(detail.hasPrefix("'stub://text?xxx") && detail.contains("xxx…xxx") && detail.contains("12"), "\(detail)")
        #expect(detail.utf8.count < 400)
    }

    @Test func skipReasonAbbreviatesALongURL() throws {
        let query = String(repeating: "x", count: 2000)
        let load = #"{"url": "stub://user?\#(query)", "tags": ["nested"], "error": "notFound"}"#
        let result = try runner(of: load).result(of: try #require(ConformanceCheck.named("NEST-05")))
        let note = try #require(result.note)
        #expect(note.contains("xxx…xxx") && note.utf8.count < 400, "\(note)")
    }

    @Test(arguments: ["CANON-01", "CANON-02", "CANON-03"])
    func canonicalFormIsChecked(_ id: String) throws {
        let check = try #require(ConformanceCheck.named(id))
        let result = try runner(of: #"{"url": "stub://text#part"}"#).result(of: check)
        #expect(result.verdict == .passed, "\(result.note ?? "") \(result.findings.map(\.detail))")
    }

    @Test func canonicalFormThatChangesTheMethodFails() throws {
        let result = try runner(.canonicalIsGET).result(of: try #require(ConformanceCheck.named("CANON-02")))
        for method in ["HEAD", "DELETE", "POST"] {
            #expect(result.findings.contains { $0.detail == "the canonical form of 'stub://text' changes \(method) to 'GET'" })
        }
    }

    @Test(arguments: ["CACHE-02", "CACHE-04", "CACHE-06"])
    func handlerThatReplacesEveryStoredResponsePasses(_ id: String) throws {
        let result = try runner(nil).result(of: try #require(ConformanceCheck.named(id)))
        #expect(result.verdict == .passed, "\(result.note ?? "") \(result.findings.map(\.detail))")
    }

    @Test func checksOfStoredResponsesAreSkippedWithoutSuchAResponse() throws {
        let note = "it does not apply: no URL of the manifest has a response that can be stored (portolan_response.storage)"
        for id in ["CACHE-02", "CACHE-03", "CACHE-04", "CACHE-06"] {
            let section = #"{"loads": [{"url": "stub://user", "error": "notFound", "tags": ["fails"]}, {"url": "stub://large"}]}"#
            let loads = try ConformanceSection(parsing: Array(section.utf8), path: "test").loads
            let runner = withLongTimeLimit(ConformanceRunner(ConformanceTarget(loads: loads) { StubHandler(nil) }))
            let result = runner.result(of: try #require(ConformanceCheck.named(id)))
            #expect(result.verdict == .skipped && result.note == note, "\(result.note ?? "")")
        }
    }

    /// A finding contains the name of the error's code and the error's message, on one line.
    @Test func findingHasTheMessageOfTheError() throws {
        let result = try runner(of: #"{"url": "stub://long", "length": 12}"#).result(of: try #require(ConformanceCheck.named("BODY-01")))
        let detail = try #require(result.findings.first?.detail)
        #expect(detail.contains("gave an error (notFound: 'nothing is at 'stub://long'"), "\(detail)")
        #expect(!detail.contains("\n") && !detail.contains("\u{1B}") && detail.count < 500, "\(detail.count)")
    }

    /// If a load hangs in one check, later checks skip that load, and only LIFE-02 fails.
    @Test func loadThatHungIsSkippedInLaterChecks() throws {
        var runner = try runner(.hasNoEnd)
        runner.timeLimit = .seconds(2)
        let (firstCheck, secondCheck) = (try #require(ConformanceCheck.named("BODY-01")), try #require(ConformanceCheck.named("BODY-09")))
        let result = runner.result(of: firstCheck)
        #expect(result.verdict == .skipped && result.note?.contains("did not end within 500.0 ms (LIFE-02)") == true, "\(result)")
        runner.hungLoads = result.hungLoads
        runner.timeLimit = .seconds(120)
        let start = MonotonicTime.now
        let laterResult = runner.result(of: secondCheck)
        #expect(
            laterResult.verdict == .skipped
                && laterResult.note == "'stub://text' did not end in an earlier check; LIFE-02 reports it", "\(laterResult)")
        #expect(MonotonicTime.now - start < .seconds(10))
        runner.timeLimit = .seconds(2)
        let resultOfLIFE02 = runner.result(of: try #require(ConformanceCheck.named("LIFE-02")))
        #expect(resultOfLIFE02.verdict == .failed && resultOfLIFE02.findings.count == 1, "\(resultOfLIFE02)")
        // A load that ends is not skipped.
        let resultWithoutFlaw = try self.runner(nil).result(of: firstCheck)
        #expect(resultWithoutFlaw.hungLoads == HungLoads() && resultWithoutFlaw.verdict == .passed)
    }

    @Test func nestedLoadsUseTheRunnersLoader() throws {
        let check = try #require(ConformanceCheck.named("BODY-01"))
        let resultOfCorrectLength = try runner(of: #"{"url": "stub://nest", "length": 12, "tags": ["nested"]}"#).result(of: check)
        #expect(
            resultOfCorrectLength.verdict == .passed, "\(resultOfCorrectLength.note ?? "") \(resultOfCorrectLength.findings.map(\.detail))")
        let resultOfWrongLength = try runner(of: #"{"url": "stub://nest", "length": 11, "tags": ["nested"]}"#).result(of: check)
        #expect(resultOfWrongLength.verdict == .failed, "\(resultOfWrongLength.note ?? "")")
    }

    /// The client resumes the load before it returns the pause (see ``ProtocolLoad/resumeLoading()``).
    @Test func nestedLoadCanBeResumedBeforeItsPauseReturns() throws {
        let registry = ProtocolRegistry()
        registry.register(StubHandler(nil, schemes: ["inner"]))
        let loads = NestedLoadCache { Loader(configuration: .init(), registry: registry) }
        let nestedLoad = Mutex<(any ProtocolLoad)?>(nil)
        // The client and the load retain each other.
        defer { nestedLoad.withLock { $0 = nil } }
        let client = RecordingClient { _, event in
            switch event {
            case .response, .data:
                nestedLoad.withLock(\.self)?.resumeLoading()
                return .pause
            default: return .keepGoing
            }
        }
        let load = ExportedNestedLoad(Request(url: try URLRecord(parsing: "inner://text")), client, by: loads)
        nestedLoad.withLock { $0 = load }
        load.startLoading()
        client.wait { $0.last?.isEnd == true }
        #expect(client.error == nil && String(decoding: client.bytes, as: UTF8.self) == "ABCDABCDABCD")
    }

    @Test func checksAreSkippedIfTheHandlerCannotBeMade() throws {
        let loads = try ConformanceSection(parsing: Array(#"{"loads": [{"url": "stub://text"}]}"#.utf8), path: "test").loads
        let runner = ConformanceRunner(
            ConformanceTarget(loads: loads) { () throws(LoadError) in throw LoadError(.noResources, message: "not today") })
        let result = runner.result(of: try #require(ConformanceCheck.named("LIFE-02")))
        #expect(result.verdict == .skipped && result.note == "the handler could not be made (CAN-01): not today")
        let resultOfCAN01 = runner.result(of: try #require(ConformanceCheck.named("CAN-01")))
        #expect(resultOfCAN01.verdict == .failed && resultOfCAN01.findings.map(\.detail) == ["the handler could not be made: not today"])
    }
}

/// A flaw of ``StubHandler``, which violates one rule.
enum Flaw: String, CaseIterable, Sendable {
    case finishesTwice, reportsInMake, deliversInAPause, deliversFewerBytes, hasNoEnd, showsThePassword, deliversDataFirst, acceptsNoRequest
    case differsInConcurrentLoads, ignoresStopped, canonicalIsGET
    case confirmsAndReplaces, confirmsOutdatedResponses

    var rule: String {
        switch self {
        case .finishesTwice: "ORDER-02"
        case .reportsInMake: "LIFE-01"
        case .deliversInAPause: "FLOW-01"
        case .deliversFewerBytes: "BODY-02"
        case .hasNoEnd: "LIFE-02"
        case .showsThePassword: "ERR-05"
        case .deliversDataFirst: "ORDER-01"
        case .acceptsNoRequest: "CAN-01"
        case .differsInConcurrentLoads: "LIFE-09"
        case .ignoresStopped: "FLOW-06"
        case .canonicalIsGET: "CANON-02"
        case .confirmsAndReplaces: "CACHE-02"
        case .confirmsOutdatedResponses: "CACHE-06"
        }
    }
}

/// A handler that follows all rules except for the one of its flaw. Its responses depend on the host of the URL.
private struct StubHandler: ProtocolHandler {
    let flaw: Flaw?

    let schemes: SchemeSet

    init(_ flaw: Flaw?, schemes: [String] = ["stub"]) { (self.flaw, self.schemes) = (flaw, .only(schemes)) }

    var identifier: String { "org.portolan.stub" }

    func canonicalRequest(for request: Request) -> Request {
        var canonical = request
        canonical.url = request.url.withoutFragment
        if flaw == .canonicalIsGET { canonical.method = .get }
        return canonical
    }

    func canInit(_ request: Request) -> Bool { flaw != .acceptsNoRequest }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        if request.url[.host] == "nest" {
            var inner = request
            // `try?` because a URL that does not parse leaves the outer request, which fails.
            if let url = try? URLRecord(parsing: "inner://text") { inner.url = url }
            return client.makeNestedLoad(for: inner, client: client)
        }
        let load = StubLoad(request, cachedResponse, client, flaw)
        if flaw == .reportsInMake { client.didReach(.connected) }
        return load
    }
}

/// A load of ``StubHandler``. For the host `text`, it delivers twelve bytes in three pieces from its own thread. For
/// other hosts, it fails.
private final class StubLoad: ProtocolLoad {
    private let request: Request
    private let cachedResponse: CachedResponse?
    private let client: any ProtocolClient
    private let flaw: Flaw?
    private let state = ConditionLock((isStopped: false, mayContinue: false))
    private static let runningCount = Atomic(0)

    init(_ request: Request, _ cachedResponse: CachedResponse?, _ client: any ProtocolClient, _ flaw: Flaw?) {
        (self.request, self.cachedResponse, self.client, self.flaw) = (request, cachedResponse, client, flaw)
    }

    func startLoading() {
        // On this thread, the client's results report a stop immediately.
        if flaw == .ignoresStopped { return run() }
        do throws(LoadError) {
            try PlatformThread.start { [self] in run() }
        } catch {
            client.didFail(with: error)
        }
    }

    func stopLoading() {
        state.withLockBroadcasting { $0.isStopped = true }
    }

    func resumeLoading() { state.withLockBroadcasting { $0.mayContinue = true } }

    private func run() {
        // The thread can start after the stop.
        if state.withLock(\.isStopped), flaw != .ignoresStopped { return }
        guard request.url[.host] == "text" else {
            let url = flaw == .showsThePassword ? request.url.string : request.url.withoutCredentials.description
            if request.url[.host] == "long" {
                let message = "nothing is at '\(url)'\u{1B}[2J\n" + String(repeating: "x", count: 3000)
                return client.didFail(with: LoadError(.notFound, message: message))
            }
            return client.didFail(with: LoadError(.notFound, message: "nothing is at '\(url)'"))
        }
        if let cachedResponse, flaw == .confirmsAndReplaces || flaw == .confirmsOutdatedResponses {
            client.cachedResponseIsValid(cachedResponse, newer: nil)
            if flaw == .confirmsOutdatedResponses { return client.didFinishLoading() }
        }
        if flaw == .deliversDataFirst { guard canContinue(deliver("!")) else { return } }
        let response = Response(
            url: request.url, mimeType: MIMEType(parsing: "text/plain"), expectedLength: flaw == .deliversFewerBytes ? 13 : 12)
        guard canContinue(client.didReceive(response, storage: .allowed)) else { return }
        let isConcurrent = flaw == .differsInConcurrentLoads && Self.runningCount.add(1, ordering: .relaxed).newValue > 1
        defer { if flaw == .differsInConcurrentLoads { Self.runningCount.subtract(1, ordering: .relaxed) } }
        let piece = isConcurrent ? "WXYZ" : "ABCD"
        for _ in 0..<3 {
            guard canContinue(deliver(piece)) else { return }
        }
        if flaw == .hasNoEnd { return }
        client.didFinishLoading()
        if flaw == .finishesTwice { client.didFinishLoading() }
    }

    private func deliver(_ text: String) -> Flow {
        let bytes = Array(text.utf8)
        return unsafe client.didLoad(bytes.span.bytes)
    }

    /// Waits during a pause. Returns `false` if the load was stopped.
    private func canContinue(_ flow: Flow) -> Bool {
        switch flow {
        case .keepGoing: return !state.withLock(\.isStopped)
        case .stopped: return flaw == .ignoresStopped
        case .pause:
            if flaw == .deliversInAPause { return !state.withLock(\.isStopped) }
            return state.wait { state in
                if state.isStopped { return false }
                guard state.mayContinue else { return nil }
                state.mayContinue = false
                return true
            }
        }
    }
}
