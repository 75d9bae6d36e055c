// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// `get --netrc` and the other options for netrc files.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetNetrcTests {
    private let program: Program

    init() throws { program = try Program() }

    /// The user and password of each request, as `user:password`; `nil` for a request without credentials.
    private func credentials(_ server: ScriptedServer) -> [String?] {
        server.requests.map { request in
            request.first { $0.hasPrefix("Authorization: Basic ") }.flatMap { Data(base64Encoded: String($0.dropFirst(21))) }
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private static let ok = ScriptedServer.response("200 OK")

    private static func server() throws -> ScriptedServer { try ScriptedServer(ok) }

    @Test("As in curl, the first request has the password of the file; a user in the URL selects the entry")
    func options() throws {
        try program.makeFile("netrc", "machine 127.0.0.1 login a password b\nmachine 127.0.0.1 login u password p\n")
        let rows: [(arguments: [String], user: String, expected: String?)] = [
            (["--netrc-file", "netrc"], "", "a:b"), (["--netrc-file", "netrc"], "u@", "u:p"),
            (["--netrc-file", "netrc"], "u:x@", "u:p"), (["--netrc-file", "netrc", "--netrc-optional"], "u:x@", "u:x"),
            (["--netrc-file", "netrc", "--netrc-optional"], "u@", "u:p"), (["--netrc-file", "netrc", "--netrc-optional"], "", "a:b"),
            (["--netrc-file", "netrc", "-u", "z:q"], "", "z:q"), (["--netrc-file", "netrc"], "z:q@", "z:q"),
            (["--netrc-file", "netrc", "--oauth2-bearer", "t"], "", nil), (["--netrc-file", "netrc", "--digest"], "", nil),
            ([], "", nil),
        ]
        let server = try Self.server()
        for row in rows {
            let outcome = try program.run(["get"] + row.arguments + [server.url().replacing("//", with: "//" + row.user)])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(credentials(server) == rows.map(\.expected))
    }

    @Test("The default file is ~/.netrc, or the file that the variable NETRC names")
    func defaultFile() throws {
        try program.makeFile(".netrc", "machine 127.0.0.1 login home password h\n")
        try program.makeFile("other", "machine 127.0.0.1 login other password o\n")
        let server = try Self.server()
        let folder = program.folder.path
        func get(_ variables: [String: String], _ option: String) throws -> Program.Outcome {
            try program.run(["get", option, server.url()], with: variables)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/.netrc")
        #expect(try get([:], "-n").status == 0)
        #expect(try get(["NETRC": folder + "/other"], "--netrc").status == 0)
        #expect(try get(["HOME": folder + "/nowhere"], "--netrc").status == 0)
        #expect(credentials(server) == ["home:h", "other:o", nil])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder + "/.netrc")
        let outcomeOfAReadableFile = try get([:], "--netrc-optional")
        let message = outcomeOfAReadableFile.errors.joined(separator: "\n")
        #expect(outcomeOfAReadableFile.status != 0 && message.contains("chmod 600") && !message.contains("home:"), "\(message)")
    }

    @Test("After a redirect, each host gets only its own password")
    func redirects() throws {
        let otherServer = try Self.server()
        let otherURL = otherServer.url().replacing("127.0.0.1", with: "localhost")
        let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(otherURL)"]))
        try program.makeFile("netrc", "machine 127.0.0.1 login a password b\nmachine localhost login c password d\n")
        #expect(try program.run("get", "--netrc-file", "netrc", server.url()).status == 0)
        #expect(credentials(server) == ["a:b"] && credentials(otherServer) == ["c:d"])
        let secondTarget = try Self.server()
        let secondServer = try ScriptedServer(
            ScriptedServer.response("302 Found", ["Location: \(secondTarget.url().replacing("127.0.0.1", with: "localhost"))"]))
        try program.makeFile("netrc", "machine 127.0.0.1 login a password b\n")
        #expect(try program.run("get", "--netrc-file", "netrc", secondServer.url()).status == 0)
        #expect(credentials(secondServer) == ["a:b"] && credentials(secondTarget) == [nil])
    }

    @Test("After a redirect, another port of the host gets only the password of an entry for that port")
    func redirectToAnotherPort() throws {
        let target = try Self.server()
        let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(target.url())"]))
        for (entry, expected) in [("", nil), (" port \(target.port)", "c:d")] as [(String, String?)] {
            let netrc = "machine 127.0.0.1\(entry) login c password d\nmachine 127.0.0.1 login a password b\n"
            try program.makeFile("netrc", netrc)
            #expect(try program.run("get", "--netrc-file", "netrc", server.url()).status == 0)
            #expect(credentials(server).last == (expected == nil ? "c:d" : "a:b") && credentials(target).last == expected)
        }
    }

    @Test(
        "A refused password is an error, before and after a redirect",
        arguments: [[], ["--anyauth"]], ["", "redirect", "port"])
    func refusedPasswordIsAnError(arguments: [String], kind: String) throws {
        let refusal = ScriptedServer.response("401 Who", ["WWW-Authenticate: Basic realm=r"], "no")
        let target = try ScriptedServer(refusal)
        let targetURL = kind == "redirect" ? target.url().replacing("127.0.0.1", with: "localhost") : target.url()
        let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(targetURL)"]))
        let port = kind == "port" ? "machine 127.0.0.1 port \(target.port) login c password d\n" : ""
        try program.makeFile("netrc", port + "machine 127.0.0.1 login a password b\nmachine localhost login c password d\n")
        let outcome = try program.run(["get", "--netrc-file", "netrc"] + arguments + [kind.isEmpty ? target.url() : server.url()])
        #expect(outcome.status == 67 && outcome.text == "no", "\(outcome)")
        #expect(credentials(target).last == (kind.isEmpty ? "a:b" : "c:d"))
    }

    @Test("A malformed file is an error that shows no password")
    func malformed() throws {
        try program.makeFile("netrc", "machine h login a password \"hunter2\n")
        let outcome = try program.run("get", "--netrc-file", "netrc", "data:,x")
        let message = outcome.errors.joined(separator: "\n")
        #expect(outcome.status == 37 && message.contains("line 1") && !message.contains("hunter2"), "\(message)")
    }

    @Test("A FIFO, a device, and a file that is missing or too large are errors at once")
    func unusableFiles() throws {
        let script = "mkfifo fifo; head -c 2000000 /dev/zero | tr '\\0' '#' > large"
        #expect(try program.runScript(script).status == 0)
        for name in ["fifo", "/dev/zero", "large", "missing", "."] {
            let outcome = try program.run("get", "--netrc-file", name, "data:,x")
            #expect(outcome.status != 0 && outcome.output.isEmpty && outcome.errors.count == 1, "\(outcome)")
            #expect(outcome.errors.first?.hasPrefix("portolan: --netrc-file: ") == true, "\(outcome.errors)")
        }
    }

    @Test("-v names the unsupported authentication schemes of a response")
    func unsupportedSchemes() throws {
        let server = try ScriptedServer(
            ScriptedServer.response("401 Who", ["WWW-Authenticate: Negotiate", "WWW-Authenticate: NTLM"]))
        let outcome = try program.run("get", "-v", server.url())
        #expect(
            outcome.errors.contains { $0.hasPrefix("* the server offers authentication by 'negotiate', 'ntlm', which is not supported") })
    }

    @Test("No output shows a password: -v, the trace and the log", arguments: ["-v", "--trace t.html", "--events"])
    func secretsAreHidden(option: String) throws {
        let server = try ScriptedServer(
            ScriptedServer.response("401 Who", [#"WWW-Authenticate: Digest realm="r", nonce="n", qop="auth""#]), Self.ok)
        try program.makeFile("netrc", "machine 127.0.0.1 login ann password hunter2-secret\n")
        let outcome = try program.run(
            ["get", "--netrc-file", "netrc", "--digest"] + option.split(separator: " ").map(String.init) + [server.url()])
        var texts = outcome.errors + [outcome.text]
        if option.contains("trace") { texts.append(try String(contentsOfFile: program.folder.path + "/t.html", encoding: .utf8)) }
        for text in texts { #expect(!text.contains("hunter2-secret")) }
        #expect(server.requests.count == 2)
    }
}
