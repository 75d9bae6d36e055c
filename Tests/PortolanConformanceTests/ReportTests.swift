// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanConformance

/// What is printed of results, and what comes back from a process that made a check.
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

    @Test func theSummaryIsInTheCataloguesOrderAndCountsWhatWasNotJudged() throws {
        let summary = Summary(try results())
        #expect(summary.results.map(\.rule.id) == ["DESC-01", "CAN-01", "LIFE-05", "ORDER-02"])
        #expect(summary.line == "4 checks: 1 passed, 1 failed, 1 crashed; not judged: 1")
        #expect(!summary.isSuccess)
        #expect(Summary([CheckResult(try rule("DESC-01"), .warned)]).isSuccess)
    }

    @Test func tapEscapesItsMarks() throws {
        let lines = TAPReport(repeatingBy: "portolan check x").text(of: Summary(try results())).split(separator: "\n").map(String.init)
        #expect(lines[1] == "1..4")
        #expect(lines.contains { $0.hasPrefix("ok 2 - CAN-01") && $0.hasSuffix(##"# SKIP the manifest names no URL \# here"##) })
        #expect(lines.contains(#"    - "it ended \"twice\" <&> # \\""#))
    }

    @Test func xmlEscapesItsMarks() throws {
        let text = JUnitReport(repeatingBy: "portolan check x").text(of: Summary(try results()), subject: "a<b")
        #expect(text.contains(#"classname="a&lt;b""#) && text.contains("it ended &quot;twice&quot; &lt;&amp;&gt;"))
        #expect(text.contains(#"<error type="crashed""#) && text.contains(#"tests="4" failures="1" errors="1""#))
    }

    /// What a plugin says can't become markup.
    @Test func htmlEscapesItsMarks() throws {
        var results = try results()
        results[0].lastEvents = ["0.100 ms  thread 7  did_load <b>&\" 5"]
        results[3].stack = ["plugin.so(run<int>+0x3)[0x4]"]
        let page = HTMLReport(repeatingBy: "portolan check 'a&b'").page(of: Summary(results), subject: "<script>")
        for mark in ["<script>", "<b>&", "<&>", "run<int>", "'a&b'"] { #expect(!page.contains(mark), "\(mark)") }
        for text in [
            "<h1>&lt;script&gt;", "&lt;&amp;&gt; # \\</li>", "did_load &lt;b&gt;&amp;&quot; 5", "run&lt;int&gt;",
            "check 'a&amp;b' --filter",
        ] {
            #expect(page.contains(text), "\(text)")
        }
    }

    @Test func aResultComesBackFromItsProcess() throws {
        let result = CheckResult(
            try rule("ORDER-02"), .failed, findings: [Finding(.failure, "one"), Finding(.warning, "two \u{1F9ED}")], note: "a note")
        #expect(CheckResult(childBytes: result.childBytes, result.rule) == result)
        for count in 0..<result.childBytes.count {
            #expect(CheckResult(childBytes: Array(result.childBytes.prefix(count)), result.rule) == nil)
        }
    }

    @Test func aCrashThatWasCutOffIsStillOne() {
        let head: [UInt8] = [1, 11, 0xEF, 0xBE, 0, 0, 0, 0, 0, 0]
        let report = CrashReport.read(head + Array("/lib/libc.so.6(+0x1)[0x2]\nplugin.so(run+0x3)[0x4]\n".utf8))
        #expect(report.what == "at the address 0xbeef" && report.stack == ["plugin.so(run+0x3)[0x4]"])
        for count in 0..<head.count { #expect(CrashReport.read(Array(head.prefix(count))).what == nil) }
    }

    @Test func whatIsReadableIsKnown() throws {
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
