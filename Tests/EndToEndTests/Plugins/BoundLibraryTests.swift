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
        for name in ["LibCurl", "LibMagic", "LibArchive", "SQLite"] { try program.copyManifest(name) }
    }

    /// Makes archives and a database in the working folder.
    static let samples = """
        import io, os, sqlite3, tarfile, zipfile
        def member(archive, name, data, **attributes):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in attributes.items(): setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
        with tarfile.open("charts.tar.gz", "w:gz") as archive:
            member(archive, "charts", b"", type=tarfile.DIRTYPE)
            member(archive, "charts/north.txt", b"north\\n")
            member(archive, "charts/a b!c.txt", b"odd")
            member(archive, "twin", b"", type=tarfile.LNKTYPE, linkname="charts/north.txt")
        with zipfile.ZipFile("charts.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("charts/empty", b"")
            archive.writestr("large.bin", bytes(i * 7 % 251 for i in range(3000000)), zipfile.ZIP_STORED)
            archive.writestr("caf\\u00e9", "bread")
        with open("cut.tar.gz", "wb") as file: file.write(open("charts.tar.gz", "rb").read()[:60])
        database = sqlite3.connect("tides.db")
        database.execute("create table tides (port text, height real, n integer, note)")
        database.execute("insert into tides values ('Brest', 6.5, 1, null), ('Saint \\"Malo\\"', -0.25, 2, ''), ('', 1e999, 3, 'a,b')")
        database.execute("create table odd (b)")
        database.execute("insert into odd values (x'00ff'), ('x' || char(0) || 'y')")
        database.commit()
        """

    private func makeSamples() throws {
        try program.makeFile("samples.py", Self.samples)
        let outcome = try program.runScript("/usr/bin/python3 samples.py")
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test func libarchiveListsAndExtracts() throws {
        try makeSamples()
        let list = try get("LibArchive", "archive:file://\(program.path)/charts.tar.gz", "-i")
        #expect(list.text.hasSuffix("\n\ncharts/\ncharts/north.txt\ncharts/a b!c.txt\ntwin\n"), "\(list.text) \(list.errors)")
        #expect(list.text.contains("content-type: text/plain"))
        #expect(try get("LibArchive", "archive:file://\(program.path)/charts.tar.gz!charts/north.txt").text == "north\n")
        #expect(try get("LibArchive", "archive:file://\(program.path)/charts.tar.gz!charts/a%20b%21c.txt").text == "odd")
        #expect(try get("LibArchive", "archive:file://\(program.path)/charts.zip!caf%C3%A9").text == "bread")
        let large = try get("LibArchive", "archive:file://\(program.path)/charts.zip!large.bin")
        #expect(large.output == Data((0..<3_000_000).map { UInt8($0 * 7 % 251) }))
        #expect(try get("LibArchive", "archive:file://\(program.path)/charts.zip!charts/empty").output.isEmpty)
    }

    @Test(arguments: [
        ("charts.tar.gz!none", "notFound", "the archive has no member 'none'"), ("charts.tar.gz!", "badURL", "ends with '!'"),
        ("charts.tar.gz!charts/", "notFound", "'charts/' is no regular file of the archive"),
        ("charts.tar.gz!twin", "notFound", "'twin' is a link to 'charts/north.txt'; load that member"),
        ("missing.tar", "notFound", "can't be read"), ("samples.py", "badResponse", "Unrecognized archive format"),
        ("cut.tar.gz!charts/north.txt", "badResponse", "of libarchive.so.13 failed with -30: truncated gzip input"),
    ])
    func failureOfLibarchiveIsExplained(path: String, code: String, text: String) throws {
        try makeSamples()
        let outcome = try get("LibArchive", "archive:file://\(program.path)/\(path)", "--events")
        #expect(outcome.lines.last?.contains("\"\(code)\"") == true && outcome.lines.last?.contains(text) == true, "\(outcome.lines)")
    }

    @Test func sqliteReturnsCSVAndJSON() throws {
        try makeSamples()
        let all = "file://\(program.path)/tides.db?select * from tides order by n"
        let csv = try get("SQLite", "sqlite:\(all)", "-i")
        #expect(
            csv.text.hasSuffix("port,height,n,note\r\nBrest,6.5,1,\r\n\"Saint \"\"Malo\"\"\",-0.25,2,\"\"\r\n\"\",Inf,3,\"a,b\"\r\n"),
            "\(csv)")
        #expect(csv.text.contains("content-type: text/csv"))
        let json = try get("SQLite", "sqlite-json:\(all)")
        #expect(
            json.text == """
                [{"port": "Brest", "height": 6.5, "n": 1, "note": null},
                 {"port": "Saint \\"Malo\\"", "height": -0.25, "n": 2, "note": ""},
                 {"port": "", "height": null, "n": 3, "note": "a,b"}]

                """, "\(json)")
        #expect(try get("SQLite", "sqlite-json:file://\(program.path)/tides.db?select 1 where 0").text == "[]\n")
        #expect(try get("SQLite", "sqlite:file://\(program.path)/tides.db?select 1 as one where 0").text == "one\r\n")
    }

    @Test(arguments: [
        ("tides.db?select 1 from none", "badURL", "the query can't be performed: no such table: none"),
        ("tides.db?select 1; select 2", "badURL", "the query has more than one statement"),
        ("tides.db?%20", "badURL", "the query is empty"), ("tides.db", "badURL", "has no query"),
        ("tides.db?delete from tides", "badURL", "the statement returns no rows"),
        ("tides.db?insert into tides values (1, 2, 3, 4) returning n", "badResponse", "attempt to write a readonly database"),
        ("tides.db?select b from odd limit 1", "badResponse", "has a BLOB"),
        ("tides.db?select b from odd limit 1 offset 1", "badResponse", "has a text with a NUL"),
        ("missing.db?select 1", "notFound", "can't be read"), ("samples.py?select * from x", "badResponse", "file is not a database"),
    ])
    func failureOfSQLiteIsExplained(path: String, code: String, text: String) throws {
        try makeSamples()
        for scheme in ["sqlite", "sqlite-json"] {
            let outcome = try get("SQLite", "\(scheme):file://\(program.path)/\(path)", "--events")
            #expect(outcome.lines.last?.contains("\"\(code)\"") == true && outcome.lines.last?.contains(text) == true, "\(outcome.lines)")
        }
    }

    /// SQLite computes without end. Only its own function ends it.
    @Test func timeLimitStopsSQLite() throws {
        try makeSamples()
        let query = "with recursive n(i) as (select 1 union all select i from n) select i from n where i > 1"
        let outcome = try get("SQLite", "sqlite:file://\(program.path)/tides.db?\(query)", "--max-time", Self.timeLimit)
        #expect(outcome.status == 28, "\(outcome)")
    }

    private func get(_ plugin: String, _ url: String, _ options: String...) throws -> Program.Outcome {
        try program.run(["get", "--plugin", "\(program.path)/\(plugin)", url] + options)
    }

    @Test(arguments: [
        ("LibCurl", "gopher://127.0.0.1:1/0/a"), ("LibMagic", "magic:///bin/sh"), ("LibArchive", "archive:file:///x.tar"),
        ("SQLite", "sqlite:file:///x?select%201"),
    ])
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

    /// In seconds. Long enough that the library is called before, also in a build with a sanitizer on a busy machine.
    private static let timeLimit = "1"

    /// The time limit expires while bytes arrive, or while none arrive.
    @Test(arguments: [false, true]) func timeLimitStopsLibcurl(_ isSilent: Bool) throws {
        let server = try ScriptedServer([.receive(2)] + (isSilent ? [.stall] : [.forever([.send([UInt8](repeating: 120, count: 65536))])]))
        let outcome = try get("LibCurl", "gopher://127.0.0.1:\(server.port)/", "--max-time", Self.timeLimit, "-o", "out")
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

    @Test func bindingsAreValidAndUseSystemLibraries() throws {
        let folders = ["LibCurl", "LibMagic", "LibArchive", "SQLite"].map { "\(program.path)/\($0)" }
        let outcome = try program.run(["plugins", "validate"] + folders)
        #expect(outcome.status == 0 && outcome.lines.count { $0.hasSuffix(": valid") } == 4, "\(outcome.lines)")
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
