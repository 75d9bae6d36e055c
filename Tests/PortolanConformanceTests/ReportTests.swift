// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanConformance

/// The reports of results, and the transfer of results from the process of a check.
@Suite struct ReportTests {
    private func rule(_ id: String) throws -> ConformanceRule { try #require(RuleCatalogue.rule(id)) }

    private func results() throws -> [CheckResult] {
        [
            CheckResult(try rule("ORDER-02"), .failed, findings: [Finding(.failure, "it ended \"twice\" <&> # \\")]),
            CheckResult(try rule("DESC-01"), .passed),
            CheckResult(try rule("CAN-01"), .skipped, note: "the manifest names no URL # here"),
            CheckResult(try rule("LIFE-05"), .crashed, note: "ended by SIGSEGV"),
        ]
    }

    @Test func summaryFollowsTheCatalogueAndCountsSkippedChecks() throws {
        let summary = Summary(try results())
        #expect(summary.results.map(\.rule.id) == ["DESC-01", "CAN-01", "LIFE-05", "ORDER-02"])
        #expect(summary.line == "4 checks: 1 passed, 1 failed, 1 crashed; skipped: 1")
        #expect(!summary.isSuccess)
        #expect(Summary([CheckResult(try rule("DESC-01"), .warned)]).isSuccess)
    }

    @Test func categoriesHaveATitleAndTheirCountsInOneColumn() throws {
        let lines = Summary(try results()).categoryLines
        #expect(
            lines == [
                "The library and its descriptor (DESC)  1 passed",
                "can_init (CAN)                         1 skipped",
                "The life of a load (LIFE)              1 crashed",
                "The order of events (ORDER)            1 failed",
            ])
    }

    @Test func summaryWithoutVerdictsIsNotASuccess() throws {
        let summary = Summary([CheckResult(try rule("CAN-01"), .skipped, note: "the manifest names no URL")])
        #expect(!summary.isSuccess && summary.isSkippedEntirely)
        #expect(HTMLReport(repeatingBy: "portolan check x").page(of: summary, target: "x").contains("was not checked</span>"))
    }

    @Test func tapReportEscapesItsSyntax() throws {
        let lines = TAPReport(repeatingBy: "portolan check x").text(of: Summary(try results())).split(separator: "\n").map(String.init)
        try #require(lines.count > 1)
        #expect(lines[1] == "1..4")
        #expect(lines.contains { $0.hasPrefix("ok 2 - CAN-01") && $0.hasSuffix(##"# SKIP the manifest names no URL \# here"##) })
        #expect(lines.contains(#"    - "it ended \"twice\" <&> # \\""#))
    }

    @Test func junitReportEscapesMarkup() throws {
        let text = JUnitReport(repeatingBy: "portolan check x").text(of: Summary(try results()), target: "a<b")
        #expect(text.contains(#"classname="a&lt;b""#) && text.contains("it ended &quot;twice&quot; &lt;&amp;&gt;"))
        #expect(text.contains(#"<error type="crashed""#) && text.contains(#"tests="4" failures="1" errors="1""#))
    }

