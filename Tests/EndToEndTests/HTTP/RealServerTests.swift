// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get` with third-party servers.
@Suite(.blocking, .timeLimit(.minutes(2))) struct RealServerTests {
    private let program: Program
    private let servers: TestServers

    init() throws {
        program = try Program()
        servers = try TestServers.shared
    }

    @Test func contentCodingsAreDecodedOrKept() throws {
        let url = try servers.url(.nginxHTTP, "/page.html")
        let page = try program.run("get", url)
        #expect(page.text.hasPrefix("<!DOCTYPE html>"))
        let codedPage = try program.run("get", "--coded", url)
        #expect(codedPage.output.prefix(2) == Data([0x1F, 0x8B]) && codedPage.output.count < page.output.count)
        let uncodedPage = try program.run("get", "-v", "-H", "Accept-Encoding:", url)
        #expect(uncodedPage.output == page.output)
        #expect(!uncodedPage.errors.contains { $0.hasPrefix("< content-encoding") })
    }

    @Test func partialFileIsResumed() throws {
        let url = try servers.url(.nginxHTTP, "/1MiB.bin")
        #expect(try program.run("get", "-o", "whole", url).status == 0)
        let whole = try Data(contentsOf: program.folder.appendingPathComponent("whole"))
        try whole.prefix(700_000).write(to: program.folder.appendingPathComponent("part"))
        for _ in 0..<2 {
            let outcome = try program.run("get", "-C", "-", "-o", "part", url)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try Data(contentsOf: program.folder.appendingPathComponent("part")) == whole)
        }
    }

    @Test func uploadedFileIsDownloadedUnchanged() throws {
        let text = String(repeating: "0123456789", count: 200_000)
        try program.makeFile("my file", text)
        #expect(try program.run("get", "-T", "my file", servers.url(.nginxHTTP, "/uploads/")).status == 0)
        #expect(try program.run("get", servers.url(.nginxHTTP, "/uploads/my%20file")).text == text)
    }

    @Test func formReachesTheServer() throws {
        let outcome = try program.run("get", "-d", "a=1", "-d", "b=x+y", servers.url(.httpbin, "/post"))
        let response = try #require(JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect(response["form"] as? [String: String] == ["a": "1", "b": "x y"])
    }

    @Test func redirectsAreFollowedOnOneConnection() throws {
        let outcome = try program.run("get", "--events", servers.url(.nginxHTTP, "/redirect/308"))
        let events = try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        let metrics = try #require(events.first { $0["event"] as? String == "metrics" })
        let requests = try #require(metrics["requests"] as? [[String: Any]])
        #expect(requests.map { $0["reused"] as? Bool } == [false, true])
        #expect(events.last?["redirects"] as? Int == 1)
        #expect(try program.run("get", servers.url(.nginxHTTP, "/redirect/loop")).status == 47)
    }

    @Test(arguments: ["nginx", "apache"])
    func chunksAndTrailersReachStdio(server: String) throws {
        let url = try server == "nginx" ? servers.url(.nginxHTTP, "/trailers/hello.txt") : servers.url(.apacheHTTP, "/programs/chunks")
        let outcome = try program.run("stdio", input: #"{"url":"\#(url)"}"#)
        let response = try #require(JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect(response["status"] as? Int == 200 && response["error"] is NSNull)
        if server == "nginx" { #expect(response["trailers"] as? [[String]] == [["x-checksum", "abc"], ["x-status", "200"]]) }
    }
}
