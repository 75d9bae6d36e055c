// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import Testing

/// A plugin that violates one rule. `ORDER_02b` is the second mutant that violates ORDER-02.
struct Mutant: Sendable, CustomTestStringConvertible {
    /// The tests check the mutants of rules up to this level. `nil` means no mutants.
    static let level = ProcessInfo.processInfo.environment["PORTOLAN_MUTANTS"].flatMap { Int($0) }

    let name: String
    var testDescription: String { name }
    var library: URL { Mutant.folder.appendingPathComponent("\(name).so") }

    /// The rule that the mutant violates.
    var rule: String {
        let id = name.split(separator: "_").joined(separator: "-")
        return id.last?.isLowercase == true ? String(id.dropLast()) : id
    }

    /// The level of ``rule``.
    var level: Int { ConformanceCheck.named(rule)?.rule.level ?? 1 }

    static let source = Repository.root.appendingPathComponent("Tests/PluginFixtures/mutants")
    static let folder = Repository.root.appendingPathComponent(".build/fixtures/mutants")

    /// The mutants that `make fixtures` built, sorted by name.
    static let all: [Mutant] = {
        // `try?` because another test fails if there are no mutants.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".so") && $0 != "good.so" }.sorted().map { Mutant(name: String($0.dropLast(3))) }
    }()
}

extension Mutant {
    /// The mutants up to the selected level, in reversed order. Most mutants that hang are last in the alphabet. The
    /// tests start these first, so the whole run is shorter.
    static let selected = Array(all.filter { $0.level <= level ?? 0 }.reversed())

    /// Splits ``selected`` into the mutants with which the tests run all checks, and those with which they run only the
    /// check of the rule. All checks of all mutants take 13 minutes of processor time, so only level 5 runs them.
    static func selected(withAllChecks: Bool) -> [Mutant] {
        selected.enumerated().filter { ($0.offset % 16 == 0 || level == 5) == withAllChecks }.map(\.element)
    }
}

/// The output of `portolan check --json`.
struct CheckReport: Decodable {
    struct Result: Decodable {
        let id, verdict: String
        let note: String?
        let findings: [Finding]
        var hasProblem: Bool { verdict != "passed" && verdict != "skipped" }
    }

    struct Finding: Decodable {
        let detail: String
    }

    let results: [Result]

    /// The IDs of the checks that found a problem.
    var checksWithProblems: [String] { results.filter(\.hasProblem).map(\.id) }

    /// - Parameters:
    ///   - onlyRule: The ID of the only rule to check. `nil` means each rule up to `level`.
    ///   - jobs: number of parallel checks; more than the processors if the plugin mostly waits.
    ///   - timeout: limit of each check in seconds; a check with ten thousand loads needs longer.
    init(of library: URL, level: Int, onlyRule: String? = nil, jobs: Int = 5, timeout: Int? = nil) throws {
        let program = try Program()
        var arguments = ["check", try Self.copyToSeparateFolder(library, in: program), "--level", String(level), "--json"]
        arguments += ["--jobs", String(jobs), "--timeout", String(timeout ?? (level > 3 ? 40 : onlyRule == nil ? 24 : 12))]
        if let onlyRule { arguments += ["--filter", onlyRule] }
        let outcome = try program.run(arguments)
        self = try JSONDecoder().decode(Self.self, from: outcome.output)
        let hasFailures = results.contains { ["failed", "crashed", "hung"].contains($0.verdict) }
        #expect(outcome.status == (hasFailures ? 111 : 0))
        #expect(results.count == (onlyRule == nil ? ConformanceCheck.all(level: level).count : 1))
    }

    /// Copies the library and its manifest into a separate folder. Each check links the files beside the library next
    /// to its copy, and the links to five hundred mutants took a quarter of the total time.
    private static func copyToSeparateFolder(_ library: URL, in program: Program) throws -> String {
        let baseName = library.deletingPathExtension().deletingPathExtension().lastPathComponent
        let copying = try program.runScript(
            """
            mkdir -p plugins/'\(baseName)' && cd plugins/'\(baseName)' && cp -dp '\(library.deletingLastPathComponent().path)'/'\(baseName)'.* . &&
            if [ '\(baseName)' = slow ]; then cp -p '\(library.deletingLastPathComponent().path)'/good.so .; fi &&
            if [ -L '\(baseName)'.so ]; then mkdir ../elsewhere && cp -p '\(library.path)' "../elsewhere/$(basename "$(readlink '\(baseName)'.so)")"; fi
            """)
        #expect(copying.status == 0, "\(copying.errors)")
        return program.folder.appendingPathComponent("plugins/\(baseName)/\(library.lastPathComponent)").path
    }
}
