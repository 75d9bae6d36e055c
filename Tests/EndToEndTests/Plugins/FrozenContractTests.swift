// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Plugins that were built with the headers of contract version 1.0 load in this host.
@Suite(.blocking, .timeLimit(.minutes(10))) struct FrozenContractTests {
    private let program: Program

    init() throws {
        program = try Program()
    }

    private func get(_ library: String, _ url: String, _ options: String...) throws -> Program.Outcome {
        try program.run(["get", "--plugin", program.copyFixture("contract-1.0-\(library).so"), url] + options)
    }

    /// A change of these headers breaks released plugins. A later version extends the headers in Sources, never these.
    @Test func frozenHeadersAreUnchanged() throws {
        let folder = PluginConformanceTests.root.appendingPathComponent("Tests/PluginFixtures/contract-1.0/portolan").path
        let digest = try program.runScript("cd '\(folder)' && cat $(ls *.h | LC_ALL=C sort) | sha256sum")
        #expect(digest.lines == ["708ecee806e239c4b95ddc84808f7bc4e6a3a2468b1f8e8e58130a37254fda33  -"])
        #expect(try program.runScript("ls '\(folder)' | wc -l").lines == ["14"])
    }

    @Test func blockingPluginOfContract1Loads() throws {
        let outcome = try get("template", "template://greet/sea?times=2", "-i")
        #expect(
            outcome.text == "content-type: text/plain;charset=utf-8\ncontent-length: 24\n\nHello, sea!\nHello, sea!\n", "\(outcome.errors)")
        #expect(try get("template", "template://echo", "-d", "what was sent").text == "what was sent")
        #expect(try get("template", "template://redirect?to=data:,there").text == "there")
        #expect(try get("template", "template://secret", "-u", "guest:sesame").text == "The harbour lies behind the second cape.\n")
        #expect(try get("template", "template://missing").status == 37)
    }

    @Test func eventDrivenPluginOfContract1Loads() throws {
        let outcome = try get("fixture-events", "ticker://3")
        #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome.errors)")
    }

    @Test(arguments: ["carrier", "carrier-events"]) func requestReachesAPluginOfContract1(scheme: String) throws {
        let outcome = try get("carrier", "\(scheme)://show", "-H", "X-Chart: 12")
        #expect(outcome.status == 0 && outcome.text.lowercased().contains("x-chart"), "\(outcome.text) \(outcome.errors)")
        #expect(try get("carrier", "\(scheme)://nest").status == 0)
        #expect(try get("carrier", "\(scheme)://twice", "-d", "ab").text.contains("ab"))
    }

    @Test func pluginOfContract1StartsNestedLoads() throws {
        #expect(try get("relay", "relay:relay:data:,deep").text == "deep")
    }
}