    /// Texts of a plugin must not become markup of the page.
    @Test func htmlReportEscapesMarkup() throws {
        var results = try results()
        try #require(results.count > 3)
        results[0].lastEvents = ["0.100 ms  thread 7  did_load <b>&\" 5"]
        results[3].stack = ["plugin.so(run<int>+0x3)[0x4]"]
        let page = HTMLReport(repeatingBy: "portolan check 'a&b'").page(of: Summary(results), target: "<script>")
        for fragment in ["<script>", "<b>&", "<&>", "run<int>", "'a&b'"] { #expect(!page.contains(fragment), "\(fragment)") }
        for text in [
            "<h1>&lt;script&gt;", "&lt;&amp;&gt; # \\</li>", "did_load &lt;b&gt;&amp;&quot; 5", "run&lt;int&gt;",
            "check 'a&amp;b' --filter",
        ] {
            #expect(page.contains(text), "\(text)")
        }
    }

    @Test func resultRoundTripsThroughItsBytes() throws {
        var result = CheckResult(
            try rule("ORDER-02"), .failed,
            findings: [Finding(.failure, "one"), Finding(.warning, "two \u{1F9ED}", remedy: "Change two.")], note: "a note")
        result.lastEvents = ["0.100 ms  thread 7  → make"]
        result.hungLoads = try #require(HungLoads([1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(CheckResult(childBytes: result.childBytes, result.rule) == result)
        for count in 0..<result.childBytes.count {
            #expect(CheckResult(childBytes: Array(result.childBytes.prefix(count)), result.rule) == nil)
        }
    }

    @Test func inconsistentResultIsRefused() throws {
        let rule = try rule("ORDER-02")
        let bytesOfFailure = CheckResult(rule, .failed, findings: [Finding(.failure, "x")]).childBytes
        let bytesOfWarning = CheckResult(rule, .warned, findings: [Finding(.warning, "x")]).childBytes
        #expect(bytesOfFailure.count == bytesOfWarning.count)
        for index in bytesOfFailure.indices {
            var bytes = bytesOfFailure
            bytes[index] = bytesOfWarning[index]
            if bytes != bytesOfFailure { #expect(CheckResult(childBytes: bytes, rule) == nil, "\(index)") }
        }
        // The bytes contain no verdict. The runner derives the verdict from the findings.
        let resultWithWrongVerdict = CheckResult(rule, .passed, findings: [Finding(.failure, "x")])
        #expect(CheckResult(childBytes: resultWithWrongVerdict.childBytes, rule)?.verdict == .failed)
    }

    @Test func resultNeedsTheKeyOfItsCheck() throws {
        let (signedResult, rule) = (try SignedResult(), try rule("ORDER-02"))
        signedResult.renew()
        let oldKey = signedResult.key
        #expect(ResultKey(oldKey.bytes) == oldKey)
        signedResult.renew()
        #expect(!signedResult.store([1], for: rule, oldKey))
        #expect(signedResult.store([1], for: rule, signedResult.key))
        #expect(signedResult.content(for: rule) == .result([1]))
        #expect(signedResult.content(for: try self.rule("ORDER-03")) == .forged)
    }

    /// If each finding has its own remedy, the report omits the remedy of the rule.
    @Test func findingCanHaveItsOwnRemedy() throws {
        let rule = try rule("DESC-05")
        let findingWithRemedy = Finding(.failure, "handler 0 has no function make", remedy: "Set make.")
        for (findings, remedy) in [
            ([findingWithRemedy, findingWithRemedy], "Set make."),
            ([findingWithRemedy, Finding(.failure, "x")], "Set make. \(rule.remedy)"), ([Finding(.failure, "x")], rule.remedy),
        ] {
            let result = CheckResult(rule, .failed, findings: findings)
            #expect(result.remedy == remedy)
            var report = TextReport(repeatingBy: "portolan check x", isVerbose: false)
            #expect(report.lines(for: result).contains("         fix: \(remedy)"))
        }
        let crash = CheckResult(rule, .crashed, note: "ended by SIGSEGV")
        #expect(!crash.reason.contains(rule.reason))
    }

    /// If several checks fail with the same error, only the first is reported completely.
    @Test func checksWithTheSameErrorAreGrouped() throws {
        func failedResult(_ id: String, _ details: String...) throws -> CheckResult {
            CheckResult(try rule(id), .failed, findings: details.map { Finding(.failure, $0) })
        }
        let results = [
            try failedResult("BODY-01", "'a:' gave an error (badResponse: 'no (x) length'), but should succeed"),
            try failedResult("CHAL-03", "'b:' received the manifest's credential, but gave an error (badResponse: 'no (x) length')"),
            try failedResult("BODY-06", "'c:' gave an error (truncated), but should succeed"),
            try failedResult("BODY-07", "'d:' gave an error (badResponse: 'no (x) length'), but should succeed", "it did not end"),
        ]
        #expect(results.map(\.sharedError) == ["badResponse: 'no (x) length'", "badResponse: 'no (x) length'", "truncated", nil])
        #expect(
            Summary(results).errorLines == [
                "2 checks failed with the same error, badResponse: 'no (x) length'; fix that first, then check again: BODY-01, CHAL-03"
            ])
        var report = TextReport(repeatingBy: "portolan check x", isVerbose: false)
        let counts = results.map { report.lines(for: $0).count { $0.hasPrefix("         fix: ") } }
        #expect(counts == [1, 0, 1, 1])
    }

    @Test func orderCarriesTheLoadsAndStepsThatHung() throws {
        let key = ResultKey()
        let hungLoads = try #require(HungLoads([0, 0, 0, 0, 0, 0, 1, 5]))
        var steps = HungSteps()
        steps.add(Self.hungResult("DESC-01", after: ["→ dlopen"]))
        let order = CheckOrder(CheckOrder(258, hungLoads, steps, key).bytes)
        #expect(order.number == 258 && order.hungLoads == hungLoads && order.hungSteps == steps && order.key == key)
        #expect(HungLoads([1, 2]) == nil)
        #expect(HungSteps([1, 2]) == nil)
    }

    private static func hungResult(_ id: String, after calls: [String]) -> CheckResult {
        var result = CheckResult(RuleCatalogue.rule(id) ?? RuleCatalogue.rules[0], .hung)
        result.lastEvents = calls.enumerated().map { "\($0.offset).000 ms  thread 7  \($0.element)" }
        return result
    }

    /// Opening is left out after one check that hung in it, and another call after two.
    @Test func stepThatHungIsLeftOut() {
        var steps = HungSteps()
        steps.add(Self.hungResult("DESC-01", after: ["→ dlopen", "← dlopen", "→ init", "← init", "→ make x:y", "← make"]))
        #expect(PluginStep.allCases.allSatisfy { steps.objection(to: $0) == nil })
        steps.add(Self.hungResult("LIFE-03", after: ["→ dlopen", "← dlopen", "load 1  → destroy"]))
        #expect(PluginStep.allCases.allSatisfy { steps.objection(to: $0) == nil })
        steps.add(Self.hungResult("LIFE-04", after: ["load 2  → destroy"]))
        #expect(steps.objection(to: .destroy) == "'destroy' did not return in the check of LIFE-04")
        steps.add(Self.hungResult("DESC-02", after: ["→ dlopen"]))
        #expect(
            steps.objection(to: .dlopen)
                == "the library does not load: dlopen(3), with the constructors, did not return in the check of DESC-02")
        #expect(steps.objection(to: .entry) == nil)
    }

