// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// System libraries that become plugins by a manifest, without code.
@Suite(.blocking, .timeLimit(.minutes(2))) struct BoundLibraryTests {
    private let program: Program

    init() throws {
        program = try Program()
        for name in ["LibCurl", "LibMagic"] { try program.copyManifest(name) }
    }

    private func get(_ plugin: String, _ url: String, _ options: String...) throws -> Program.Outcome {
        try program.run(["get", "--plugin", "\(program.path)/\(plugin)", url] + options)
    }

    @Test(arguments: [("LibCurl", "gopher://127.0.0.1:1/0/a"), ("LibMagic", "magic:///bin/sh")])
    func readOnlySchemeRefusesBodiesAndOtherMethods(plugin: String, url: String) throws {
        for option in [["-d", "x"], ["-X", "DELETE"]] {
            let outcome = try program.run(["get", "--plugin", plugin, url] + option)
            #expect(outcome.status == 101 && outcome.errors.first?.contains("use GET") == true, "\(outcome.errors)")
        }
    }

    @Test func gopherIsLoadedThroughLibcurl() throws {
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let server = try ScriptedServer([.receive(10), .send(body)])
        let outcome = try get("LibCurl", "gopher://127.0.0.1:\(server.port)/9/a%20chart")
        #expect(outcome.status == 0 && outcome.errors.isEmpty && outcome.output == Data(body))
        #expect(server.connections.first?.received == Array("/a chart\r\n".utf8))
    }

    @Test func dictIsLoadedThroughLibcurl() throws {
        let response =
            "220 sea <1@x>\r\n250 ok\r\n150 1 definitions\r\n151 \"tide\" sea \"Sea\"\r\nthe rise and fall\r\n.\r\n250 ok\r\n221 bye\r\n"
        let server = try ScriptedServer([.send(text: response)])
        let outcome = try get("LibCurl", "dict://127.0.0.1:\(server.port)/d:tide", "-i")
        #expect(outcome.status == 0 && outcome.text == "content-type: text/plain\n\n" + response)
        let receivedText = server.connections.first.map { String(decoding: $0.received, as: UTF8.self) } ?? ""
        #expect(receivedText.hasSuffix("DEFINE ! tide\r\nQUIT\r\n"))
    }

    /// The file has more than one TFTP block. The server is atftpd of Debian.
    @Test func tftpIsLoadedThroughLibcurl() throws {
        let servers = try TestServers.shared
        let outcome = try get("LibCurl", servers.url(.tftp, "/1MiB.bin", host: "127.0.0.1"))
        let servedFile = FileManager.default.contents(atPath: "\(servers.folder)/site/1MiB.bin")
        #expect(outcome.status == 0 && outcome.errors.isEmpty && outcome.output == servedFile && servedFile?.count == 1 << 20)
        let missing = try get("LibCurl", servers.url(.tftp, "/none", host: "127.0.0.1"), "--events")
        #expect(missing.lines.last?.contains("\"notFound\"") == true, "\(missing.lines)")
    }

    @Test func errorOfLibcurlIsReportedWithItsCode() throws {
        let server = try ScriptedServer([.receive(5), .reset])
        let outcomeOfAReset = try get("LibCurl", "gopher://127.0.0.1:\(server.port)/0/ab", "--events")
        #expect(outcomeOfAReset.lines.last?.contains("\"connectionLost\"") == true, "\(outcomeOfAReset.lines)")
        let port = server.port
        server.close()
        let outcomeOfARefusedConnection = try get("LibCurl", "gopher://127.0.0.1:\(port)/")
        #expect(outcomeOfARefusedConnection.status == 7)
        #expect(
            outcomeOfARefusedConnection.errors == ["portolan: curl_easy_perform of libcurl.so.4 failed with 7: Couldn't connect to server"])
    }

    /// The time limit expires while bytes arrive, or while none arrive.
    @Test(arguments: [false, true]) func timeLimitStopsLibcurl(_ isSilent: Bool) throws {
        let server = try ScriptedServer([.receive(2)] + (isSilent ? [.stall] : [.forever([.send([UInt8](repeating: 120, count: 65536))])]))
        let outcome = try get("LibCurl", "gopher://127.0.0.1:\(server.port)/", "--max-time", "0.3", "-o", "out")
        #expect(outcome.status == 28, "\(outcome)")
    }

    /// Without a host, libcurl could read the URL as one of another protocol.
    @Test(arguments: ["gopher:", "dict:word", "tftp:///file", "gopher:///"]) func urlWithoutAHostIsRefused(_ url: String) throws {
        let outcome = try get("LibCurl", url)
        #expect(outcome.status != 0 && outcome.errors == ["portolan: '\(url)' names no host; write one after '//'"])
    }

    @Test func libmagicDescribesAFile() throws {
        try program.makeFile("a b.html", "<!DOCTYPE html><html><body>sea</body></html>")
        let outcome = try get("LibMagic", "magic-mime://\(program.path)/a%20b.html")
        #expect(outcome.text == "text/html; charset=us-ascii")
        let missing = try get("LibMagic", "magic://\(program.path)/none")
        #expect(missing.errors.first?.contains("magic_file of libmagic.so.1 failed with NULL: cannot") == true, "\(missing.errors)")
    }

    @Test func bothBindingsAreValidAndUseSystemLibraries() throws {
        let outcome = try program.run("plugins", "validate", "\(program.path)/LibCurl", "\(program.path)/LibMagic")
        #expect(outcome.status == 0 && outcome.lines.count { $0.hasSuffix(": valid") } == 2, "\(outcome.lines)")
        let outcomeOfInspect = try program.run("plugins", "inspect", "\(program.path)/LibCurl")
        #expect(outcomeOfInspect.lines.contains { $0.hasPrefix("library ") && $0.hasSuffix("/libcurl.so.4") })
    }

    /// The program finds bindings in a search, and applies the same policies as for other plugins.
    @Test func installedBindingIsFound() throws {
        for name in ["LibCurl", "LibMagic"] { try program.copyManifest(name, to: "plugins/\(name)") }
        let variables = ["PORTOLAN_PLUGIN_PATH": "\(program.path)/plugins"]
        #expect(try program.run(["get", "magic:///dev/null"], with: variables).text.hasPrefix("character special"))
        let outcomeWithDenyList = try program.run(
            ["get", "magic:///dev/null"], with: variables.merging(["PORTOLAN_PLUGIN_DENY": "org.portolan.*"]) { $1 })
        #expect(outcomeWithDenyList.status != 0 && outcomeWithDenyList.output.isEmpty)
    }
}
