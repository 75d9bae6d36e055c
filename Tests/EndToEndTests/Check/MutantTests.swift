// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import TestThreads
import Testing

/// Every check can fail: a plugin that follows all rules passes all checks, and a plugin that violates a rule fails
/// that rule's check.
///
/// `make test` runs the check of its rule for each mutant up to level 3, and all checks for every sixteenth one, in a
/// separate process in parallel with the other tests, which would otherwise wait. `make test-full` runs all checks for
/// all mutants.
@Suite(.blocking, .enabled(if: Mutant.level != nil, "set PORTOLAN_MUTANTS to a level, as make test-mutants does"), .timeLimit(.minutes(30)))
struct MutantTests {
    @Test func pluginThatFollowsEveryRulePasses() throws {
        // The LEAK checks measure many loads, and skip a URL if these take too long, as they do on a busy machine.
        let report = try CheckReport(of: Mutant.folder.appendingPathComponent("good.so"), level: 5, timeout: 900)
        for result in report.results {
            // CAN-05 and DESC-10 measure time, so a machine under load can fail them without a fault of the plugin.
            if result.id == "CAN-05" || result.id == "DESC-10" { continue }
            // MANIF-07 applies to bindings only.
            if result.id == "MANIF-07" { continue }
            #expect(result.verdict == "passed", "\(result.id): \(result.note ?? "")")
        }
    }

    /// The manifest has loads that take longer than the time limit of a stopped load, and a load whose body differs
    /// each time. CAN-05 and DESC-10 are excluded as above.
    @Test(.enabled(if: Mutant.level == 5, "make test-full runs this test, which takes a minute"))
    func pluginWithSlowOrVaryingLoadsPasses() throws {
        let report = try CheckReport(of: Mutant.folder.appendingPathComponent("slow.plugin.json"), level: 5, jobs: 16)
        #expect(report.checksWithProblems.filter { $0 != "CAN-05" && $0 != "DESC-10" } == [])
        // Only a few checks are skipped for lack of time.
        #expect(report.results.count { $0.verdict == "skipped" } < 20)
    }

    @Test func bindingThatFollowsItsRulePasses() throws {
        let program = try Program()
        #expect(try program.run("new", "plugin", "sum", "--language", "binding").status == 0)
        let outcome = try program.run("check", "sum/sum.plugin.json", "--filter", "MANIF-07", "--verbose")
        #expect(outcome.text.hasPrefix("passed   MANIF-07"), "\(outcome.text)")
    }

    @Test(arguments: Mutant.selected(withAllChecks: false))
    func mutantFailsTheCheckOfItsRule(_ mutant: Mutant) throws {
        let report = try CheckReport(of: mutant.library, level: max(3, mutant.level), onlyRule: mutant.rule)
        #expect(report.checksWithProblems == [mutant.rule])
    }

    @Test(arguments: Mutant.selected(withAllChecks: true))
    func mutantFailsTheCheckOfItsRuleAndFewOthers(_ mutant: Mutant) throws {
        let report = try CheckReport(of: mutant.library, level: max(3, mutant.level))
        #expect(report.checksWithProblems.contains(mutant.rule), "\(report.checksWithProblems)")
        let otherChecks = report.checksWithProblems.filter { $0 != mutant.rule && $0 != "CAN-05" && $0 != "DESC-10" }
        #expect(otherChecks.count <= 2, "\(otherChecks)")
    }

    @Test func everyCheckHasAMutant() throws {
        let rules = Set(Mutant.all.map(\.rule))
        for check in ConformanceCheck.all { #expect(rules.contains(check.id), "\(check)") }
        for rule in rules { #expect(ConformanceCheck.named(rule) != nil, "\(rule)") }
    }

    /// Mutants also fail with another identifier and another file name.
    @Test(arguments: Mutant.selected.enumerated().filter { $0.offset % 16 == 5 }.map(\.element))
    func verdictDoesNotDependOnTheName(_ mutant: Mutant) throws {
        let program = try Program()
        let otherName = "x" + UUID().uuidString.lowercased().prefix(8)
        let build = try program.runScript(
            """
            make -s -C '\(Mutant.source.path)' OUT="$PWD/out" IDENTIFIER=org.example.\(otherName) "$PWD/out/\(mutant.name).so" "$PWD/out/\(mutant.name).plugin.json" &&
            mv out/\(mutant.name).so out/\(otherName).so && sed s/\(mutant.name)/\(otherName)/ out/\(mutant.name).plugin.json > out/\(otherName).plugin.json
            """)
        #expect(build.status == 0, "\(build.errors)")
        let library = program.folder.appendingPathComponent("out/\(otherName).so")
        let report = try CheckReport(of: library, level: max(3, mutant.level), onlyRule: mutant.rule)
        #expect(report.checksWithProblems == [mutant.rule])
    }

    @Test func matrixListsEveryMutant() throws {
        let rows = ConformanceCheck.all.map { check in
            let mutants = Mutant.all.filter { $0.rule == check.id }.map { "`\($0.name)`" }.joined(separator: ", ")
            return "| \(check.id) | \(check.rule.level) | \(mutants) |"
        }
        let page = """
            # Checks and their mutants

            The mutants in a row fail the check of that row. A mutant is a plugin that violates one rule and as little else as possible;
            `Tests/PluginFixtures/mutants` builds all of them from one source. `MutantTests` proves the rows up to level 3 on every run of the tests, and all rows
            with `make test-full`. It also proves that a mutant fails no more than two other checks (every sixteenth mutant on every run, all of them with
            `make test-full`), and that the plugin without a mutation passes all checks. `MutantTests` writes this page.

            \(ConformanceCheck.all.count) checks, \(Mutant.all.count) mutants.

            | check | level | failed by |
            | --- | --- | --- |

            """
        try Repository.expect(page + rows.joined(separator: "\n") + "\n", in: "docs/conformance-matrix.md")
    }
}
