// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import Testing

/// A plugin that breaks one rule: `ORDER_02b` is the second that breaks ORDER-02.
struct Mutant: Sendable, CustomTestStringConvertible {
    /// How deep they are judged: those of rules of this level or below. `nil`: not at all.
    static let level = ProcessInfo.processInfo.environment["PORTOLAN_MUTANTS"].flatMap { Int($0) }

    let name: String
    var testDescription: String { name }

    /// The rule that it breaks.
    var rule: String {
        let id = name.split(separator: "_").joined(separator: "-")
        return id.last?.isLowercase == true ? String(id.dropLast()) : id
    }

    /// The level of that rule.
    var level: Int { ConformanceCheck.named(rule)?.rule.level ?? 1 }

    static let source = Repository.root.appendingPathComponent("Tests/PluginFixtures/mutants")
    static let folder = Repository.root.appendingPathComponent(".build/fixtures/mutants")

    /// What `make fixtures` built, by name.
    static let all: [Mutant] = {
        // `try?` because that there are none fails a test of its own.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".so") && $0 != "good.so" }.sorted().map { Mutant(name: String($0.dropLast(3))) }
    }()
}

extension Mutant {
    /// Those that are judged now; the ones that hang stand at the end of the alphabet, and begin first, so that nothing waits for them at last.
    static let judged = all.filter { $0.level <= level ?? 0 }.reversed()
}

/// What `portolan check --json` printed.
struct Judgement: Decodable {
    struct Result: Decodable {
        let id, verdict: String
        let note: String?
        let findings: [Finding]
        var isFound: Bool { verdict != "passed" && verdict != "skipped" }
    }

    struct Finding: Decodable {
        let detail: String
    }

    let results: [Result]

    /// The checks that found something.
    var found: [String] { results.filter(\.isFound).map(\.id) }

    /// - Parameters:
    ///   - jobs: at once; more than processors where what is judged mostly waits.
    ///   - timeout: of each check, in seconds; ten thousand loads take their time.
    init(of library: URL, level: Int, jobs: Int = 5, timeout: Int? = nil) throws {
        let program = try Program()
        let outcome = try program.run(
            "check", try Self.alone(library, in: program), "--level", String(level), "--json", "--jobs", String(jobs), "--timeout",
            String(timeout ?? (level > 3 ? 40 : 12)))
        self = try JSONDecoder().decode(Self.self, from: outcome.output)
        let fails = results.contains { ["failed", "crashed", "hung"].contains($0.verdict) }
        #expect(outcome.status == (fails ? 111 : 0))
        #expect(results.count == ConformanceCheck.all(level: level).count)
    }

    /// A copy with its manifest in a folder without others: what lies beside a library is linked beside each copy that a check makes of it, and a quarter
    /// of all time went into the links to five hundred mutants.
    private static func alone(_ library: URL, in program: Program) throws -> String {
        let base = library.deletingPathExtension().deletingPathExtension().lastPathComponent
        let copied = try program.runScript(
            """
            mkdir -p plugins/'\(base)' && cd plugins/'\(base)' && cp -dp '\(library.deletingLastPathComponent().path)'/'\(base)'.* . &&
            if [ '\(base)' = slow ]; then cp -p '\(library.deletingLastPathComponent().path)'/good.so .; fi &&
            if [ -L '\(base)'.so ]; then mkdir ../elsewhere && cp -p '\(library.path)' ../elsewhere/; fi
            """)
        #expect(copied.status == 0, "\(copied.errors)")
        return program.folder.appendingPathComponent("plugins/\(base)/\(library.lastPathComponent)").path
    }
}