    @Test func swiftNamesAreDemangled() {
        #expect(StackNames.swiftName(of: "$s4tide4load3urlySS_tF") == "tide.load(url: Swift.String) -> ()")
        for name in ["run", "_ZN3fooEv", "$s", "$sx\u{301}", ""] { #expect(StackNames.swiftName(of: name) == name) }
    }

    /// In the chart, each call has a name, or is counted in the name of the call before it.
    @Test func callsInTheChartHaveNames() {
        let lines = [
            "0.100 ms  thread 7  load 1  → run", "0.101 ms  thread 7  load 1  did_load 5", "0.102 ms  thread 7  load 1  did_finish",
            "9.000 ms  thread 7  load 1  ← run", "5.000 ms  thread 8  load 2  → make <x>",
        ]
        let svg = Timeline(lines).svg
        for name in [">→ run, +2</text>", ">← run</text>", ">→ make</text>"] { #expect(svg.contains(name), "\(name)") }
    }

    @Test func skippedCheckThatNamesAPassedRuleFails() throws {
        /// The verdict on FLOW-01, which is skipped because of LIFE-02, if LIFE-02 has these verdicts.
        func verdict(_ verdictsOfNamedRule: Verdict...) throws -> Verdict? {
            var contradictions = Contradictions(isEnabled: true)
            #expect(contradictions.add(CheckResult(try rule("FLOW-01"), .skipped, note: "'a:' did not end (LIFE-02): '(CAN-01)'")) == nil)
            #expect(contradictions.missingChecks.map(\.id) == ["CAN-01", "LIFE-02"])
            for verdict in verdictsOfNamedRule { _ = contradictions.add(CheckResult(try rule("LIFE-02"), verdict)) }
            _ = contradictions.add(CheckResult(try rule("CAN-01"), .skipped))
            return contradictions.results.first?.verdict
        }
        #expect(try verdict(.passed) == .failed)
        #expect(try verdict(.warned, .passed) == .failed)
        #expect(try verdict(.passed, .failed) == .skipped)
        #expect(try verdict(.crashed) == .skipped)
        #expect(try verdict(.skipped) == .skipped)
        var contradictions = Contradictions(isEnabled: true)
        // If another rule failed, or if the load takes time after a stop, the skip is not a contradiction.
        for (id, failing, expected) in [
            ("DESC-04", "ORDER-01", Verdict.failed), ("LIFE-02", "ORDER-01", .skipped), ("CANCEL-04", "DESC-06", .skipped),
        ] {
            var contradictions = Contradictions(isEnabled: true)
            _ = contradictions.add(CheckResult(try rule("FLOW-01"), .skipped, note: "so it is (\(id))"))
            _ = contradictions.add(CheckResult(try rule(id), .passed))
            _ = contradictions.add(CheckResult(try rule(failing), id == "CANCEL-04" ? .passed : .failed))
            #expect(contradictions.results.map(\.verdict) == [expected], "\(id)")
        }
        let resultWithoutARule = CheckResult(
            try rule("FLOW-01"), .skipped, note: "it does not apply: every load of that kind blocks (or not)")
        #expect(contradictions.add(resultWithoutARule) == resultWithoutARule)
    }

    @Test func truncatedCrashReportIsStillACrash() throws {
        let head: [UInt8] = [1, 11, 0, 0xEF, 0xBE, 0, 0, 0, 0, 0, 0]
        let lines = "(+0x1)\n/lib/libc.so.6(+0x2)\nlib (1).so(+0xbeef)\n(+0x4)\n?(+0x0)\n(+0x5"
        let report = try #require(CrashReport(head + Array(lines.utf8)))
        #expect(report.signal == 11 && report.addressPhrase == "at the address 0xbeef" && !report.lacksMemory)
        // The address of a call is one less than its return address.
        let places = [CodePlace(object: "lib (1).so", offset: 0xBEEF), .init(object: "", offset: 3), .init(object: "?", offset: 0)]
        #expect(report.stack?.places == places)
        var names = StackNames(program: "/no/such/program")
        let namedStack = report.stack?.named(by: &names, library: nil)
        #expect(namedStack?.lines == ["+0xbeef (in lib (1).so)"] && namedStack?.function == "+0xbeef (in lib (1).so)")
        for count in 0..<head.count { #expect(CrashReport(Array(head.prefix(count))) == nil) }
        #expect(CrashReport([1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0])?.lacksMemory == true)
    }

    /// The output is the one of addr2line(1) with the options `-a -f -C -i`.
    @Test func outputOfAddr2lineIsParsed() {
        let text = """
            0x0000000000001169
            copy
            /home/a b/c: d (1)/b.h:7 (discriminator 2)
            run(std::string)
            /home/a/tide.c:42
            0x0000000000000002
            ??
            ??:0
            0x0000000000000003
            malloc
            ??:?
            0x0000000000000004
            cut off
            """
        let names = StackNames.frames(at: [0x1169, 2, 3, 4], in: text, "/opt/tide.so")
        #expect(names[0x1169]?.map(\.phrase) == ["copy (b.h:7)", "run(std::string) (tide.c:42)"])
        #expect(names[2] == nil && names[3]?.map(\.phrase) == ["malloc (in tide.so)"] && names[4] == nil)
    }

    /// A crash in the C library, in a bundled library or in Swift's runtime is attributed to the function of the plugin
    /// that called it.
    @Test func crashIsAttributedToThePluginsOwnFunction() {
        let objects = ["/lib/libc.so.6", "/lib/libz.so.1", "/opt/tide.so", "", "", "/opt/tide.so", ""]
        let frames = objects.enumerated().map { CodePlace(object: $1, offset: UInt64($0 + 1)) }
        var names = StackNames(program: "/no/such/program")
        let namedStack = CrashStack(places: frames).named(by: &names, library: "tide.so")
        #expect(namedStack.function == "+0x3 (in tide.so)" && namedStack.key == "+0x3 (in tide.so)\n+0x6 (in tide.so)")
        #expect(
            namedStack.lines == [
                "+0x1 (in libc.so.6)", "+0x2 (in libz.so.1)", "+0x3 (in tide.so)", "the conformance runner", "+0x6 (in tide.so)",
            ])
        #expect(CrashStack(places: frames).named(by: &names, library: nil).function == "+0x2 (in libz.so.1)")
        let swiftFrames = ["/usr/lib/libswiftCore.so", "", "/opt/tide.so"].enumerated().map {
            CodePlace(object: $1, offset: UInt64($0 + 1))
        }
        #expect(CrashStack(places: swiftFrames).named(by: &names, library: "tide.so").function == "+0x3 (in tide.so)")
        #expect(CrashStack(places: [.init(object: "?", offset: 1)]).named(by: &names, library: "tide.so").function == nil)
    }

    /// The functions that end the process after a panic or an uncaught exception say nothing about its cause.
    @Test(arguments: [
        ("abort", true), ("abort_transfer", false), ("raise", true), ("raise_alarm", false), ("std::panicking::begin_panic_handler", true),
        ("core::panicking::panic_fmt", true), ("core::option::expect_failed", true), ("rust_begin_unwind", true), ("__cxa_throw", true),
        ("__cxxabiv1::__terminate(void (*)())", true), ("std::terminate()", true), ("std::vector<int>::at(unsigned long)", false),
        ("hello::load", false), ("core::ops::function::FnOnce::call_once", false), ("_Unwind_Resume", true),
    ])
    func runtimeFunctionsAreRecognised(function: String, endsProcess: Bool) {
        #expect(StackFrame(object: "tide.so", function: function, file: nil, line: nil).endsProcess == endsProcess)
        #expect(!StackFrame(object: "tide.so", function: nil, file: nil, line: nil).endsProcess)
    }

    @Test func equalCausesAreReportedOnce() throws {
        var results = try results() + [CheckResult(try rule("LIFE-01"), .crashed), CheckResult(try rule("LIFE-02"), .hung)]
        try #require(results.count > 5)
        for index in 3...4 { results[index].crash = .init(lines: [], function: "run<int> (tide.c:13)", key: "run") }
        results[5].lastEvents = ["0.100 ms  thread 7  → run", "0.200 ms  thread 6  → stop", "0.300 ms  thread 7  ← run"]
        var report = TextReport(repeatingBy: "portolan check x", isVerbose: false, hasSanitizer: true)
        let lines = results.flatMap { report.lines(for: $0) }
        #expect(lines.contains("         more: portolan check x --filter LIFE-05 --sanitizer"))
        #expect(!lines.contains { $0.hasPrefix("crashed  LIFE-01") }, "\(lines)")
        let crashLineIndex = try #require(lines.firstIndex(of: "crashed  LIFE-05  it crashed in run<int> (tide.c:13)"), "\(lines)")
        #expect(lines[crashLineIndex + 1] == "         during the check: \(results[3].rule.sentence)")
        var verboseReport = TextReport(repeatingBy: "portolan check x", isVerbose: true)
        #expect(results.flatMap { verboseReport.lines(for: $0) }.contains { $0.hasPrefix("crashed  LIFE-01") })
        let summary = Summary(results)
        #expect(
            summary.causeLines == [
                "2 checks ended in the same way: it crashed in run<int> (tide.c:13); fix that first, then check again: LIFE-01, LIFE-05"
            ])
        let fiveCrashes = try ["DESC-05", "REG-04", "LIFE-01", "LIFE-02", "LIFE-03"].map { id in
            var result = CheckResult(try rule(id), .crashed)
            result.crash = .init(lines: [], function: "run", key: "run")
            return result
        }
        #expect(Summary(fiveCrashes).causeLines.first?.hasSuffix("then check again: DESC-05, REG-04, LIFE-01 and 2 others") == true)
        let page = HTMLReport(repeatingBy: "portolan check x").page(of: summary, target: "x")
        #expect(page.contains(##"run&lt;int&gt; (tide.c:13). Fix that first, then check again: <a href="#LIFE-01">LIFE-01</a>, <a"##))
        #expect(page.contains(#"id="LIFE-01" open"#) && page.contains(#"id="LIFE-05">"#) && page.contains(#"id="LIFE-02" open"#))
        #expect(results[5].cause?.phrase == "it hung in stop")
        results[5].lastEvents += ["0.400 ms  thread 6  ← stop", "?"]
        #expect(results[5].cause?.phrase == "it hung; last call: ← stop")
        // Crashes without a place, or at the same place in the runner's code, have different causes if their last calls
        // differ.
        results[3].crash = nil
        results[4].crash = nil
        results[4].note = results[3].note
        #expect(results[3].cause == results[4].cause)
        results[4].lastEvents = ["0.100 ms  thread 7  → destroy"]
        #expect(results[3].cause != results[4].cause && Summary(results).causeLines.isEmpty)
        // A check that ran twice is counted once.
        #expect(Summary([results[3], results[3]]).causeLines.isEmpty)
        let pageOfRepeatedCheck = HTMLReport(repeatingBy: "portolan check x").page(of: Summary([results[3], results[3]]), target: "x")
        #expect(pageOfRepeatedCheck.ranges(of: #"id="LIFE-05" open"#).count == 1)
    }

    @Test func readableMemoryIsRecognized() throws {
        let pages = try GuardedPages(10_000)
        #expect(unsafe ReadableMemory.contains(pages.base, pages.size))
        #expect(unsafe !ReadableMemory.contains(pages.base, pages.size + 1))
        #expect(unsafe !ReadableMemory.contains(pages.base - 1, 1))
        #expect(unsafe !ReadableMemory.contains(nil, 1))
        #expect(unsafe ReadableMemory.contains(nil, 0))
        pages.poison()
        #expect(unsafe !ReadableMemory.contains(pages.base, 1))
    }
}
