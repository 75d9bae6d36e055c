// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import TestThreads
import Testing

/// Each check can fail: a plugin that keeps every rule passes all of them, and one that breaks a rule is failed by that rule's check.
///
/// Hundreds of judgements of 150 checks: `make test` runs those up to level 3 in a process of their own, beside the other tests, which would
/// wait for them in one, and `make test-full` all.
@Suite(.blocking, .enabled(if: Mutant.level != nil, "set PORTOLAN_MUTANTS to a level, as make test-mutants does"), .timeLimit(.minutes(30)))
struct MutantTests {
    @Test func aPluginThatKeepsEveryRulePasses() throws {
        let judgement = try Judgement(of: Mutant.folder.appendingPathComponent("good.so"), level: 5, timeout: 120)
        for result in judgement.results {
            // A machine under load is no fault of a plugin that is asked how fast it is.
            if result.id == "CAN-05" || result.id == "DESC-10" { continue }
            // … and a plugin is no binding.
            if result.id == "MANIF-07" { continue }
            #expect(result.verdict == "passed", "\(result.id): \(result.note ?? "")")
        }
    }

    /// A peer may think for longer than a stopped load is given to come to rest, and content may be another each time. (CAN-05 and DESC-10 as above.)
    @Test(.enabled(if: Mutant.level == 5, "make test-full judges it, for a minute"))
    func aPluginWhoseLoadsAreSlowOrVaryPasses() throws {
        let judgement = try Judgement(of: Mutant.folder.appendingPathComponent("slow.plugin.json"), level: 5, jobs: 16)
        #expect(judgement.found.filter { $0 != "CAN-05" && $0 != "DESC-10" } == [])
        // … and what is not judged for want of time is little.
        #expect(judgement.results.count { $0.verdict == "skipped" } < 20)
    }

    @Test func aBindingThatKeepsItsRulePasses() throws {
        let program = try Program()
        #expect(try program.run("new", "plugin", "sum", "--language", "binding").status == 0)
        let outcome = try program.run("check", "sum/sum.plugin.json", "--filter", "MANIF-07", "--verbose")
        #expect(outcome.text.hasPrefix("passed   MANIF-07"), "\(outcome.text)")
    }

    @Test(arguments: Mutant.judged)
    func aMutantIsFailedByItsRuleAndFewOthers(_ mutant: Mutant) throws {
        let judgement = try Judgement(of: Mutant.folder.appendingPathComponent("\(mutant.name).so"), level: max(3, mutant.level))
        #expect(judgement.found.contains(mutant.rule), "\(judgement.found)")
        let others = judgement.found.filter { $0 != mutant.rule && $0 != "CAN-05" && $0 != "DESC-10" }
        #expect(others.count <= 2, "\(others)")
    }

    @Test func everyCheckHasAMutant() throws {
        let rules = Set(Mutant.all.map(\.rule))
        for check in ConformanceCheck.all { #expect(rules.contains(check.id), "\(check)") }
        for rule in rules { #expect(ConformanceCheck.named(rule) != nil, "\(rule)") }
    }

    /// The verdict does not come from a name: built under another identifier, and called something else, each is failed all the same.
    @Test(arguments: Mutant.judged.enumerated().filter { $0.offset % 16 == 5 }.map(\.element))
    func anotherNameMakesNoDifference(_ mutant: Mutant) throws {
        let program = try Program()
        let word = "x" + UUID().uuidString.lowercased().prefix(8)
        let made = try program.runScript(
            """
            make -s -C '\(Mutant.source.path)' OUT="$PWD/out" IDENTIFIER=org.example.\(word) "$PWD/out/\(mutant.name).so" "$PWD/out/\(mutant.name).plugin.json" &&
            mv out/\(mutant.name).so out/\(word).so && sed s/\(mutant.name)/\(word)/ out/\(mutant.name).plugin.json > out/\(word).plugin.json
            """)
        #expect(made.status == 0, "\(made.errors)")
        let judgement = try Judgement(of: program.folder.appendingPathComponent("out/\(word).so"), level: max(3, mutant.level))
        #expect(judgement.found.contains(mutant.rule), "\(judgement.found)")
        #expect(judgement.found.count <= 4, "\(judgement.found)")
    }

    @Test func theMatrixIsWhatThereIs() throws {
        let rows = ConformanceCheck.all.map { check in
            let killers = Mutant.all.filter { $0.rule == check.id }.map { "`\($0.name)`" }.joined(separator: ", ")
            return "| \(check.id) | \(check.rule.level) | \(killers) |"
        }
        let page = """
            # Checks and their mutants

            Each check is failed by the mutants in its row: plugins that break that rule and as little else as can be, which `Tests/PluginFixtures/mutants` builds
            from one source. `MutantTests` proves each row up to level 3 on every run of the tests, and all of them by `make test-full`, that a mutant is failed by no more than two other checks, and that the
            plugin without a mutation passes all of them. It also writes this page.

            \(ConformanceCheck.all.count) checks, \(Mutant.all.count) mutants.

            | check | level | failed by |
            | --- | --- | --- |

            """
        try Repository.expect(page + rows.joined(separator: "\n") + "\n", in: "docs/conformance-matrix.md")
    }
}
