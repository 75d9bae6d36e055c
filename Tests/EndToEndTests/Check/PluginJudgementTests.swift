// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import TestThreads
import Testing

/// The plugins of this repository that have code of their own keep every rule that can be judged of them.
@Suite(.blocking, .timeLimit(.minutes(10))) struct PluginJudgementTests {
    @Test(arguments: ["Template", "Echo", "Gzip"])
    func thePluginPasses(name: String) throws {
        let program = try Program()
        try program.copyFixture("\(name.lowercased()).so", to: "\(name)/\(name.lowercased()).so")
        try program.copyManifest(name)
        // In a debug build a digest of 14 MB takes seconds.
        let outcome = try program.run("check", "\(program.path)/\(name)", "--json", "--timeout", "120")
        let judgement = try JSONDecoder().decode(Judgement.self, from: outcome.output)
        for result in judgement.results {
            #expect(result.verdict == "passed" || result.verdict == "skipped", "\(result.id): \(result.verdict): \(result.note ?? "")")
        }
        #expect(judgement.results.count { $0.verdict == "passed" } >= 60)
        #expect(outcome.status == 0)
    }
}
