// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

private let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

/// Options with curl's names have the same effect as in curl(1). The tests run both programs.
@Suite(.blocking, .timeLimit(.minutes(2)), .enabled(if: hasCurl, "needs curl"))
struct GetLikeCurlTests {
    /// The result of a program that ran in a separate folder.
    private struct ProgramResult: Equatable {
        let status: Int32
        let isSilent: Bool
        let files: [String]
    }

    /// Runs curl and portolan with the same arguments.
    ///
    /// - Parameters:
    ///   - arguments: SERVER stands for the URL of the server.
    ///   - server: creates a separate server for each program.
    private func results(_ arguments: String, _ server: () throws -> ScriptedServer?) throws -> (
        curl: ProgramResult, portolan: ProgramResult
    ) {
        func result(_ command: String) throws -> ProgramResult {
            let program = try Program()
            let server = try server()
            let outcome = try program.runScript("\(command) \(arguments.replacingOccurrences(of: "SERVER", with: server?.url() ?? ""))")
            return ProgramResult(status: outcome.status, isSilent: outcome.errors.isEmpty, files: try program.files)
        }
        return (try result("/usr/bin/curl -q --noproxy '*'"), try result(#""$portolan" get"#))
    }

    @Test(arguments: ["-s", "-sS", "-Ss", "-s --show-error", "--silent", "-fs", "-fsS", "-fsSL", "-fsSLo out", "-fsSL -o out"])
    func silentHidesErrorsUnlessShowErrorIsGiven(options: String) throws {
        for script in [ScriptedServer.response("404 Not Found", [], "gone"), ScriptedServer.response("200 OK", [], "there"), nil] {
            let (curl, portolan) = try results("\(options) \(script == nil ? "http://127.0.0.1:1/" : "SERVER/a")") {
                try script.map { try ScriptedServer($0) }
            }
            #expect(portolan == curl, "\(options)")
        }
    }

    private static let disposition = "Content-Disposition: attachment; filename=suggested"

    @Test(arguments: [
        ("-O", [], "given"), ("-O", [disposition], "given"), ("-O -J", [disposition], "suggested"), ("-OJ", [disposition], "suggested"),
        ("-O --remote-header-name", [disposition], "suggested"), ("-OJ", [], "given"), ("-J -o named", [disposition], "named"),
        ("-I -O", [disposition], "given"), ("-IO", [], "given"),
    ])
    func fileIsNamedAfterTheGivenURL(options: String, fields: [String], name: String) throws {
        for hasRedirect in [false, true] {
            let (curl, portolan) = try results("-s -L \(options) SERVER/dir/given?a=/b") {
                let length = options.contains("I") ? "" : "body"
                let response = ScriptedServer.response("200 OK", fields, length)
                return hasRedirect
                    ? try ScriptedServer(ScriptedServer.response("302 Found", ["Location: /other/final"]), response)
                    : try ScriptedServer(response)
            }
            #expect(curl.files == [name] && curl.status == 0, "\(curl)")
            #expect(portolan == curl)
        }
    }

    @Test(arguments: ["-OJ -C -", "-OJi", "-OJI"])
    func combinationsThatCurlRefusesAreRefused(options: String) throws {
        let (curl, portolan) = try results("\(options) SERVER/given") { try ScriptedServer(ScriptedServer.response("200 OK")) }
        #expect(portolan == curl && portolan.status == 2)
    }

    /// The body of the response to another method than HEAD is not read.
    @Test(arguments: ["-I -X GET", "-I -X DELETE -w '%{http_code} %{size_download}'", "-I -X GET -o head -w '%{exitcode}'"])
    func headOptionEndsTheLoadAfterTheHead(options: String) throws {
        let texts = try ["/usr/bin/curl -q --noproxy '*'", #""$portolan" get"#].map { command in
            let program = try Program()
            let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "body"))
            let outcome = try program.runScript("\(command) -s \(options) \(server.url())")
            return "\(outcome.status) \(outcome.text) \(program.contents(of: "head") ?? "")"
        }
        #expect(texts[0] == texts[1] && texts[1].hasPrefix("0 ") && texts[1].contains("200 OK") && !texts[1].contains("body"))
    }

