// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Runs `portolan check --sanitizer` with the real Valgrind.
@Suite(
    .blocking, .timeLimit(.minutes(10)),
    .enabled(if: !Program.isSanitized, "Valgrind can't run a program that is built with AddressSanitizer"))
struct SanitizerTests {
    private static let namesWithMemoryErrors = [
        "use-after-free", "overrun", "unset", "free-twice", "lose", "deliver-unset", "deliver-freed",
    ]

    /// Creates a folder with the plugin that misuses memory, and with a manifest that lists the given loads.
    private func program(_ names: [String]) throws -> Program {
        let program = try Program()
        _ = try program.copyFixture("memory.so", to: "memory/memory.so")
        let loads = names.map { #"{"url": "memory:\#($0)"}"# }.joined(separator: ", ")
        try program.makeFile(
            "memory/memory.plugin.json",
            """
            {"identifier": "org.portolan.memory", "name": "Memory", "vendor": "The Portolan authors", "version": "1.0.0",
             "library": "memory.so", "schemes": ["memory"], "conformance": {"loads": [\(loads)]}}
            """)
        return program
    }

    private struct Report: Decodable {
        struct Result: Decodable {
            let id, verdict: String
            let findings: [Finding]
        }
        struct Finding: Decodable {
            let detail: String
            let stack: [String]?
            let again: String?
        }
        let results: [Result]

        /// The innermost plugin functions in the findings of a rule.
        func faultyFunctions(_ id: String) -> Set<String> {
            let functions = ["use_after_free", "overrun", "unset", "free_twice", "lose", "deliver_unset", "deliver_freed"]
            let findings = results.first { $0.id == id }?.findings ?? []
            return Set(
                findings.compactMap { finding in
                    functions.first { function in finding.stack?.contains { $0.hasPrefix("\(function) ") } == true }
                })
        }
    }

    @Test func eachMemoryErrorIsFoundInItsFunction() throws {
        let program = try program(Self.namesWithMemoryErrors + ["sound"])
        let outcome = try program.run("check", "memory", "--sanitizer", "--filter", "ORDER-02", "--json")
        #expect(outcome.status == 111, "\(outcome.errors)")
        let report = try JSONDecoder().decode(Report.self, from: outcome.output)
        #expect(
            report.results.map(\.id) == ["MEM-01", "MEM-02", "MEM-03", "MEM-04"] && report.results.allSatisfy { $0.verdict == "failed" })
        #expect(report.faultyFunctions("MEM-01") == ["use_after_free", "overrun", "deliver_freed"])
        #expect(report.faultyFunctions("MEM-02") == ["unset", "deliver_unset"])
        #expect(report.faultyFunctions("MEM-03") == ["free_twice"])
        #expect(report.faultyFunctions("MEM-04") == ["lose"])
        #expect(report.results.map(\.findings.count) == [3, 2, 1, 1], "\(report)")
        let finding = try #require(report.results.first?.findings.first { $0.stack?.first?.hasPrefix("use_after_free") == true })
        #expect(finding.detail == "ORDER-02: Invalid read of size 1")
        #expect(finding.stack?.contains("Address is 0 bytes inside a block of size 24 free'd:") == true, "\(finding)")
        #expect(finding.again == "portolan check memory --seed 1 --sanitizer --filter ORDER-02")
        let schema = try program.runScript(
            """
            cat > report.json <<'END'
            \(outcome.text)
            END
            /usr/bin/python3 -m jsonschema -i report.json '\(Repository.root.path)/docs/check-results.schema.json'
            """)
        #expect(schema.status == 0, "\(schema.errors)")
    }

    @Test func pluginWithoutMemoryErrorsPasses() throws {
        let program = try program(["sound"])
        let outcome = try program.run("check", "memory/memory.so", "--sanitizer", "--filter", "ORDER-02,LIFE-01", "-v")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.last == "org.portolan.memory: 4 checks: 4 passed", "\(outcome.text)")
        #expect(outcome.text.contains("2 checks ran under memcheck"), "\(outcome.text)")
    }

    @Test func unsupportedUseIsReportedWithTheRemedy() throws {
        let program = try program(["sound"])
        try program.copyManifest("LibMagic")
        for (arguments, variables, status, errorText) in [
            (["memory"], ["PATH": "/nonexistent"], 105, "there is no 'valgrind' in the PATH; install it"),
            (["data:"], [:], 2, "'data:' has none; leave out --sanitizer"),
            (["\(program.path)/LibMagic"], [:], 2, "/LibMagic' has none; leave out --sanitizer"),
            (["memory", "--in-process"], [:], 2, "leave out --in-process"),
            (["memory", "--filter", "MEM"], [:], 2, "is checked by --sanitizer, during the checks that --filter names"),
        ] as [([String], [String: String], Int32, String)] {
            let outcome = try program.run(["check", "--sanitizer"] + arguments, with: variables)
            #expect(
                outcome.status == status && outcome.output.isEmpty && outcome.errors.first?.contains(errorText) == true, "\(outcome.errors)"
            )
        }
    }
}
