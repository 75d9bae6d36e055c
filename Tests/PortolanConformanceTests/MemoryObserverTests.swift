// SPDX-License-Identifier: Apache-2.0

import PortolanJSON
import Testing

@testable import PortolanConformance

/// The memory observer combines memcheck's errors from the processes of many checks into results of the MEM rules.
@Suite struct MemoryObserverTests {
    private let scope = MemcheckScope(shared: [])

    private func result(
        _ id: String, _ verdict: Verdict = .passed, _ errors: [MemcheckError] = [], isWhole: Bool = true, hasLeftOpen: Bool = false
    ) throws -> CheckResult {
        var result = CheckResult(try #require(RuleCatalogue.rule(id)), verdict)
        result.memory = MemcheckLog(errors, isWhole: isWhole)
        result.hasLeftOpen = hasLeftOpen
        return result
    }

    private func error(_ kind: String, line: Int = 1, size: Int = 1) -> MemcheckError {
        let frame = StackFrame(object: "/opt/tide.so", function: "hold", file: "tide.c", line: line)
        return MemcheckError(kind: kind, phrase: "\(kind) of size \(size)", stack: [frame], origins: [])
    }

    private func verdicts(of results: [CheckResult]) -> [String: Verdict] {
        Dictionary(results.map { ($0.rule.id, $0.verdict) }) { first, _ in first }
    }

    private func observe(_ results: CheckResult...) -> [CheckResult] {
        var observer = MemoryObserver(scope)
        for result in results { observer.add(result) }
        return observer.results
    }

    @Test func eachMemoryRuleHasAResult() throws {
        let results = observe(try result("ORDER-01", .passed, [error("InvalidRead"), error("Leak_DefinitelyLost")]))
        #expect(verdicts(of: results) == ["MEM-01": .failed, "MEM-02": .passed, "MEM-03": .passed, "MEM-04": .failed])
        try #require(!results.isEmpty)
        #expect(results[0].findings.map(\.detail) == ["ORDER-01: InvalidRead of size 1"])
        #expect(results[0].findings.first?.stack == ["hold (tide.c:1)"] && results[0].repeatCommand("x") == "x --filter ORDER-01")
    }

    /// A finding names the first check of the catalogue with this error, in whatever order the checks end.
    @Test func equalErrorsOfManyChecksAreReportedOnce() throws {
        let results = observe(
            try result("ORDER-02", .passed, [error("InvalidRead"), error("InvalidRead", line: 2)]),
            try result("DESC-01", .failed, [error("InvalidRead", size: 7)]))
        #expect(
            results.first?.findings.map(\.detail) == [
                "DESC-01: InvalidRead of size 1; also in 1 other check", "ORDER-02: InvalidRead of size 1",
            ])
        #expect(results.first?.repeatCommand("x") == "x --filter DESC-01,ORDER-02")
    }

    /// The memory of a load that the check could not end is not leaked but in use. The leaks of a process that was
    /// killed are unknown.
    @Test func leaksCountOnlyIfTheLoadsHaveEnded() throws {
        let leak = error("Leak_DefinitelyLost")
        #expect(verdicts(of: observe(try result("ORDER-01", .passed, [leak], hasLeftOpen: true)))["MEM-04"] == .passed)
        for resultOfKilledProcess in [
            try result("ORDER-01", .crashed, [leak], isWhole: true), try result("ORDER-01", .hung, [leak], isWhole: false),
            try result("ORDER-01", .passed, [], isWhole: false),
        ] {
            let results = observe(resultOfKilledProcess)
            #expect(verdicts(of: results) == ["MEM-01": .passed, "MEM-02": .passed, "MEM-03": .passed, "MEM-04": .warned])
            try #require(results.count > 3)
            #expect(results[3].findings.first?.detail.hasPrefix("ORDER-01: its leaks are unknown") == true)
        }
    }

    /// A crash by SIGSEGV counts as an invalid access even without an error of memcheck. A crash by abort(3) does not.
    @Test func crashByASignalIsAnInvalidAccess() throws {
        var crashResult = try result("ORDER-01", .crashed)
        (crashResult.note, crashResult.stack) = ("ended by SIGSEGV: it accessed memory that it does not own", ["hold (tide.c:1)"])
        let results = observe(crashResult)
        try #require(!results.isEmpty)
        #expect(results[0].verdict == .failed)
        #expect(results[0].findings.map(\.detail) == ["ORDER-01: ended by SIGSEGV: it accessed memory that it does not own"])
        #expect(results[0].findings.first?.stack == ["hold (tide.c:1)"])
        crashResult.note = "ended by SIGABRT"
        #expect(observe(crashResult).first?.verdict == .passed)
        crashResult.note = "the process exited with status 0"
        #expect(observe(crashResult, try result("ORDER-02")).allSatisfy { $0.verdict == .crashed })
        var crashWithError = try result("ORDER-01", .crashed, [error("InvalidRead")])
        crashWithError.note = "ended by SIGSEGV"
        #expect(observe(crashWithError).first?.findings.map(\.detail) == ["ORDER-01: InvalidRead of size 1"])
    }

    @Test func resultWithoutValgrindIsSkipped() throws {
        let results = observe(CheckResult(try #require(RuleCatalogue.rule("ORDER-01")), .passed))
        #expect(results.allSatisfy { $0.verdict == .skipped } && results.count == 4)
    }

    @Test func incompleteLogIsSkipped() throws {
        let results = observe(try result("ORDER-01", .crashed, isWhole: false))
        #expect(results.allSatisfy { $0.verdict == .skipped && $0.note?.contains("Valgrind gave up") == true })
    }

    @Test func allReportsHaveTheStackAndTheCommand() throws {
        let summary = Summary(observe(try result("ORDER-01", .passed, [error("InvalidRead")])))
        let command = "portolan check x --sanitizer"
        var report = TextReport(repeatingBy: command, isVerbose: false)
        let texts = [
            summary.results.flatMap { report.lines(for: $0) }.joined(separator: "\n"),
            TAPReport(repeatingBy: command).text(of: summary), JUnitReport(repeatingBy: command).text(of: summary, target: "x"),
            HTMLReport(repeatingBy: command).page(of: summary, target: "x"),
            String(decoding: JSONReport(repeatingBy: command).value(of: summary, target: "x", library: nil).bytes, as: UTF8.self),
        ]
        for text in texts {
            for phrase in ["MEM-01", "hold (tide.c:1)", "\(command) --filter ORDER-01"] {
                #expect(text.contains(phrase), "\(phrase) in \(text)")
            }
        }
    }
}
