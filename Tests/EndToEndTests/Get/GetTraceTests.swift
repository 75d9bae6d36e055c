// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --trace`
@Suite(.blocking, .timeLimit(.minutes(10))) struct GetTraceTests {
    private let program: Program
    private let servers: TestServers

    init() throws {
        program = try Program()
        servers = try TestServers.shared
    }

    private func object(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: program.folder.appendingPathComponent(name))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func entries(_ name: String) throws -> [[String: Any]] {
        let log = try #require(object(name)["log"] as? [String: Any])
        #expect(log["version"] as? String == "1.2")
        return try #require(log["entries"] as? [[String: Any]])
    }

    @Test func archiveHasAnEntryForEachRequest() throws {
        let outcome = try program.run(
            "get", "--trace", "loads.har", servers.url(.nginxHTTP, "/redirect/to?url=/hello.txt"), servers.url(.nginxHTTP, "/hangup"),
            servers.url(.nginxHTTP, "/1KiB.bin?a=b%20c&d"))
        #expect(outcome.status == 56 || outcome.status == 52, "\(outcome.status) \(outcome.errors)")
        let entries = try entries("loads.har")
        let (requests, responses) = (entries.map { $0["request"] as? [String: Any] }, entries.map { $0["response"] as? [String: Any] })
        #expect(responses.map { $0?["status"] as? Int } == [302, 200, 0, 200])
        try #require(responses.count > 3)
        #expect(responses[0]?["redirectURL"] as? String == (try servers.url(.nginxHTTP, "/hello.txt")))
        try #require(requests.count > 3)
        #expect(requests[1]?["url"] as? String == (try servers.url(.nginxHTTP, "/hello.txt")))
        #expect(requests[3]?["queryString"] as? [[String: String]] == [["name": "a", "value": "b c"], ["name": "d", "value": ""]])
        try #require(entries.count > 2)
        let failure = try #require(entries[2]["_error"] as? String)
        #expect(["emptyResponse", "connectionLost"].contains(failure), "\(failure)")
        #expect((entries[2]["comment"] as? String)?.isEmpty == false)
        // The trace contains the delivered body, as text or base64.
        let page = try #require(responses[1]?["content"] as? [String: Any])
        #expect(outcome.text.hasPrefix(page["text"] as? String ?? "?") && page["encoding"] == nil)
        let bytes = try #require(responses[3]?["content"] as? [String: Any])
        #expect(bytes["size"] as? Int == 1024 && bytes["encoding"] as? String == "base64")
        #expect(Data(base64Encoded: bytes["text"] as? String ?? "") == outcome.output.suffix(1024))
        for entry in entries { try expectPhasesToAddUp(entry) }
        #expect(entries[0]["serverIPAddress"] as? String == "127.0.0.1" || entries[0]["serverIPAddress"] as? String == "::1")
    }

    /// The phases of an entry add up to its time (HAR 1.2). The TLS phase is part of `connect`.
    private func expectPhasesToAddUp(_ entry: [String: Any], _ location: SourceLocation = #_sourceLocation) throws {
        let timings = try #require(entry["timings"] as? [String: Double], sourceLocation: location)
        for name in ["send", "wait", "receive"] { #expect(timings[name] ?? -1 >= 0, "\(name)", sourceLocation: location) }
        let phases = timings.filter { $0.key != "ssl" && $0.value > 0 }.map(\.value)
        let time = try #require(entry["time"] as? Double, sourceLocation: location)
        #expect(abs(phases.reduce(0, +) - time) < 0.0005, "\(timings) in \(time)", sourceLocation: location)
    }

    @Test func traceAndBodyCannotUseTheSameFile() throws {
        let outcome = try program.run("get", "-o", "same.har", "--trace", "same.har", "data:,body")
        #expect(outcome.status == 2 && outcome.errors.contains { $0.contains("name the same file, 'same.har'") }, "\(outcome.errors)")
        #expect(program.contents(of: "same.har") == nil)
    }

    /// The trace contains no passwords and no values of credential fields.
    @Test(arguments: ["loads.har", "loads.json", "loads.html"]) func credentialsAreNotInTheTrace(_ name: String) throws {
        let url = try servers.url(.nginxHTTP, "/private/secret.txt")
        let urlWithCredentials = url.replacingOccurrences(of: "://", with: "://\(servers.user):\(servers.password)@")
        let outcome = try program.run(
            "get", "--trace", name, "-H", "Authorization: Basic bm86bm8=", "-H", "Cookie: id=concealed", urlWithCredentials)
        let text = try #require(program.contents(of: name))
        #expect(outcome.status == 0 || outcome.status == 67, "\(outcome.errors)")
        #expect(!text.contains(servers.password) && !text.contains("bm86bm8=") && !text.contains("id=concealed"))
        #expect(text.contains("/private/secret.txt"))
    }

    /// The URLs are in fields of responses, in a redirect, and in malformed forms that a lenient parser accepts.
    @Test(arguments: ["loads.har", "loads.json", "loads.html"]) func passwordsAndSecretsAreNotInTheTrace(_ name: String) throws {
        let fields = [
            "Content-Location: //us er:concealed1@h/", "Refresh: 0;url=http:/u:concealed2@h/",
            "Link: <http:u:concealed3@h/>; rel=a, <//a\"b:concealed4@h>",
            "X-A: HTTP:\\\\u\t:concealed5@h", "X-Auth-Token: concealed6", "Set-Cookie: id=concealed7",
        ]
        let server = try ScriptedServer { connection in
            connection == 0
                ? ScriptedServer.response("302 Found", ["Location: //us er:concealed8@127.0.0.1/?token=concealed9"])
                : ScriptedServer.response("200 OK", fields, #"{"password":"concealed10"}"#)
        }
        let arguments = [
            "get", "-H", "X-Api-Key: concealed11", "--max-redirects", "0", server.url("/a?session=concealed12"), server.url("/b"),
            "--trace",
            name,
        ]
        let outcome = try program.run(arguments + ["-v"])
        #expect(outcome.status == 47, "\(outcome.errors)")
        let text = try #require(program.contents(of: name))
        #expect(!text.contains("concealed"), "\(text)")
        #expect(
            !outcome.errors.contains { $0.contains("concealed1@") || $0.contains("concealed2") || $0.contains("concealed8") },
            "\(outcome.errors)")
        _ = try program.run(arguments + ["--keep-secrets"])
        let traceWithSecrets = try #require(program.contents(of: name))
        #expect(
            !["concealed1@", "concealed2", "concealed3", "concealed4", "concealed5", "concealed8"].contains(
                where: traceWithSecrets.contains))
        if name == "loads.har" {
            #expect(["concealed6", "concealed7", "concealed11", "concealed12"].allSatisfy(traceWithSecrets.contains))
        }
    }

    /// The passwords are in file names, and in URLs that are encoded in the path of another URL.
    @Test func passwordsInFileNamesAndEncodedURLsAreNotInTheTrace() throws {
        for disposition in [
            #"filename="http://u:concealed@h""#, #"filename="postgres:\\/\\/u:concealed@h""#,
            "filename*=utf-8''http%3A%2F%2Fu%3Aconcealed%40h",
        ] {
            let server = try ScriptedServer(
                ScriptedServer.response("302 Found", ["Location: /a/http%3A%2F%2Fu%3Aconcealed%40h%2F"]),
                ScriptedServer.response("200 OK", ["Content-Disposition: attachment; \(disposition)"], "x"))
            let outcome = try program.run("get", "--events", "--trace", "loads.json", server.url("/http%3A%2F%2Fu%3Aconcealed%40h"))
            #expect(outcome.status == 0 && !outcome.text.contains("concealed"), "\(outcome)")
            let text = try #require(program.contents(of: "loads.json"))
            #expect(!text.contains("concealed") && text.contains("content-disposition"), "\(text)")
        }
    }

    /// An existing file that all users can read becomes private, too.
    @Test(
        arguments: [["--trace", "loads.har"], ["--trace", "loads.html"], ["--replay-mode", "fill", "--replay", "loads.json"]],
        [true, false])
    func onlyTheUserCanReadATraceOrRecording(arguments: [String], fileExists: Bool) throws {
        let name = try #require(arguments.last)
        if fileExists {
            let content = name == "loads.json" ? #"{"loads":[]}"# : ""
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: program.makeFile(name, content).path)
        }
        #expect(try program.run(["get", "data:,x"] + arguments).status == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: program.folder.path + "/" + name)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// Reads the trace with a strict JSON parser. Returns a line for each entry: its status, whether its time is not
    /// negative, its start, and whether its request was repeated.
    private func entriesByStrictParser(_ name: String) throws -> [String] {
        let script = """
            import json
            def strict(text): raise ValueError(text)
            for entry in json.load(open('\(name)'), parse_constant=strict)['log']['entries']:
                print(entry['response']['status'], entry['time'] >= 0, entry['startedDateTime'], entry.get('_repeated', False))
            """
        try program.makeFile("strict.py", script)
        let outcome = try program.runScript("python3 strict.py")
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.lines
    }

    @Test func archiveOfSeveralAttemptsIsValidJSON() throws {
        let busy = ScriptedServer.response("503 Service Unavailable", [], "busy")
        let server = try ScriptedServer(busy, busy, ScriptedServer.response("200 OK", [], "done"))
        let arguments = ["get", "-s", "--retry", "3", "--retry-delay", "0.01", server.url()]
        #expect(try program.run(arguments + ["--trace", "loads.har"]).text == "done")
        let entries = try entriesByStrictParser("loads.har").map { $0.split(separator: " ").map(String.init) }
        #expect(entries.map(\.first) == ["503", "503", "200"] && entries.allSatisfy { $0[1] == "True" })
        #expect(entries.map { $0[2] } == entries.map { $0[2] }.sorted())
        for entry in try self.entries("loads.har") { try expectPhasesToAddUp(entry) }
        server.close()
        #expect(try program.run("get", "--replay", "loads.har", server.url()).text == "done")
    }

    /// The credentials that answer the challenge come from -u or from the user information of the URL.
    @Test(arguments: [true, false]) func responseBeforeARepeatedRequestIsAnEntry(usesOption: Bool) throws {
        let server = try ScriptedServer(
            ScriptedServer.response("401 Unauthorized", ["WWW-Authenticate: Basic realm=r"], "no"),
            ScriptedServer.response("200 OK", [], "yes")
        )
        let url = usesOption ? server.url() : server.url().replacingOccurrences(of: "://", with: "://u:p@")
        #expect(try program.run(["get", "--anyauth", "--trace", "loads.har", url] + (usesOption ? ["-u", "u:p"] : [])).text == "yes")
        let entries = try entriesByStrictParser("loads.har").map { $0.split(separator: " ").map(String.init) }
        try #require(entries.map { [$0[0], $0[3]] } == [["401", "True"], ["200", "False"]])
        #expect(entries[0][2] <= entries[1][2])
        for entry in try self.entries("loads.har") { try expectPhasesToAddUp(entry) }
        server.close()
        #expect(try program.run("get", "--replay", "loads.har", server.url()).text == "yes")
    }

    /// The program fails before any load. The second trace contains the failure.
    @Test func unwritableTraceIsReportedBeforeTheLoad() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "body"))
        let arguments = [["--trace", "nosuch/t.json", server.url()], ["-O", "--trace", "t.json", server.url() + "t.json"]]
        for arguments in arguments {
            let outcome = try program.run(["get"] + arguments)
            #expect(outcome.status == 23 && outcome.errors.count == 1, "\(outcome)")
        }
        #expect(server.connections.isEmpty)
        #expect(try program.files == ["t.json"])
    }

    @Test func responseRefusedByFailIsInTheTrace() throws {
        let server = try ScriptedServer(ScriptedServer.response("404 Not Found", ["X-Mark: 1"], "gone"))
        #expect(try program.run("get", "--fail", "--trace", "loads.har", server.url()).status == 22)
        let response = try #require(entries("loads.har").first?["response"] as? [String: Any])
        #expect(response["status"] as? Int == 404 && response["statusText"] as? String == "Not Found")
    }

    @Test func eventsHaveTheStartTimeOfTheirLoad() throws {
        let startDate = Date()
        #expect(try program.run("get", "--trace", "loads.json", "data:,one", "data:none").status == 3)
        let loads = try #require(object("loads.json")["loads"] as? [[String: Any]])
        let names = loads.map { ($0["events"] as? [[String: Any]] ?? []).map { $0["event"] as? String } }
        #expect(names == [["started", "response", "data", "finished"], ["started", "failed"]])
        try #require(!loads.isEmpty)
        let began = try #require(loads[0]["began"] as? String)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        #expect(try abs(format.parse(began).timeIntervalSince(startDate)) < 60)
    }

    @Test func htmlTraceShowsEachRequestOnATimeAxis() throws {
        let server = try ScriptedServer { connection in
            connection == 0
                ? ScriptedServer.response("302 Found", ["Location: /next", "X-Note: <script>alert(1)</script>", "Connection: close"])
                : ScriptedServer.response("200 OK", ["Content-Type: text/plain", "Connection: close"], "body")
        }
        let arguments = ["get", "--trace", "loads.html", server.url("/first"), "data:,%3Cscript%3E", "data:none"]
        #expect(try program.run(arguments).status == 3)
        let text = try #require(program.contents(of: "loads.html"))
        #expect(!text.contains("<script") && text.hasSuffix("</html>\n"))
        let page = try HeadlessBrowser(in: program.folder).open(program.folder.appendingPathComponent("loads.html"))
        #expect(page.consoleLines.isEmpty, "\(page.consoleLines)")
        #expect(page.document.components(separatedBy: #"<div class="track""#).count == 5)
        for expectedText in [
            "4 requests in 3 loads, ", "Redirect to http://127.0.0.1", "Response: 302 Found", "&lt;script&gt;alert(1)",
            "Details of request 4", "✕ failed", "text/plain", "Connecting",
        ] {
            #expect(page.document.contains(expectedText), "\(expectedText)")
        }
    }

    @Test func fileNameSelectsTheFormat() throws {
        let outcome = try program.run("get", "--trace", "loads.txt", "data:,x")
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(outcome.errors.first?.contains("--trace: the name of 'loads.txt' has to end in .har, .json or .html") == true)
        #expect(try program.run("get", "--trace", "nowhere/loads.har", "data:,x").status == 23)
    }
}
