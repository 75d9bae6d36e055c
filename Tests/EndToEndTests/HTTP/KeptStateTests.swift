// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --state`, `stdio --state` and `portolan cookies`.
@Suite(.blocking, .timeLimit(.minutes(2))) struct KeptStateTests {
    private let program: Program

    init() throws { program = try Program() }

    /// A server whose responses set the cookies.
    private func server(_ cookies: String...) throws -> ScriptedServer {
        try ScriptedServer(ScriptedServer.response("200 OK", cookies.map { "Set-Cookie: \($0)" }))
    }

    private func list(_ arguments: String...) throws -> [String] {
        let outcome = try program.run(["cookies", "list", "--state", "state"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.lines.filter { !$0.hasPrefix("#") || $0.hasPrefix("#HttpOnly_") }
    }

    @Test func getKeepsCookiesAndSendsThemLater() throws {
        let settingServer = try server("a=1; Max-Age=1000", "s=2")
        let outcome = try program.run("get", "--state", "state", settingServer.url())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try list().map { $0.hasSuffix("\ta\t1") } == [true])
        let receivingServer = try server()
        _ = try program.run("get", "--state", "state", receivingServer.url())
        #expect(receivingServer.requests.first?.contains("Cookie: a=1") == true, "\(receivingServer.requests)")
    }

    /// Without the option, the command writes no files.
    @Test func getWithoutTheOptionKeepsNothing() throws {
        let server = try server("a=1; Max-Age=1000")
        let outcome = try program.run("get", server.url())
        #expect(outcome.status == 0)
        #expect(try program.files == [])
    }

    @Test(arguments: [["-c", "jar"], ["-b", "jar"], ["--hsts", "hosts"]])
    func optionsForFilesCannotBeCombinedWithState(options: [String]) throws {
        let outcome = try program.run(["get", "--state", "state"] + options + ["data:,x"])
        #expect(outcome.status == 2 && outcome.errors.first?.contains("cannot be combined") == true, "\(outcome.errors)")
        #expect(try program.files == [])
    }

    /// A second signal is not needed: the program ends, and says that the cookies are lost.
    @Test func signalWhileAnotherProcessHoldsTheLockIsReported() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: /b", "Set-Cookie: a=1; Max-Age=1000"]), [.receiveHead, .stall])
        _ = try program.run("get", "--state", "state", "data:,x")
        let outcome = try program.runScript(
            """
            mkfifo fifo
            timeout 60 python3 -c '
            import sqlite3, sys
            database = sqlite3.connect("state/cookies.sqlite", isolation_level=None)
            database.execute("BEGIN IMMEDIATE")
            print("locked", flush=True)
            sys.stdin.read()' <fifo >lock & exec 3>fifo
            until grep -q locked lock; do :; done
            "$portolan" get -v --state state '\(server.url())' 2>errors & load=$!
            until grep -q 'cookie stored' errors; do :; done
            kill -TERM $load; wait $load; status=$?; exec 3>&-; cat errors >&2; exit $status
            """)
        #expect(outcome.status == 143, "\(outcome)")
        #expect(
            outcome.errors.contains("portolan: the cookies and HSTS hosts that have arrived could not be written within 1 s"),
            "\(outcome.errors)")
    }

    @Test func stdioKeepsCookies() throws {
        let setLine = #"{"id":1,"op":"setCookies","url":"http://example.org/","headers":["a=1; Max-Age=1000","s=2"]}"#
        let getLine = #"{"id":2,"op":"cookieHeader","url":"http://example.org/"}"#
        let first = try program.run(["stdio", "--state", "state"], input: setLine + "\n" + getLine + "\n")
        #expect(first.lines.last == #"{"id":2,"cookie":"a=1; s=2"}"#, "\(first.errors)")
        let second = try program.run(["stdio", "--state", "state"], input: getLine + "\n")
        #expect(second.lines == [#"{"id":2,"cookie":"a=1"}"#])
        let third = try program.run(["stdio", "--state", "state"], input: #"{"id":3,"op":"reset","what":["cookies"]}"# + "\n")
        #expect(third.lines == [#"{"id":3,"reset":["cookies"]}"#])
        #expect(try list().isEmpty)
    }

    @Test func cookiesAreImportedListedExportedAndCleared() throws {
        let jar = """
            # Netscape HTTP Cookie File
            #HttpOnly_.example.org\tTRUE\t/\tTRUE\t4000000000\tb\t2
            www.example.org\tFALSE\t/p\tFALSE\t4000000000\ta\t1
            other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3
            other.example\tFALSE\t/\tFALSE\t0\ts\t4
            """
        try program.makeFile("jar", jar)
        let imported = try program.run("cookies", "import", "jar", "--state", "state")
        #expect(imported.status == 0 && imported.errors == ["portolan: warning: 1 cookie without an expiry, not kept"])
        #expect(try list().count == 3)
        #expect(
            try list("--host", "EXAMPLE.org") == [
                "#HttpOnly_.example.org\tTRUE\t/\tTRUE\t4000000000\tb\t2", "www.example.org\tFALSE\t/p\tFALSE\t4000000000\ta\t1",
            ])
        #expect(try list("--host", "ample.org").isEmpty)
        let json = try list("--json", "--host", "other.example").joined()
        #expect(
            json.hasPrefix(
                #"{"cookies":[{"name":"c","value":"3","domain":"other.example","hostOnly":true,"path":"/","secure":false,"httpOnly":false,"#
                    + #""sameSite":null,"partition":null,"expires":4000000000,"created":"#), "\(json)")
        #expect(try program.run("cookies", "export", "out", "--state", "state").status == 0)
        let exported = try #require(program.contents(of: "out"))
        // A file in the folder could replace a database.
        for arguments in [["cookies", "export", "state/cookies.sqlite"], ["get", "-o", "state/cookies.sqlite", "data:,x"]] {
            let refusal = try program.run(arguments + ["--state", "state"])
            #expect(refusal.status == 2 && refusal.errors.first?.contains("is in the state folder") == true, "\(refusal.errors)")
        }
        #expect(exported.split(separator: "\n").filter { $0.contains("\t") }.count == 3)
        #expect(try program.run("cookies", "clear", "--host", "example.org", "--state", "state").status == 0)
        #expect(try list() == ["other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3"])
        // Standard input and output.
        let outcomeWithStandardInput = try program.run(["cookies", "import", "--state", "second"], input: exported)
        #expect(outcomeWithStandardInput.status == 0)
        #expect(try program.run("cookies", "export", "-", "--state", "second").text == exported)
        #expect(try program.run("cookies", "clear", "--state", "second").status == 0)
        #expect(try program.run("cookies", "--state", "second").lines.filter { $0.contains("\t") }.isEmpty)
    }

    /// A mistyped name makes no folder.
    @Test(arguments: [["list"], ["export", "out"], ["clear"], []])
    func folderThatDoesNotExistIsNotCreated(command: [String]) throws {
        let missing = try program.run(["cookies"] + command + ["--state", "typo"])
        #expect(missing.status == 37 && missing.errors.first?.hasSuffix("typo' does not exist") == true, "\(missing.errors)")
        try program.makeFile("documents/letter")
        let other = try program.run(["cookies"] + command + ["--state", "documents"])
        #expect(other.status == 37 && other.errors.first?.contains("is no state folder") == true, "\(other.errors)")
        #expect(try program.run(["cookies"] + command).status == 37)
        #expect(try program.files == ["documents"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.folder.path + "/documents") == ["letter"])
    }

    @Test func importSaysHowManyLinesAreNotKept() throws {
        var lines = (0..<200).map { "h.example\tFALSE\t/\tFALSE\t4000000000\tn\($0)\tv" }
        lines += (0..<1010).map { "h\($0).site.example\tFALSE\t/\tFALSE\t4000000000\tn\tv" }
        lines += ["h.example\tFALSE\t/\tFALSE\t1\told\tv", "no cookie"]
        try program.makeFile("jar", lines.joined(separator: "\n"))
        let outcome = try program.run("cookies", "import", "jar", "--state", "state")
        let expected = [
            "import: 'jar': line 1212 has 1 fields and not 7, separated by tabs; it is skipped", "1 cookie already expired, not kept",
            "20 cookies of the file or the folder not kept: one host has at most 180",
            "10 cookies of the file or the folder not kept: the hosts of one site have at most 1000 together",
        ]
        #expect(outcome.status == 0 && outcome.errors == expected.map { "portolan: warning: \($0)" }, "\(outcome.errors)")
        #expect(try list().count == 1180)
        // Not one line of the file.
        try program.makeFile("page", "<html>\n</html>\n")
        let page = try program.run("cookies", "import", "page", "--state", "new")
        #expect(page.status == 37 && page.errors.last?.contains("'page' has no cookies") == true, "\(page.errors)")
        #expect(program.contents(of: "new/cookies.sqlite") == nil)
    }

    /// The second body is larger than a pipe, so the command is blocked in a write.
    @Test(arguments: [4, 1_000_000])
    func signalEndsTheCommandAfterTheCookiesAreWritten(bodySize: Int) throws {
        let body = String(repeating: "x", count: bodySize)
        for (options, expected) in [(["-c", "jar"], ["a", "s"]), (["--state", "state"], ["a"])] {
            let server = try ScriptedServer([
                .receiveHead,
                .send(
                    text: "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\nSet-Cookie: a=1; Max-Age=1000\r\nSet-Cookie: s=2\r\n\r\n" + body),
                .stall,
            ])
            let (process, output) = (Process(), Pipe())
            process.executableURL = Program.executable
            process.arguments = ["get", "-s"] + options + [server.url()]
            process.environment = program.environment
            process.currentDirectoryURL = program.folder
            (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, FileHandle.nullDevice)
            try process.run()
            #expect(!output.fileHandleForReading.availableData.isEmpty)
            process.interrupt()
            process.waitUntilExit()
            #expect(process.terminationStatus == 130)
            let lines = try options == ["-c", "jar"] ? program.contents(of: "jar")?.split(separator: "\n").map(String.init) : list()
            #expect(lines?.filter { $0.contains("\t") }.map { $0.split(separator: "\t")[5] }.sorted().map(String.init) == expected)
        }
    }

    @Test func defaultFolderIsInTheHomeFolder() throws {
        try program.makeFile("jar", "other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3\n")
        #expect(try program.run("cookies", "import", "jar").status == 0)
        #expect(program.contents(of: ".local/state/portolan/cookies.sqlite") != nil)
        let outcomeWithVariable = try program.run("cookies", "import", "jar", with: ["XDG_STATE_HOME": program.folder.path + "/xdg"])
        #expect(outcomeWithVariable.status == 0 && program.contents(of: "xdg/portolan/cookies.sqlite") != nil)
    }

    @Test func folderThatCannotBeUsedIsReported() throws {
        try program.makeFile("state", "a file")
        for arguments in [["get", "data:,x"], ["stdio"], ["cookies", "list"]] {
            let outcome = try program.run(arguments + ["--state", "state"])
            #expect(outcome.status == 37 && outcome.errors.first?.contains("is not a folder") == true, "\(outcome.errors)")
        }
        #expect(try program.run("cookies", "list", "--host", "a/b").status == 2)
    }

    @Test func damagedFileIsReportedAndReplaced() throws {
        try program.makeFile("jar", "other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3\n")
        #expect(try program.run("cookies", "import", "jar", "--state", "state").status == 0)
        try program.makeFile("state/cookies.sqlite", "damaged")
        let outcome = try program.run("cookies", "import", "jar", "--state", "state")
        #expect(outcome.status == 0 && outcome.errors.first?.contains("cookies.sqlite.corrupt-1") == true, "\(outcome.errors)")
        #expect(try list().count == 1)
    }
}
