// SPDX-License-Identifier: Apache-2.0

import PortolanHTML

/// Results for build servers, as JUnit XML: one suite for each category.
public struct JUnitReport: Sendable {
    /// The command that repeats the checks, without `--filter`.
    private let command: String

    public init(repeatingBy command: String) {
        self.command = command
    }

    public func text(of summary: Summary, target: String) -> String {
        let results = summary.results
        let failures = results.count { $0.verdict == .failed }
        let errors = results.count { $0.verdict == .crashed || $0.verdict == .hung }
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<testsuites name="portolan check" tests="\#(results.count)" failures="\#(failures)" errors="\#(errors)">"#,
        ]
        for category in RuleCatalogue.categories {
            let categoryResults = results.filter { $0.rule.category == category.id }
            guard !categoryResults.isEmpty else { continue }
            let skipped = categoryResults.count { $0.verdict == .skipped }
            lines.append(
                #"  <testsuite name="\#(category.id)" tests="\#(categoryResults.count)" failures="\#(categoryResults.count { $0.verdict == .failed })" errors="\#(categoryResults.count { $0.verdict == .crashed || $0.verdict == .hung })" skipped="\#(skipped)">"#
            )
            lines += categoryResults.flatMap { testCase($0, target: target) }
            lines.append("  </testsuite>")
        }
        return (lines + ["</testsuites>", ""]).joined(separator: "\n")
    }

    private func testCase(_ result: CheckResult, target: String) -> [String] {
        let head =
            #"    <testcase classname="\#(HTMLEscaping.escaped(target))" name="\#(result.rule.id)" time="\#(Self.seconds(result.duration))""#
        let phrase = HTMLEscaping.escaped(
            ([result.note].compactMap { $0 } + result.findings.flatMap { $0.lines(command) } + [
                result.remedy, result.repeatCommand(command),
            ])
            .joined(separator: "\n"))
        let message = HTMLEscaping.escaped(result.rule.sentence)
        switch result.verdict {
        case .passed: return [head + "/>"]
        case .warned: return [head + ">", "      <system-out>\(phrase)</system-out>", "    </testcase>"]
        case .skipped: return [head + ">", #"      <skipped message="\#(HTMLEscaping.escaped(result.note ?? ""))"/>"#, "    </testcase>"]
        case .failed: return [head + ">", #"      <failure message="\#(message)">\#(phrase)</failure>"#, "    </testcase>"]
        case .crashed, .hung:
            return [
                head + ">", #"      <error type="\#(result.verdict.rawValue)" message="\#(message)">\#(phrase)</error>"#, "    </testcase>",
            ]
        }
    }

    private static func seconds(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        let milliseconds = String(attoseconds / 1_000_000_000_000_000)
        return "\(seconds).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)"
    }
}
