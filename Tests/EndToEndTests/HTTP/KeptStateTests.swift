// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --state`, `stdio --state` and `portolan cookies`.
@Suite(.blocking, .timeLimit(.minutes(2))) struct KeptStateTests {
    private let program: Program

    init() throws { program = try Program() }

    /// Responds once and sets the cookies.
    private func server(_ cookies: String...) throws -> ScriptedServer {
        try ScriptedServer(ScriptedServer.response("200 OK", cookies.map { "Set-Cookie: \($0)" }))
    }

    private func list(_ arguments: String...) throws -> [String] {
        let outcome = try program.run(["cookies", "list", "--state", "state"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.lines.filter { !$0.hasPrefix("#") || $0.hasPrefix("#HttpOnly_") }
    }

    @Test func getKeepsCookiesAndSendsThemLater() throws {
        let first = try server("a=1; Max-Age=1000", "s=2")
        let outcome = try program.run("get", "--state", "state", first.url())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try list().map { $0.hasSuffix("\ta\t1") } == [true])
        let second = try server()
        _ = try program.run("get", "--state", "state", second.url())
        #expect(second.requests.first?.contains("Cookie: a=1") == true, "\(second.requests)")
    }

    /// Without the option nothing is written anywhere.
    @Test func getWithoutTheOptionKeepsNothing() throws {
        let server = try server("a=1; Max-Age=1000")
        let outcome = try program.run("get", server.url())
        #expect(outcome.status == 0)
        #expect(try program.files == [])
    }

    @Test(arguments: [["-c", "jar"], ["-b", "jar"], ["--hsts", "hosts"]])
    func optionsForFilesExcludeIt(options: [String]) throws {
        let outcome = try program.run(["get", "--state", "state"] + options + ["data:,x"])
        #expect(outcome.status == 2 && outcome.errors.first?.contains("cannot be combined") == true, "\(outcome.errors)")
        #expect(try program.files == [])
    }

    @Test func stdioKeepsCookies() throws {
        let set = #"{"id":1,"op":"setCookies","url":"http://example.org/","headers":["a=1; Max-Age=1000","s=2"]}"#
        let get = #"{"id":2,"op":"cookieHeader","url":"http://example.org/"}"#
        let first = try program.run(["stdio", "--state", "state"], input: set + "\n" + get + "\n")
        #expect(first.lines.last == #"{"id":2,"cookie":"a=1; s=2"}"#, "\(first.errors)")
        let second = try program.run(["stdio", "--state", "state"], input: get + "\n")
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
        #expect(imported.status == 0 && imported.errors == ["portolan: warning: 1 cookies end with their session, and are not kept"])
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
        #expect(exported.split(separator: "\n").filter { $0.contains("\t") }.count == 3)
        #expect(try program.run("cookies", "clear", "--host", "example.org", "--state", "state").status == 0)
        #expect(try list() == ["other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3"])
        // Standard input and output.
        let piped = try program.run(["cookies", "import", "--state", "second"], input: exported)
        #expect(piped.status == 0)
        #expect(try program.run("cookies", "export", "-", "--state", "second").text == exported)
        #expect(try program.run("cookies", "clear", "--state", "second").status == 0)
        #expect(try program.run("cookies", "--state", "second").lines.filter { $0.contains("\t") }.isEmpty)
    }

    @Test func standardFolderIsTheUsers() throws {
        try program.makeFile("jar", "other.example\tFALSE\t/\tFALSE\t4000000000\tc\t3\n")
        #expect(try program.run("cookies", "import", "jar").status == 0)
        #expect(program.contents(of: ".local/state/portolan/cookies.sqlite") != nil)
        let other = try program.run("cookies", "import", "jar", with: ["XDG_STATE_HOME": program.folder.path + "/xdg"])
        #expect(other.status == 0 && program.contents(of: "xdg/portolan/cookies.sqlite") != nil)
    }

    @Test func folderThatCannotBeUsedIsReported() throws {
        try program.makeFile("state", "a file")
        for arguments in [["get", "data:,x"], ["stdio"], ["cookies", "list"]] {
            let outcome = try program.run(arguments + ["--state", "state"])
            #expect(outcome.status == 37 && outcome.errors.first?.contains("is no folder") == true, "\(outcome.errors)")
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
