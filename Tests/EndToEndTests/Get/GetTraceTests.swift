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

    @Test func anArchiveHasAnEntryForEachRequest() throws {
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
        #expect((entries[2]["comment"] as? String)?.contains("ended before the answer did") == true)
        // The body as it was delivered, text or base64.
        let page = try #require(responses[1]?["content"] as? [String: Any])
        #expect(outcome.text.hasPrefix(page["text"] as? String ?? "?") && page["encoding"] == nil)
        let bytes = try #require(responses[3]?["content"] as? [String: Any])
        #expect(bytes["size"] as? Int == 1024 && bytes["encoding"] as? String == "base64")
        #expect(Data(base64Encoded: bytes["text"] as? String ?? "") == outcome.output.suffix(1024))
        for entry in entries {
            let timings = try #require(entry["timings"] as? [String: Double])
            for name in ["send", "wait", "receive"] { #expect(timings[name] ?? -1 >= 0, "\(name)") }
        }
        #expect(entries[0]["serverIPAddress"] as? String == "127.0.0.1" || entries[0]["serverIPAddress"] as? String == "::1")
    }

    /// Whoever is shown the file learns no password.
    @Test(arguments: ["loads.har", "loads.json", "loads.html"]) func credentialsAreLeftOut(_ name: String) throws {
        let url = try servers.url(.nginxHTTP, "/private/secret.txt")
        let named = url.replacingOccurrences(of: "://", with: "://\(servers.user):\(servers.password)@")
        let outcome = try program.run("get", "--trace", name, "-H", "Authorization: Basic bm86bm8=", "-H", "Cookie: id=hidden", named)
        let text = try #require(program.contents(of: name))
        #expect(outcome.status == 0 || outcome.status == 67, "\(outcome.errors)")
        #expect(!text.contains(servers.password) && !text.contains("bm86bm8=") && !text.contains("id=hidden"))
        #expect(text.contains("/private/secret.txt"))
    }

    @Test func eventsHaveTheTimeOfDayAtWhichTheirLoadBegan() throws {
        let before = Date()
        #expect(try program.run("get", "--trace", "loads.json", "data:,one", "data:none").status == 3)
        let loads = try #require(object("loads.json")["loads"] as? [[String: Any]])
        let names = loads.map { ($0["events"] as? [[String: Any]] ?? []).map { $0["event"] as? String } }
        #expect(names == [["started", "response", "data", "finished"], ["started", "failed"]])
        try #require(!loads.isEmpty)
        let began = try #require(loads[0]["began"] as? String)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        #expect(try abs(format.parse(began).timeIntervalSince(before)) < 60)
    }

    @Test func aPageShowsEachLoad() throws {
        #expect(try program.run("get", "--trace", "loads.html", "data:,%3Cscript%3E", "data:none").status == 3)
        let text = try #require(program.contents(of: "loads.html"))
        #expect(text.components(separatedBy: "<svg ").count == 3 && text.contains("answer  failed: "))
        #expect(!text.contains("<script") && text.hasSuffix("</html>\n"))
    }

    @Test func theNameSaysTheForm() throws {
        let outcome = try program.run("get", "--trace", "loads.txt", "data:,x")
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(outcome.errors.first?.contains("--trace: the name of 'loads.txt' has to end in .har, .json or .html") == true)
        #expect(try program.run("get", "--trace", "nowhere/loads.har", "data:,x").status == 23)
    }
}
