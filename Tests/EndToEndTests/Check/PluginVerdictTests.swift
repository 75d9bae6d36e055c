// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanConformance
import PortolanPlugins
import ServerSupport
import TestThreads
import Testing

/// The plugins of this repository with their own code follow every rule that a check can test.
@Suite(.blocking, .timeLimit(.minutes(10))) struct PluginVerdictTests {
    @Test(arguments: ["Template", "Echo", "Gzip"])
    func pluginPassesItsChecks(name: String) throws {
        let program = try Program()
        try program.copyFixture("\(name.lowercased()).so", to: "\(name)/\(name.lowercased()).so")
        try program.copyManifest(name)
        // A debug build needs seconds for a digest of 14 MB.
        try expectSuccess(of: program.run("check", "\(program.path)/\(name)", "--json", "--timeout", "120"), 60)
    }

    /// For bindings, the checks run against the host's handler. LibCurl passes fewer checks than LibMagic, because most
    /// of its URLs need servers.
    @Test(arguments: [("LibMagic", 60), ("LibCurl", 40)])
    func bindingPassesItsChecks(name: String, count: Int) throws {
        let program = try Program()
        try program.copyManifest(name)
        try expectSuccess(of: program.run("check", "\(program.path)/\(name)", "--json", "--timeout", "120"), count)
    }

    /// Archives and databases that the test makes. The URLs in the manifests name none, because no machine has them.
    @Test(arguments: ["LibArchive", "SQLite"]) func bindingOfFilesPassesItsChecks(name: String) throws {
        let program = try Program()
        try program.copyManifest(name)
        try program.makeFile("samples.py", BoundLibraryTests.samples)
        #expect(try program.runScript("/usr/bin/python3 samples.py").status == 0)
        let loads =
            name == "SQLite"
            ? """
            { "url": "sqlite:file://\(program.path)/tides.db?select%20*%20from%20tides", "mime": "text/csv", "length": 79, "tags": ["small"] },
            { "url": "sqlite-json:file://\(program.path)/tides.db?select%20port%20from%20tides", "mime": "application/json", "tags": ["small"] },
            { "url": "sqlite:file://\(program.path)/tides.db?with%20recursive%20n(i)%20as%20(select%201%20union%20all%20select%20i%2b1%20from%20n%20where%20i%3c30000)%20select%20i,hex(zeroblob(20))%20from%20n", "tags": ["large"] },
            { "url": "sqlite:file://\(program.path)/tides.db?select%201%20from%20none", "error": "badURL", "tags": ["fails"] },
            """
            : """
            { "url": "archive:file://\(program.path)/charts.tar.gz", "mime": "text/plain", "length": 47, "tags": ["small"] },
            { "url": "archive:file://\(program.path)/charts.tar.gz!charts/north.txt", "length": 6, "tags": ["small"] },
            { "url": "archive:file://\(program.path)/charts.zip!large.bin", "length": 3000000, "tags": ["large"] },
            { "url": "archive:file://\(program.path)/charts.zip!charts/empty", "length": 0, "tags": ["empty"] },
            { "url": "archive:file://\(program.path)/charts.zip!none", "error": "notFound", "tags": ["fails"] },
            """
        let path = "\(name)/\(name).plugin.json"
        let manifest = try #require(program.contents(of: path))
        try program.makeFile(path, manifest.replacing("\"loads\": [", with: "\"loads\": [\n\(loads)"))
        try expectSuccess(of: program.run("check", "\(program.path)/\(name)", "--json", "--timeout", "120"), 60)
    }

    /// The port is the number of seconds for which the call blocks, and no `stop` ends it.
    @Test func bindingWhoseCallOutlivesAStopFails() throws {
        let program = try Program()
        try program.makeFile(
            "nap/nap.plugin.json",
            """
            {
              "identifier": "org.example.nap", "name": "Nap", "vendor": "Example", "version": "1.0.0", "library": "libc.so.6", "schemes": ["nap"],
              "binding": {
                "library": "system", "functions": { "sleep": "uint (uint)" },
                "steps": [{ "call": "sleep", "with": ["{url.port|9}"] }, { "respond": { "mime": "text/plain" } }, { "deliver": "{url}" }]
              },
              "conformance": { "loads": [{ "url": "nap://x:0", "tags": ["small"] }, { "url": "nap://x:30", "tags": ["hangs"] }] }
            }
            """)
        let outcome = try program.run("check", "nap", "--filter", "CANCEL-05")
        #expect(outcome.status == 111, "\(outcome.text)")
        #expect(outcome.text.contains("'nap://x:30': one second after a stop, a thread of the host still ran code of the load"))
        #expect(outcome.text.contains("fix: Say in 'stop' of the manifest how a call that blocks ends."))
    }

    @Test(arguments: ["data:", "file:"])
    func builtInHandlerPassesItsChecks(name: String) throws {
        try expectSuccess(of: Program().run("check", name, "--json", "--timeout", "120"), 55)
    }

    /// Runs checks inside the test process, as command-line.md describes.
    @Test(arguments: ConformanceCheck.all(level: 2).filter { !$0.needsProcess && ["ORDER", "BODY", "ERR"].contains($0.rule.category) })
    func checksRunInsideATest(check: ConformanceCheck) throws {
        let program = try Program()
        try program.copyFixture("template.so", to: "Template/template.so")
        try program.copyManifest("Template")
        let plugin = try PluginCatalogue().plugin(at: "\(program.path)/Template").readingConformance()
        var runner = ConformanceRunner(ConformanceTarget(plugin))
        runner.timeLimit = .seconds(120)
        let result = runner.result(of: check)
        // Template's manifest contains no URL with an empty body.
        #expect(result.verdict == (check.id == "BODY-06" ? .skipped : .passed), "\(result)")
    }

    /// Checks http: with nginx and Apache.
    @Test func httpHandlerPassesItsChecks() throws {
        let (program, servers) = (try Program(), try TestServers.shared)
        func conformanceLoad(_ server: TestServer, _ path: String, _ members: String) throws -> String {
            #"{"url": "\#(try servers.url(server, path))", \#(members)}"#
        }
        let digest = try program.runScript("$portolan get '\(servers.url(.nginxHTTP, "/hello.txt"))' | sha256sum").text.prefix(64)
        let digestMember = #""sha256": "\#(digest)""#
        let (user, password) = (servers.user, servers.password)
        let loads = try [
            conformanceLoad(.nginxHTTP, "/hello.txt", #""tags": ["small"], "mime": "text/plain", \#(digestMember)"#),
            conformanceLoad(.nginxHTTP, "/chunked/hello.txt", #""tags": ["small"], \#(digestMember)"#),
            conformanceLoad(.nginxHTTP, "/empty.bin", #""tags": ["empty"], "length": 0"#),
            conformanceLoad(.nginxHTTP, "/1MiB.bin", #""tags": ["large"], "length": 1048576"#),
            conformanceLoad(.nginxHTTP, "/coded/gzip", #""tags": ["small"]"#),
            conformanceLoad(.nginxHTTP, "/redirect/307", #""tags": ["redirects"]"#),
            conformanceLoad(
                .nginxHTTP, "/private/secret.txt",
                #""tags": ["challenges"], "credential": {"username": "\#(user)", "password": "\#(password)"}"#),
            conformanceLoad(.nginxHTTP, "/hangup", #""tags": ["fails"], "error": "emptyResponse""#),
            conformanceLoad(.nginxHTTP, "/coded/cut", #""tags": ["fails"], "error": "truncated""#),
            conformanceLoad(.nginxHTTP, "/slow/1MiB.bin?rate=1", #""tags": ["hangs"]"#),
            conformanceLoad(.apacheHTTP, "/programs/mirror", #""tags": ["uploads"]"#),
        ]
        try program.makeFile("loads", "{\"loads\": [\(loads.joined(separator: ",\n"))]}")
        try expectSuccess(of: program.run("check", "http:", "--loads", "loads", "--json", "--timeout", "120"), 80)
    }

    /// - Parameter count: at least this number of checks must pass. The other checks are skipped.
    private func expectSuccess(of outcome: Program.Outcome, _ count: Int) throws {
        #expect(outcome.status == 0, "\(outcome.errors)")
        let report = try JSONDecoder().decode(CheckReport.self, from: outcome.output)
        for result in report.results {
            #expect(result.verdict == "passed" || result.verdict == "skipped", "\(result)")
        }
        #expect(report.results.count { $0.verdict == "passed" } >= count)
    }
}
