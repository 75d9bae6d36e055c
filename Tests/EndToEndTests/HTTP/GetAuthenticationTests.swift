// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// The requests in which `get` sends credentials, and the authentication scheme that it uses.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetAuthenticationTests {
    private let program: Program
    private static let basicCredential = "Basic dTpw"
    private static let digestChallenge = ScriptedServer.response("401 Who", [#"WWW-Authenticate: Digest realm="r", nonce="n", qop="auth""#])
    private static let basicAndDigestChallenges = ScriptedServer.response(
        "401 Who", ["WWW-Authenticate: Basic realm=r", #"WWW-Authenticate: Digest realm="r", nonce="n""#])
    private static let basicChallenge = ScriptedServer.response("401 Who", ["WWW-Authenticate: Basic realm=r"])
    private static let unsupported = ScriptedServer.response(
        "401 Who", ["WWW-Authenticate: Bearer realm=r", "WWW-Authenticate: Negotiate"], "no")
    private static let redirect = ScriptedServer.response("302 Found", ["Location: /b"])
    private static let successResponse = ScriptedServer.response("200 OK", [], "yes")

    init() throws { program = try Program() }

    /// The value of each request's `Authorization` field; for Digest only the scheme.
    private func sentCredentials(_ server: ScriptedServer, _ name: String = "Authorization") -> [String?] {
        server.requests.map { lines in
            lines.first { $0.hasPrefix("\(name): ") }.map { line in
                let value = String(line.dropFirst(name.count + 2))
                return value.hasPrefix("Digest ") ? "Digest" : value
            }
        }
    }

    @Test(
        arguments: [
            (["-u", "u:p"], [successResponse], [basicCredential], "yes", Int32(0)),
            (["-u", "u:p", "--basic"], [successResponse], [basicCredential], "yes", 0),
            (["-u", "u:p"], [digestChallenge, successResponse], [basicCredential, "Digest"], "yes", 0),
            (["-u", "u:p"], [basicAndDigestChallenges], [basicCredential], "", 67),
            (["-u", "u:p"], [basicChallenge], [basicCredential], "", 67),
            (["-u", "u:p", "--anyauth"], [basicChallenge, successResponse], [nil, basicCredential], "yes", 0),
            (["-u", "u:p", "--anyauth"], [basicAndDigestChallenges, successResponse], [nil, "Digest"], "yes", 0),
            (["-u", "u:p", "--digest"], [basicAndDigestChallenges, successResponse], [nil, "Digest"], "yes", 0),
            (["-u", "u:p", "--digest", "--fail"], [basicChallenge], [nil], "", 22),
            (["-u", "u:p", "-H", "Authorization: own"], [successResponse], ["own"], "yes", 0),
            // As with curl, a 401 does not replace the user's own field.
            (["-u", "u:p", "-H", "Authorization: own"], [basicChallenge], ["own"], "", 0),
            (["-u", "u:p", "-H", "Authorization: own", "--anyauth", "--fail"], [digestChallenge], ["own"], "", 22),
            (["-u", "u:p", "-H", "Authorization:"], [successResponse], [nil], "yes", 0),
            (["--oauth2-bearer", "t0ken"], [successResponse], ["Bearer t0ken"], "yes", 0),
            (["--oauth2-bearer", "t0ken", "-u", "u:p"], [successResponse], ["Bearer t0ken"], "yes", 0),
            (["--oauth2-bearer", "t0ken", "-u", "u:p", "--fail"], [basicChallenge, successResponse], ["Bearer t0ken"], "", 22),
            // After a Digest challenge, the password is not sent by Basic, not even after a redirect.
            (
                ["-u", "u:p", "--anyauth", "--fail"], [digestChallenge, redirect, basicChallenge, successResponse],
                [nil, "Digest", "Digest"], "", 22
            ),
            // A server without a supported scheme: the response is delivered, as in curl.
            (["-u", "u:p"], [unsupported], [basicCredential], "no", 0), (["-u", "u:p", "--anyauth"], [unsupported], [nil], "no", 0),
            (["-u", "u:p", "--fail"], [unsupported], [basicCredential], "", 22),
        ] as [([String], [[ScriptedServer.Step]], [String?], String, Int32)])
    func credentialsAreSentAsCurlDoes(
        arguments: [String], scripts: [[ScriptedServer.Step]], expected: [String?], text: String, status: Int32
    ) throws {
        let server = try ScriptedServer { scripts[min($0, scripts.count - 1)] }
        let outcome = try program.run(["get"] + arguments + [server.url()])
        #expect(outcome.text == text && outcome.status == status, "\(outcome.errors)")
        #expect(sentCredentials(server) == expected)
    }

    @Test(arguments: [([], basicCredential), (["--anyauth"], nil), (["--digest"], nil)] as [([String], String?)])
    func userInformationOfTheURLIsSentLikeTheUserOption(arguments: [String], expected: String?) throws {
        let server = try ScriptedServer(Self.successResponse)
        let outcome = try program.run(["get", "-v"] + arguments + [server.url().replacing("//", with: "//u:p@")])
        #expect(outcome.text == "yes" && sentCredentials(server) == [expected])
        #expect(!outcome.errors.contains { $0.contains("u:p") || $0.contains("dTpw") })
    }

    @Test func credentialsAndCookiesAreNotSentToAnotherOrigin() throws {
        for arguments in [["-u", "u:p"], ["--oauth2-bearer", "t"], ["-b", "a=1"]] {
            let otherServer = try ScriptedServer(Self.successResponse)
            let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(otherServer.url())"]))
            let outcome = try program.run(["get"] + arguments + [server.url()])
            #expect(outcome.text == "yes")
            let lines = otherServer.requests.flatMap { $0 }.map { $0.lowercased() }
            #expect(!lines.contains { $0.hasPrefix("authorization:") || $0.hasPrefix("cookie:") })
        }
    }

    @Test(
        arguments: [
            ([], ["Basic dTpw"]), (["--proxy-basic"], ["Basic dTpw"]), (["--proxy-anyauth"], [nil, "Digest"]),
            (["--proxy-digest"], [nil, "Digest"]),
        ] as [([String], [String?])])
    func credentialsOfTheProxyAreSentAsCurlDoes(arguments: [String], expected: [String?]) throws {
        let refusal = ScriptedServer.response(
            "407 Who", ["Proxy-Authenticate: Basic realm=r", #"Proxy-Authenticate: Digest realm="r", nonce="n""#])
        let proxy = try ScriptedServer { [expected] in expected.count == 1 || $0 > 0 ? Self.successResponse : refusal }
        let outcome = try program.run(
            ["get", "-x", proxy.url(), "--proxy-user", "u:p"] + arguments + ["http://h.test/"])
        #expect(outcome.text == "yes" && outcome.status == 0, "\(outcome.errors)")
        #expect(sentCredentials(proxy, "Proxy-Authorization") == expected && sentCredentials(proxy) == expected.map { _ in nil })
    }

    @Test("Other users do not see secrets in the command line, as with curl")
    func secretsAreNotVisibleArguments() throws {
        for arguments in [
            ["-u", "t:s3cr3t3", "-u", "u:s3cr3t", "--proxy-user", "v:s3cr3t2"], ["-su", "u:s3cr3t"], ["--user=u:s3cr3t"],
            ["--oauth2-bearer", "s3cr3t"], ["--oauth2-bearer=s3cr3t"], ["-uu:s3cr3t"], ["-Uu:s3cr3t"],
        ] {
            let text = try program.run(["get"] + arguments + ["file:///proc/self/cmdline"]).text
            #expect(text.hasSuffix("file:///proc/self/cmdline\0") && !text.contains("s3cr3t"), "\(text.debugDescription)")
        }
    }

    @Test("-v says who gets a credential or cookies, and who does not, without a secret")
    func accessIsReported() throws {
        let otherServer = try ScriptedServer(Self.successResponse)
        let redirects = [
            ["Location: /b", "Set-Cookie: sid=s3cr3t", "Set-Cookie: bad=s3cr3t; Domain=example.org"], ["Location: \(otherServer.url())"],
        ]
        let server = try ScriptedServer { ScriptedServer.response("302 Found", redirects[min($0, 1)]) }
        let outcome = try program.run("get", "-v", "-c", "jar", "-b", "own=s3cr3t", "-u", "u:s3cr3t", server.url())
        let lines = outcome.errors.filter { $0.contains("cookie") || $0.contains("credential") || $0.contains("sent to") }.filter {
            !$0.hasPrefix("<")
        }
        let place = server.url()
        #expect(
            lines == [
                "* request 1: carries a credential for '\(place)': basic, from -u",
                "* request 1: carries cookies for '\(place)': own",
                "* cookie stored: sid of 127.0.0.1",
                "* request 1: cookie refused: bad: its domain does not match the host (RFC 6265bis §5.7)",
                "* request 2: carries a credential for '\(place)b': basic, from -u",
                "* request 2: carries cookies for '\(place)b': sid, own",
                "* request 2: not sent to '\(otherServer.url())', another origin: Authorization, Cookie",
                "* request 3: carries cookies for '\(otherServer.url())': sid",
            ])
        #expect(!lines.contains { $0.contains("s3cr3t") })
        let namelessOutcome = try program.run("get", "-v", "-H", "Cookie: s3cr3t", otherServer.url())
        #expect(
            namelessOutcome.errors.contains { $0.hasSuffix(": (no name)") } && !namelessOutcome.errors.contains { $0.contains("s3cr3t") })
    }

    @Test("The lines of -v and the table of times count the same requests, also if one is sent again")
    func requestsHaveOneNumbering() throws {
        let scripts = [Self.basicChallenge, Self.redirect, Self.successResponse]
        let server = try ScriptedServer { scripts[min($0, 2)] }
        let outcome = try program.run("get", "-v", "--anyauth", "-u", "u:p", server.url())
        #expect(
            outcome.errors.filter { $0.hasPrefix("* request ") && !$0.hasPrefix("* request  ") } == [
                "* request 2: responds to the basic challenge of '127.0.0.1' with a credential",
                "* request 3: carries a credential for '\(server.url("/b"))': basic, accepted by an earlier response",
                "* request 1 got the status 401, the challenge of the server is 'basic'; request 2 responds to it",
            ])
        #expect(outcome.errors.contains { $0.hasSuffix("0 failures before it: sending user name and password (from -u)") })
        #expect(outcome.errors.contains { $0.hasPrefix("*       3 ") && $0.contains("new connection") }, "\(outcome.errors)")
    }

    @Test("-v says where the credential of the first request comes from")
    func sourceOfTheCredentialIsNamed() throws {
        try program.makeFile("rc", "machine 127.0.0.1 login u password p\n")
        let server = try ScriptedServer(Self.successResponse)
        for (arguments, source) in [
            (["-u", "u:p"], "basic, from -u"), (["--netrc-file", "rc"], "basic, from netrc"),
            (["--oauth2-bearer", "t"], "bearer, from --oauth2-bearer"),
            (["-H", "Authorization: own x"], "own, from -H"), ([], "basic, from the URL"),
        ] {
            let url = arguments.isEmpty ? server.url().replacing("//", with: "//u:p@") : server.url()
            let outcome = try program.run(["get", "-v"] + arguments + [url])
            #expect(outcome.errors.contains("* request 1: carries a credential for '\(server.url())': \(source)"), "\(outcome.errors)")
        }
    }

    @Test("-v says that a proxy gets a credential, with each request or for a tunnel")
    func credentialOfAProxyIsReported() throws {
        let proxy = try ScriptedServer(ScriptedServer.response("502 Bad Gateway"))
        let place = "a credential for the proxy '\(proxy.url().dropLast())': basic, from"
        for (arguments, text) in [
            (["-x", proxy.url(), "-U", "u:s3cr3t", "http://h.test/"], "carries \(place) --proxy-user"),
            (["-x", proxy.url().replacing("//", with: "//u:s3cr3t@"), "http://h.test/"], "carries \(place) the proxy's URL"),
            (["-x", proxy.url(), "-U", "u:s3cr3t", "https://h.test/"], "opens a tunnel with \(place) --proxy-user"),
        ] {
            let outcome = try program.run(["get", "-v"] + arguments)
            #expect(outcome.errors.contains("* request 1: \(text)"), "\(outcome.errors)")
            #expect(!outcome.errors.joined().contains("s3cr3t"))
        }
    }

    @Test("An option that waits for a challenge warns if there is no user name", arguments: ["--anyauth", "--digest"])
    func missingUserNameIsReported(option: String) throws {
        let warning = "portolan: warning: \(option) has no effect without a user name; give one with -u, with --netrc or in the URL"
        try program.makeFile("rc", "")
        #expect(try program.run("get", option, "data:,x").errors == [warning])
        for arguments in [["-s"], ["-u", "u:p"], ["--netrc-file", "rc"], ["--state", "state"], ["--oauth2-bearer", "t"], ["data:,u@h"]] {
            let outcome = try program.run(["get", option, "data:,x"] + arguments)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        }
        for option in ["--proxy-anyauth", "--proxy-digest"] {
            let outcome = try program.run("get", option, "data:,x")
            #expect(outcome.errors == ["portolan: warning: \(option) has no effect without --proxy-user"])
        }
    }

    @Test("A challenge that the load answers itself is an event, as any other", arguments: [[], ["--anyauth"], ["--digest"]])
    func everyAnsweredChallengeIsAnEvent(arguments: [String]) throws {
        let scripts = [Self.digestChallenge, Self.successResponse]
        let server = try ScriptedServer { scripts[$0 % 2] }
        let outcome = try program.run(["get", "--events", "-u", "u:p"] + arguments + [server.url()])
        let challenges = outcome.lines.filter { $0.contains(#""event":"challenge""#) }
        #expect(challenges.count == 1 && challenges[0].contains(#""realm":"r","failures":0,"answer":"credential""#), "\(outcome.text)")
        let verboseOutcome = try program.run(["get", "-v", "--trace", "t.html", "-u", "u:p"] + arguments + [server.url()])
        let text = "', 0 failures before it: sending the user name and a hash of the password (from -u)"
        let lines = verboseOutcome.errors.filter { $0.hasPrefix("* Digest challenge of '127.0.0.1:") }
        #expect(lines.count == 1 && lines[0].hasSuffix("realm 'r\(text)"), "\(verboseOutcome.errors)")
        #expect(program.contents(of: "t.html")?.contains("Digest challenge of '127.0.0.1:") == true)
    }

    @Test("A URL without a scheme does not show its password")
    func passwordOfAURLWithoutSchemeIsHidden() throws {
        for (command, status) in [(["get", "-v"], 6), (["get", "--events"], 6), (["explain"], 0), (["explain", "--json"], 0)] {
            let outcome = try program.run(command + ["user:s3cr3t@host.invalid/x"])
            #expect(outcome.status == status && !(outcome.text + outcome.errors.joined()).contains("s3cr3t"), "\(outcome)")
        }
    }

    @Test("Arguments that are not UTF-8 are an error, because they would be changed")
    func argumentsMustBeUTF8() throws {
        let outcome = try program.runScript(#""$portolan" get -u "$(printf 'u:\377')" data:,x"#)
        #expect(outcome.status == 2 && outcome.errors.first?.hasPrefix("portolan: argument 3 is not UTF-8") == true, "\(outcome.errors)")
    }

    @Test("A user name with a colon is not sent by Basic; the load goes on, and -v says why")
    func colonInAUserNameIsReported() throws {
        let server = try ScriptedServer(ScriptedServer.response("401 Who", ["WWW-Authenticate: Basic realm=r"], "no"))
        let url = server.url().replacing("//", with: "//us%3Aer:s3cr3t@")
        let outcome = try program.run("get", "-v", url)
        #expect(outcome.status == 0 && outcome.text == "no" && sentCredentials(server) == [nil], "\(outcome.errors)")
        #expect(outcome.errors.first?.hasPrefix("portolan: warning: the URL: no credentials sent with the first request: ") == true)
        let reason = ": no user name and password sent: a user name with a colon can't be sent by Basic; use another one"
        #expect(outcome.errors.contains { $0.hasSuffix(reason) }, "\(outcome.errors)")
        #expect(!outcome.errors.joined().contains("s3cr3t"))
    }

    @Test("-v says why a netrc password is not sent")
    func withheldPasswordIsReported() throws {
        let otherServer = try ScriptedServer(Self.successResponse)
        let server = try ScriptedServer(ScriptedServer.response("302 Found", ["Location: \(otherServer.url())"]))
        try program.makeFile("rc", "machine 127.0.0.1 login u password p\n")
        let outcome = try program.run("get", "-v", "--netrc-file", "rc", server.url())
        #expect(sentCredentials(server) == [Self.basicCredential] && sentCredentials(otherServer) == [nil])
        #expect(
            outcome.errors.contains {
                $0.hasPrefix(
                    "* request 1: netrc password for '\(otherServer.url())' not sent: the load has used another scheme or port of this host"
                )
            }, "\(outcome.errors)")
    }

    /// The other server sends the same challenge, with the same realm and nonce.
    @Test func digestResponseIsNotSentToAnotherOrigin() throws {
        let otherServer = try ScriptedServer(Self.digestChallenge)
        let redirect = ScriptedServer.response("302 Found", ["Location: \(otherServer.url())"])
        let server = try ScriptedServer { $0 == 0 ? Self.digestChallenge : redirect }
        let outcome = try program.run("get", "-u", "u:p", "--digest", "--fail", server.url())
        #expect(outcome.status == 22, "\(outcome.errors)")
        #expect(sentCredentials(server) == [nil, "Digest"] && sentCredentials(otherServer) == [nil])
    }

    @Test func verboseOutputNamesTheDigestChallengeOfApache() throws {
        let servers = try TestServers.shared
        let url = try servers.url(.apacheHTTP, "/private/secret.txt")
        let user = "\(servers.user):\(servers.password)"
        let outcome = try program.run("get", "-v", "-u", user, "--digest", url)
        #expect(outcome.status == 0 && outcome.text.contains("treasure"), "\(outcome.errors)")
        #expect(
            outcome.errors.contains {
                $0.contains("Digest challenge of 'localhost:") && $0.contains("', realm 'Harbour'")
                    && $0.contains("sending the user name and a hash of the password")
            })
        #expect(!outcome.errors.contains { $0.contains(servers.password) })
    }
}
