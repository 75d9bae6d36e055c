// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// Cookies of `get` and `stdio`.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetCookieTests {
    private let program: Program

    init() throws { program = try Program() }

    /// The `Cookie` field of each request.
    private func cookies(_ server: ScriptedServer) -> [String?] {
        server.requests.map { $0.first { $0.hasPrefix("Cookie: ") }.map { String($0.dropFirst(8)) } }
    }

    private func contentsOfJar(_ name: String = "jar") throws -> String {
        try String(contentsOf: program.folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test func jarIsWrittenAndReadAgain() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: /b", "Set-Cookie: r=1; Path=/"]),
            ScriptedServer.response("200 OK", ["Set-Cookie: a=2; Max-Age=1000", "Set-Cookie: s=3; HttpOnly"]),
            ScriptedServer.response("200 OK", ["Set-Cookie: r=; Max-Age=0; Path=/"]))
        for _ in 0..<2 { #expect(try program.run("get", "-c", "jar", server.url("/")).status == 0) }
        #expect(cookies(server) == [nil, "r=1", "r=1; a=2; s=3"])
        let lines = try contentsOfJar().split(separator: "\n").filter { !$0.hasPrefix("# ") }
        #expect(lines.count == 2 && lines[0] == "#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\ts\t3" && lines[1].hasSuffix("\ta\t2"))
        let mode = try FileManager.default.attributesOfItem(atPath: program.folder.path + "/jar")[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    /// curl sends the cookies of the jar in the same order.
    @Test func curlSendsTheSameCookies() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", ["Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Path=/", "Set-Cookie: c=3; Path=/x"]),
            ScriptedServer.response("200 OK"))
        #expect(try program.run("get", "--cookie-jar", "jar", server.url("/")).status == 0)
        #expect(try program.run("get", "--cookie-jar", "jar", server.url("/x/y")).status == 0)
        #expect(try program.runScript("curl -s -b jar '\(server.url("/x/y"))'").status == 0)
        #expect(cookies(server) == [nil, "c=3; a=1; b=2", "c=3; a=1; b=2"])
    }

    @Test func cookiesOfTheArgumentsAreSentToTheFirstServerOnly() throws {
        let otherServer = try ScriptedServer(ScriptedServer.response("200 OK"))
        let server = try ScriptedServer(
            ScriptedServer.response("200 OK", ["Set-Cookie: b=stored"]),
            ScriptedServer.response("302 Found", ["Location: \(otherServer.url())"]))
        let outcome = try program.run("get", "-b", "a=1; b=2", "-b", "c=3", "-b", "", "-H", "Cookie: h=0", server.url(), server.url())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(cookies(server) == ["h=0", "b=stored; h=0"])
        // The other server has the same host and another port, so it gets the stored cookie.
        #expect(cookies(otherServer) == ["b=stored"])
    }

    @Test func cookiesOfSeveralArgumentsAreJoined() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        #expect(try program.run("get", "-b", " a=1; b=2 ", "-b", "c=3", server.url()).status == 0)
        #expect(cookies(server) == ["a=1; b=2;c=3"])
    }

    /// curl reads such files, too. Other hosts do not get the cookies.
    @Test func headerOfAResponseIsACookieFile() throws {
        try program.makeFile("header", "HTTP/1.1 200 OK\r\nDate: today\r\nSET-COOKIE: a=1; Path=/\r\nset-cookie:b=2; Max-Age=100\r\n\r\n")
        let otherServer = try ScriptedServer(ScriptedServer.response("200 OK"))
        let server = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: \(otherServer.url().replacing("127.0.0.1", with: "localhost"))"]))
        for options in [[], ["-j"]] {
            let outcome = try program.run(["get", "-b", "header"] + options + [server.url()])
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        }
        #expect(cookies(server) == ["a=1; b=2", "b=2"] && cookies(otherServer) == [nil, nil])
    }

    /// A plugin runs in the process of `get`, and can end it.
    @Test func crashInALaterLoadKeepsTheCookiesOfEarlierOnes() throws {
        let plugin = try UnrulyPlugin.make(in: program)
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=1"]))
        let outcome = try program.run("get", "--plugin", plugin, "-c", "jar", server.url(), "unruly://abort")
        #expect(outcome.status == SIGABRT, "\(outcome)")
        #expect(try contentsOfJar().hasSuffix("\ta\t1\n"))
    }

    /// The file is read a second time before it is written.
    @Test func malformedLineIsOneWarning() throws {
        try program.makeFile("jar", "x\n")
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=1"]))
        let outcome = try program.run("get", "-c", "jar", server.url())
        #expect(outcome.errors == ["portolan: warning: -c: 'jar': line 1 has 1 fields and not 7, separated by tabs; it is skipped"])
    }

    @Test func sessionCookiesOfAFileCanBeIgnored() throws {
        try program.makeFile("old", "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t1\n127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tlong\t2\nx\n")
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        let outcome = try program.run("get", "-b", "old", server.url())
        #expect(
            outcome.errors == ["portolan: warning: -b: 'old': line 3 has 1 fields and not 7, separated by tabs; it is skipped"])
        #expect(try program.run("get", "-s", "-j", "-b", "old", server.url()).status == 0)
        #expect(cookies(server) == ["long=2; session=1", "long=2"])
    }

    @Test func unusableFilesFailBeforeTheLoad() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        try FileManager.default.createDirectory(atPath: program.folder.path + "/folder", withIntermediateDirectories: true)
        for (arguments, status) in [(["-c", "nosuch/jar"], 23), (["-c", "folder"], 23), (["-b", "a=\u{1}"], 2)] {
            let outcome = try program.run(["get"] + arguments + [server.url()])
            #expect(outcome.status == status && outcome.errors.count >= 1, "\(arguments) \(outcome)")
        }
        #expect(server.connections.isEmpty)
    }

    /// As with curl, a cookie file of `-b` that cannot be read has no cookies.
    @Test func missingCookieFileIsAWarning() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=1"]))
        let outcome = try program.run("get", "-b", "nosuch", "-b", ".", server.url(), server.url())
        #expect(outcome.status == 0 && cookies(server) == [nil, "a=1"])
        #expect(outcome.errors.count == 2, "\(outcome.errors)")
        #expect(outcome.errors.first?.hasPrefix("portolan: warning: -b: no file '") == true, "\(outcome.errors)")
        #expect(try program.files.isEmpty)
    }

    @Test func cookiesAreReadFromStreams() throws {
        try program.makeFile("old", "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n")
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        let outcome = try program.runScript(
            """
            mkfifo fifo; timeout 60 sh -c 'cat old >fifo' & timeout 60 "$portolan" get -b fifo '\(server.url())' &&
                "$portolan" get -b - '\(server.url())' <old && "$portolan" get -b /dev/null '\(server.url())'
            """)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(cookies(server) == ["a=1", "a=1", nil])
    }

    @Test func timeLimitEndsAWaitForCookiesFromAFIFO() throws {
        let outcome = try program.runScript(#"mkfifo fifo; timeout 60 "$portolan" get --max-time 0.3 -b fifo data:,x"#)
        #expect(outcome.status == 28 && outcome.errors == ["portolan: -b: 'fifo' took longer to read than --max-time allows"], "\(outcome)")
    }

    /// The command writes the cookies to a stream, but neither reads nor replaces it.
    @Test(arguments: ["/dev/stdout", "-"]) func cookiesAreWrittenToStreams(jar: String) throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=1"]))
        let outcome = try program.runScript(
            "\"$portolan\" get -c /dev/null '\(server.url())' && test -c /dev/null && \"$portolan\" get -c \(jar) '\(server.url())'")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.lines.last == "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1", "\(outcome.text)")
        #expect(cookies(server) == [nil, nil])
        #expect(try program.files.isEmpty)
    }

    /// A 401 response sets cookies, and the request with the credential sends them.
    @Test func cookiesOfA401AreSentWithTheCredential() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("401 Unauthorized", ["WWW-Authenticate: Basic realm=x", "Set-Cookie: u=1"]),
            ScriptedServer.response("200 OK"))
        #expect(try program.run("get", "-b", "", "--anyauth", "-u", "a:b", server.url()).status == 0)
        #expect(cookies(server) == [nil, "u=1"])
    }

    @Test func withoutOptionsNoCookiesAreKept() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=1"]))
        #expect(try program.run("get", server.url(), server.url()).status == 0)
        #expect(cookies(server) == [nil, nil])
    }

    @Test func stdioKeepsCookiesUntilReset() throws {
        let server = try ScriptedServer(ScriptedServer.response("200 OK", ["Set-Cookie: a=é"]))
        let lines = [
            #"{"url":"\#(server.url())"}"#, #"{"op":"cookieHeader","url":"http://127.0.0.1/","now":1}"#,
            #"{"op":"reset","what":["cookies"]}"#,
            #"{"op":"cookieHeader","url":"http://127.0.0.1/"}"#,
        ]
        // Writes the lines after the first response, because `stdio` reads a line without waiting for earlier loads.
        let outcome = try program.runScript(
            "mkfifo in; exec 3<>in; $portolan stdio <in >out & echo '\(lines[0])' >&3; until [ -s out ]; do :; done; "
                + lines.dropFirst().map { "echo '\($0)' >&3; " }.joined() + "until [ $(wc -l <out) = 4 ]; do :; done; kill $!; cat out")
        #expect(
            outcome.lines.count == 4
                && outcome.lines[1...] == [
                    #"{"id":null,"cookie":"a=é"}"#, #"{"id":null,"reset":["cookies"]}"#, #"{"id":null,"cookie":""}"#,
                ], "\(outcome.text)")
    }
}
