// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// If curl has an exit status for a condition, `get` has the same exit status. Each test runs both programs and
/// compares their statuses.
@Suite(.blocking, .timeLimit(.minutes(5))) struct CurlStatusTests {
    /// A condition for both programs.
    struct Condition {
        /// Arguments of both programs.
        var arguments: [String] = []
        /// Arguments of one program only.
        var portolan: [String] = []
        var curl: [String] = []
        /// Servers and ports that must exist until both programs have ended.
        var server: ScriptedServer?
        var secondServer: ScriptedServer?
        var port: RefusingPort?
    }

    /// A condition for which both programs have the same exit status.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int32
        let condition: @Sendable (Program, TestServers) throws -> Condition

        init(_ status: Int32, _ name: String, _ condition: @escaping @Sendable (Program, TestServers) throws -> Condition) {
            (self.name, self.status, self.condition) = (name, status, condition)
        }

        var testDescription: String { "\(status): \(name)" }
    }

    private let program: Program
    private let servers: TestServers

    init() throws {
        program = try Program()
        servers = try TestServers.shared
    }

    /// A condition with a server that runs the script on each connection.
    private static func serving(_ script: [ScriptedServer.Step], _ arguments: String...) throws -> Condition {
        let server = try ScriptedServer(script)
        return Condition(arguments: arguments + [server.url()], server: server)
    }

    /// A condition with a server that sends this response and ends sending.
    ///
    /// - Parameter head: the response without "HTTP/1.1 ".
    private static func responding(_ head: String, _ arguments: String...) throws -> Condition {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 \(head)"), .halfClose])
        return Condition(arguments: arguments + [server.url()], server: server)
    }

    /// - Parameter version: the status line, for a response with an unusual version.
    private static func responding(version: String) throws -> Condition {
        try serving([.receiveHead, .send(text: "\(version)\r\nContent-Length: 2\r\n\r\nok"), .halfClose])
    }

    private static func redirecting(to location: String) throws -> Condition {
        try responding("302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    /// A condition with a proxy that runs the script.
    ///
    /// - Parameter scheme: the scheme of the proxy's URL.
    private static func proxy(_ scheme: String, _ script: [ScriptedServer.Step], to url: String, _ arguments: String...) throws -> Condition
    {
        let server = try ScriptedServer(script)
        return Condition(arguments: ["-x", "\(scheme)://127.0.0.1:\(server.port)", url] + arguments, server: server)
    }

    /// The script of a proxy that refuses a request.
    private static func proxyRefusal(_ status: String) -> [ScriptedServer.Step] {
        [.receiveHead, .send(text: "HTTP/1.1 \(status)\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\n\r\n"), .halfClose]
    }

    static let rows = [
        Row(0, "a body") { _, _ in try responding("200 OK\r\nContent-Length: 2\r\n\r\nok") },
        Row(1, "an unknown scheme") { _, _ in Condition(arguments: ["nosuch://x/"]) },
        Row(1, "a redirect to a file") { _, _ in try redirecting(to: "file:///etc/hostname") },
        Row(1, "a redirect to an unknown scheme") { _, _ in try redirecting(to: "nosuch://h/") },
        Row(1, "a redirect to data") { _, _ in try redirecting(to: "data:,x") },
        Row(2, "an unknown option") { _, _ in Condition(arguments: ["--nosuch-option", "http://127.0.0.1/"]) },
        Row(3, "a malformed URL") { _, _ in Condition(arguments: ["http://127.0.0.1:99999/"]) },
        Row(3, "a redirect to a malformed host") { _, _ in try redirecting(to: "http://[::1") },
        Row(3, "a redirect to a malformed port") { _, _ in try redirecting(to: "http://h:99999/") },
        Row(3, "a redirect to a URL without a host") { _, _ in try redirecting(to: "http://") },
        Row(5, "a proxy's name that is not found") { _, _ in Condition(arguments: ["-x", "http://nosuch.invalid:1080", "http://h.test/"]) },
        Row(5, "a proxy's name that is not found, for a secure origin") { _, _ in
            Condition(arguments: ["-x", "http://nosuch.invalid:1080", "https://h.test/"])
        },
        Row(5, "a malformed proxy") { _, _ in Condition(arguments: ["-x", "http://[::1", "http://h.test/"]) },
        Row(6, "a name that is not found") { _, _ in Condition(arguments: ["http://nosuch.invalid/"]) },
        Row(7, "a refused connection") { _, _ in
            let port = try RefusingPort()
            return Condition(arguments: ["http://127.0.0.1:\(port.port)/"], port: port)
        },
        Row(7, "a refused connection to a proxy") { _, _ in
            let port = try RefusingPort()
            return Condition(arguments: ["-x", "http://127.0.0.1:\(port.port)", "https://h.test/"], port: port)
        },
        Row(7, "a refused connection to a proxy over TLS") { _, _ in
            let port = try RefusingPort()
            return Condition(arguments: ["-x", "https://127.0.0.1:\(port.port)", "http://127.0.0.1/"], port: port)
        },
        Row(28, "a proxy over TLS that does not respond") { _, _ in
            try proxy("https", [.stall], to: "http://127.0.0.1/", "--max-time", "1")
        },
        Row(8, "a malformed length") { _, _ in try responding("200 OK\r\nContent-Length: x\r\n\r\n") },
        Row(8, "a field without a colon") { _, _ in try responding("200 OK\r\nname\r\n\r\n") },
        Row(18, "a body that is cut off") { _, _ in try responding("200 OK\r\nContent-Length: 9\r\n\r\nhalf") },
        Row(18, "chunks that are cut off") { _, _ in try responding("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf") },
        Row(22, "a bad status with --fail") { _, _ in
            try responding("404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "--fail")
        },
        Row(23, "an output file in a missing folder") { _, _ in
            try responding("200 OK\r\nContent-Length: 2\r\n\r\nok", "-o", "/nosuch/folder/file")
        },
        Row(25, "an upload of unknown length in HTTP/1.0") { _, _ in try responding("200 OK\r\nContent-Length: 0\r\n\r\n", "-0", "-T", "-")
        },
        Row(49, "a malformed --resolve") { _, _ in Condition(arguments: ["--resolve", "h:1", "http://h/"]) },
        Row(26, "a missing file for an upload") { _, _ in
            try responding("200 OK\r\nContent-Length: 0\r\n\r\n", "-T", "/nosuch-file")
        },
        Row(28, "a time limit") { _, _ in try serving([.receiveHead, .stall], "--max-time", "1") },
        Row(33, "a server without ranges") { program, _ in
            try program.makeFile("part", "ok")
            return try responding("200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nokok", "-C", "-", "-o", "part")
        },
        Row(35, "a server without TLS") { _, _ in
            let server = try ScriptedServer([.receive(1), .send(text: "HTTP/1.1 400 Bad Request\r\n\r\n"), .halfClose])
            return Condition(arguments: ["-k", "https://127.0.0.1:\(server.port)/"], server: server)
        },
        Row(37, "a missing file") { _, _ in Condition(arguments: ["file:///nosuch-file"]) },
        Row(47, "too many redirects") { _, servers in
            let url = try servers.url(.nginxHTTP, "/redirect/loop")
            return Condition(portolan: ["--max-redirects", "2", url], curl: ["--max-redirs", "2", url])
        },
        Row(52, "no response") { _, _ in try serving([.receiveHead, .halfClose]) },
        Row(52, "no response from a real server") { _, servers in Condition(arguments: [try servers.url(.nginxHTTP, "/hangup")]) },
        Row(56, "a reset in the body") { _, _ in
            try serving([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .reset])
        },
        Row(56, "a reset before the response") { _, _ in try serving([.receiveHead, .reset]) },
        Row(56, "a proxy that requires a password") { _, _ in try proxy("http", proxyRefusal("407 Who"), to: "https://h.test/") },
        Row(56, "a proxy that refuses the password") { _, _ in
            try proxy("http", proxyRefusal("407 Who"), to: "https://h.test/", "-U", "me:wr0ng")
        },
        Row(56, "a proxy that refuses the tunnel") { _, _ in try proxy("http", proxyRefusal("403 No"), to: "https://h.test/") },
        Row(56, "a proxy that hangs up") { _, _ in try proxy("http", [.receiveHead, .halfClose], to: "https://h.test/") },
        Row(56, "a server that is not a proxy") { _, _ in
            try proxy("http", [.receiveHead, .send(text: "SSH-2.0-x\r\n\r\n"), .halfClose], to: "https://h.test/")
        },
        Row(58, "a missing client certificate") { _, servers in
            Condition(arguments: ["-k", "--cert", "/nosuch-file", try servers.url(.nginxClientRequired, "/echo")])
        },
        Row(58, "an invalid client certificate") { program, servers in
            let file = try program.makeFile("cert.pem", "no certificate").path
            return Condition(arguments: ["-k", "--cert", file, try servers.url(.nginxClientRequired, "/echo")])
        },
        Row(58, "a missing private key") { _, servers in
            let certificate = try servers.path(of: .clientCertificate)
            return Condition(
                arguments: ["-k", "--cert", certificate, "--key", "/nosuch-file", try servers.url(.nginxClientRequired, "/echo")])
        },
        Row(58, "a key of another certificate") { _, servers in
            let (certificate, key) = (try servers.path(of: .clientCertificate), try servers.path(of: .refusedKey))
            return Condition(arguments: ["-k", "--cert", certificate, "--key", key, try servers.url(.nginxClientRequired, "/echo")])
        },
        Row(58, "a wrong passphrase") { _, servers in
            let (certificate, key) = (try servers.path(of: .clientCertificate), try servers.path(of: .clientEncryptedKey))
            return Condition(
                arguments: ["-k", "--cert", certificate, "--key", key, "--pass", "wr0ng", try servers.url(.nginxClientRequired, "/echo")])
        },
        Row(60, "an unknown authority") { _, servers in Condition(arguments: [try servers.url(.nginxHTTPS1, "/hello.txt")]) },
        Row(61, "a malformed coding") { _, _ in
            try responding("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde", "--compressed")
        },
        Row(61, "an unknown transfer coding") { _, _ in
            try responding("200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        },
        Row(67, "a password that is refused") { _, _ in
            // curl has this status only for protocols with a login, such as FTP. Over HTTP it delivers the response.
            let http = try ScriptedServer(refusingPassword)
            let ftp = try ScriptedServer([
                .send(text: "220 hi\r\n"), .receiveThrough("\r\n"), .send(text: "331 go on\r\n"), .receiveThrough("\r\n"),
                .send(text: "530 no\r\n"), .stall,
            ])
            let (portolanURL, curlURL) = (http.url(), "ftp://127.0.0.1:\(ftp.port)/")
            return Condition(arguments: ["-u", "me:wr0ng"], portolan: [portolanURL], curl: [curlURL], server: http, secondServer: ftp)
        },
        Row(77, "a missing file of authorities") { _, servers in
            Condition(arguments: ["--cacert", "/nosuch-file", try servers.url(.nginxHTTPS1, "/hello.txt")])
        },
        Row(77, "a file of authorities without certificates") { program, servers in
            let file = try program.makeFile("ca.pem", "no certificate").path
            return Condition(arguments: ["--cacert", file, try servers.url(.nginxHTTPS1, "/hello.txt")])
        },
        Row(97, "a SOCKS proxy without an acceptable authentication method") { _, _ in
            try proxy("socks5h", [.receive(3), .send([5, 0xFF]), .halfClose], to: "http://h.test/")
        },
        Row(97, "a SOCKS proxy that refuses the password") { _, servers in
            let port = try servers.endpoint(.socksLocked).port
            return Condition(arguments: ["-x", "socks5h://127.0.0.1:\(port)", "-U", "me:wr0ng", try servers.url(.nginxHTTP, "/hello.txt")])
        },
        Row(97, "a SOCKS proxy that can't connect") { _, servers in
            let port = try RefusingPort()
            let proxy = try servers.endpoint(.socksOpen).port
            return Condition(arguments: ["-x", "socks5h://127.0.0.1:\(proxy)", "http://127.0.0.1:\(port.port)/"], port: port)
        },
        Row(97, "a SOCKS proxy that hangs up") { _, _ in try proxy("socks5", [.receive(3), .halfClose], to: "http://127.0.0.1/") },
        Row(97, "a server that is not a SOCKS proxy") { _, _ in
            try proxy("socks5", [.receive(3), .send(text: "HTTP/1.1 400 Bad Request\r\n\r\n"), .halfClose], to: "http://127.0.0.1/")
        },
        Row(97, "a name that is not found before the request to a SOCKS proxy") { _, _ in
            try proxy("socks5", [.receive(3), .send([5, 0]), .stall], to: "http://nosuch.invalid/")
        },
    ]

    /// A condition with different statuses, as listed in the table of differences in command-line.md.
    struct Difference: Sendable, CustomTestStringConvertible {
        let row: Row
        /// The statuses that curl may have. One condition has two, which depend on the speed of curl's look-up.
        let curl: [Int32]

        init(_ status: Int32, curl: [Int32], _ name: String, _ condition: @escaping @Sendable (Program, TestServers) throws -> Condition) {
            (row, self.curl) = (Row(status, name, condition), curl)
        }

        var testDescription: String { "\(row.status), curl \(curl): \(row.name)" }
    }

    static let differences = [
        Difference(8, curl: [0], "a coding after chunked") { _, _ in
            try responding("200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        },
        Difference(5, curl: [5, 6], "a SOCKS proxy's name that is not found") { _, _ in
            Condition(arguments: ["-x", "socks5://nosuch.invalid:1080", "http://127.0.0.1/"])
        },
        Difference(26, curl: [0], "a missing file for -d") { _, _ in
            try responding("200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "-d", "@/nosuch-file")
        },
        Difference(56, curl: [35], "a proxy that sends bytes after its response to CONNECT") { _, _ in
            try proxy("http", [.receiveHead, .send(text: "HTTP/1.1 200 OK\r\n\r\nbehind it"), .halfClose], to: "https://h.test/")
        },
        Difference(3, curl: [6], "a host with a malformed percent escape") { _, _ in Condition(arguments: ["http://exa%mple/"]) },
        Difference(8, curl: [1], "a response of HTTP/3") { _, _ in try responding(version: "HTTP/3 200 OK") },
        Difference(8, curl: [1], "a response of HTTP/0.9") { _, _ in try responding(version: "HTTP/0.9 200 OK") },
        Difference(8, curl: [1], "a response that is not HTTP") { _, _ in try responding(version: "SSH-2.0-x") },
        Difference(8, curl: [0], "HTTP/2 in the form of HTTP/1") { _, _ in try responding(version: "HTTP/2 200 OK") },
        Difference(8, curl: [0], "HTTP/2.0 in the form of HTTP/1") { _, _ in try responding(version: "HTTP/2.0 200 OK") },
        Difference(0, curl: [1], "a response of HTTP/1.2") { _, _ in try responding(version: "HTTP/1.2 200 OK") },
        Difference(8, curl: [0], "a huge length") { _, _ in
            try responding("200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok")
        },
        Difference(8, curl: [0], "a length with a sign") { _, _ in try responding("200 OK\r\nContent-Length: +2\r\n\r\nok") },
        Difference(8, curl: [0], "two lengths") { _, _ in try responding("200 OK\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nok") },
        Difference(8, curl: [0], "a field without a name") { _, _ in try responding("200 OK\r\n: x\r\nContent-Length: 2\r\n\r\nok") },
        Difference(8, curl: [0], "the coding chunked twice") { _, _ in
            try responding("200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        },
        Difference(8, curl: [56], "a malformed chunk") { _, _ in try responding("200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nok\r\n")
        },
        Difference(8, curl: [52], "an unrequested 101") { _, _ in
            try responding("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        },
        Difference(105, curl: [7], "a proxy with socks4") { _, _ in
            let port = try RefusingPort()
            return Condition(arguments: ["-x", "socks4://127.0.0.1:\(port.port)", "http://127.0.0.1/"], port: port)
        },
        Difference(33, curl: [0], "a 416 to a resumed download") { _, _ in
            try responding("416 No\r\nContent-Range: bytes */2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "-C", "5")
        },
    ]

    @Test(arguments: differences)
    func statusDiffersFromCurlAsDocumented(difference: Difference) throws {
        let condition = try difference.row.condition(program, servers)
        defer { withExtendedLifetime(condition) {} }
        let (curl, outcome) = try run(condition)
        #expect(difference.curl.contains(curl.status), "curl: \(curl.errors)")
        #expect(outcome.status == difference.row.status, "portolan: \(outcome.errors)")
    }

    private static let refusingPassword: [ScriptedServer.Step] = [
        .forever([
            .receiveHead, .send(text: "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n"),
        ])
    ]

    private func run(_ condition: Condition) throws -> (curl: Program.Outcome, portolan: Program.Outcome) {
        let curl = try program.run(
            URL(fileURLWithPath: "/usr/bin/curl"), ["-q", "-sS", "-L", "--compressed"] + condition.arguments + condition.curl,
            input: Data(), with: [:])
        return (curl, try program.run(["get", "-s"] + condition.arguments + condition.portolan))
    }

    @Test(arguments: rows)
    func statusEqualsTheStatusOfCurl(row: Row) throws {
        let condition = try row.condition(program, servers)
        defer { withExtendedLifetime(condition) {} }
        let (curl, outcome) = try run(condition)
        #expect(curl.status == row.status, "curl: \(curl.errors)")
        #expect(outcome.status == row.status, "portolan: \(outcome.errors)")
        #expect(outcome.errors.allSatisfy { !$0.contains("wr0ng") })
    }

    /// Each documented status has a row, does not exist in curl, or cannot be caused in this test.
    @Test func everyDocumentedStatusIsCompared() throws {
        let documentedStatuses = try program.run("exit-codes").lines.compactMap { $0.split(separator: " ").first.flatMap { Int32($0) } }
        let comparedStatuses = Set(Self.rows.map(\.status))
        let statusesWithoutATest: Set<Int32> = [27, 63]  // 27: no memory; 63: belongs to an option of curl that the command does not have
        let statusesThatCurlDoesNotHave = documentedStatuses.filter { $0 >= 100 }
        #expect(Set(documentedStatuses).subtracting(comparedStatuses).subtracting(statusesWithoutATest) == Set(statusesThatCurlDoesNotHave))
    }
}
