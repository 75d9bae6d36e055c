// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// A plugin that never returns from a call that most checks need delays only the first checks: the others are skipped.
@Suite(.blocking, .timeLimit(.minutes(5)), .enabled(if: !Program.isSanitized, "it tests processes, not memory"))
struct HungStepTests {
    private static let jobs = 2

    /// `line` begins the function that hangs. `step` is the function's name in the call log. `limit` is the number of
    /// checks in which the function may hang.
    @Test(arguments: [
        ("void use(void) {", "dlopen", 1, "the library does not load: dlopen(3), with the constructors, did not return in "),
        (
            "const portolan_plugin *ENTRY(uint32_t abi_major) {", "portolan_plugin_entry", 1,
            "the library does not load: portolan_plugin_entry did not return in "
        ),
        ("static void *init(portolan_host *host, portolan_refusal *refusal) {", "init", 2, "'init' did not return in "),
        ("static void destroy(void *pointer) {", "destroy", 2, "'destroy' did not return in "),
        ("static void deinit(void *pointer) {", "deinit", 2, "'deinit' did not return in "),
    ])
    func hangDelaysFewChecks(_ line: String, _ step: String, _ limit: Int, _ note: String) throws {
        let program = try Program()
        let include = Mutant.source.appendingPathComponent("../../../Sources/CPortolan/include").path
        let made = try program.runScript(
            """
            mkdir plugin && cd plugin && cp '\(Mutant.source.path)'/*.[ch] . && cp '\(Mutant.folder.path)/good.plugin.json' . &&
            echo '__attribute__((constructor)) static void use(void) {
            }' >> mutant.c && grep -qF '\(line)' *.[ch] && sed -i 's/^\\(.*\(line.replacing("*", with: "[*]"))\\)$/\\1 for (;;) pause();/' *.[ch] &&
            cc -std=gnu11 -w -shared -fPIC -pthread -fvisibility=hidden -I '\(include)' mutant.c -o good.so && rm *.[ch]
            """)
        #expect(made.status == 0, "\(made.errors)")
        let outcome = try program.run("check", "plugin/good.plugin.json", "--json", "--timeout", "2", "--jobs", String(Self.jobs))
        #expect(outcome.status == 111)
        let report = try JSONDecoder().decode(CheckReport.self, from: outcome.output)
        let hung = report.results.filter { $0.verdict == "hung" && $0.note?.hasSuffix(" in \(step)") == true }
        // Each other job can have begun a check before the last of them was over.
        #expect((1..<limit + Self.jobs).contains(hung.count), "\(hung.map(\.id))")
        let skipped = report.results.filter { $0.verdict == "skipped" && ($0.note ?? "").hasPrefix(note) }
        #expect(skipped.count > 60, "\(report.results.map { "\($0.id) \($0.verdict) \($0.note ?? "")" })")
        // What does not need the step is checked.
        #expect(report.results.contains { $0.id == "SEC-05" && $0.verdict == "passed" })
        #expect(!report.results.contains { $0.verdict == "crashed" })
    }
}