    @Test func headIsWrittenToTheFile() throws {
        let program = try Program()
        let server = try ScriptedServer(
            ScriptedServer.responding("HTTP/1.1 200 OK\r\nConnection: close\r\nX-Kind: head\r\nContent-Length: 7\r\n\r\n"))
        let outcome = try program.run("get", "-I", "-O", server.url("/given"))
        #expect(outcome.status == 0 && outcome.output.isEmpty)
        #expect(
            program.contents(of: "given")
                == "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Kind: head\r\nContent-Length: 7\r\n\r\n")
    }

    /// The options, and the name of the field that neither program sends.
    @Test(arguments: [
        ("--compressed -H 'Accept-Encoding:'", "accept-encoding"), ("-H accept-encoding:", "accept-encoding"), ("-H 'Accept:'", "accept"),
        ("-H 'User-Agent:  '", "user-agent"), ("-d x -H 'Content-Type:'", "content-type"), ("-C 5 -H Range:", "range"),
        ("-u a:b -H Authorization:", "authorization"),
    ])
    func omittedFieldIsNotSent(options: String, name: String) throws {
        let fields = options.contains("-C") ? ["Content-Range: bytes 5-8/9"] : []
        let status = options.contains("-C") ? "206 Partial Content" : "200 OK"
        for command in ["/usr/bin/curl -q --noproxy '*'", #""$portolan" get"#] {
            let program = try Program()
            let server = try ScriptedServer(
                (options.contains("-d") ? [.receiveHead, .receive(1)] : [.receiveHead])
                    + ScriptedServer.response(status, fields, "body").dropFirst())
            _ = try program.runScript("\(command) \(options) -s \(server.url())")
            let head = try #require(server.requests.first, "\(command)")
            #expect(head.count > 1 && !head.contains { $0.lowercased().hasPrefix("\(name):") }, "\(command): \(head)")
        }
    }

    @Test(arguments: ["--coded", "--raw", "--coded -C 5", "-C 5"])
    func omittedAcceptEncodingRequestsNoCoding(options: String) throws {
        let program = try Program()
        let server = try ScriptedServer(ScriptedServer.response("206 Partial Content", ["Content-Range: bytes 5-8/9"], "body"))
        #expect(try program.runScript("\"$portolan\" get \(options) -H 'Accept-Encoding:' \(server.url())").text == "body")
        #expect(server.requests.first?.contains { $0.lowercased().hasPrefix("accept-encoding") } == false)
        let secondServer = try ScriptedServer(ScriptedServer.response("200 OK", [], "body"))
        _ = try program.runScript("\"$portolan\" get --coded -H 'Accept-Encoding:' -H 'Accept-Encoding: br' \(secondServer.url())")
        #expect(secondServer.requests.first?.filter { $0.lowercased().hasPrefix("accept-encoding") } == ["Accept-Encoding: br"])
    }

    @Test(arguments: ["NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"])
    func environmentListsHostsThatTheNamedProxyDoesNotServe(variable: String) throws {
        for command in ["/usr/bin/curl -q", #""$portolan" get"#] {
            let server = try ScriptedServer(ScriptedServer.response("200 OK", [], "direct"))
            let outcome = try Program().runScript(
                "unset NO_PROXY no_proxy; \(variable) \(command) -s -x http://127.0.0.1:1 \(server.url())")
            #expect(outcome.status == 0 && outcome.text == "direct", "\(command): \(outcome.errors)")
        }
        let server = try ScriptedServer(ScriptedServer.response("200 OK"))
        #expect(try Program().runScript("\(variable) \"$portolan\" get -s --noproxy '' -x http://127.0.0.1:1 \(server.url())").status == 7)
    }

    @Test func requiredFieldIsSentDespiteItsOmissionWithAWarning() throws {
        let program = try Program()
        let server = try ScriptedServer([.receiveHead, .receive(1)] + ScriptedServer.response("200 OK").dropFirst())
        let outcome = try program.run("get", "-d", "x", "-H", "host:", "-H", "Content-Length:", server.url())
        #expect(outcome.status == 0)
        #expect(
            outcome.errors
                == ["host", "Content-Length"].map { "portolan: warning: -H '\($0):' has no effect: this request needs the field" })
        #expect(server.requests.first?.contains("Content-Length: 1") == true)
    }
}
