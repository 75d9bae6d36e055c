// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import PortolanCore

/// The expected credentials are the ones that curl 7.88.1 sends, unless a comment says otherwise. Files that are
/// an error here are in other tests.
@Suite struct NetrcTests {
    /// The text of a netrc file, and `user:password` for the host `h`; `nil` if the file has no entry for it.
    private static let rows: [(file: String, expected: String?)] = [
        ("machine h login a password b", "a:b"),
        ("machine h\nlogin a\n\tpassword\tb\r\n", "a:b"), ("machine h login a\u{C}password b", "a:b"),
        ("MACHINE H LOGIN a PASSWORD b", "a:b"), ("machine h password b login a", "a:b"), ("machine h account c login a password b", "a:b"),
        ("machine h login machine password b", "machine:b"),
        ("machine h login ä password ö", "ä:ö"),
        // Several entries
        ("machine h login a password b machine h login c password d", "a:b"),
        ("machine h login a machine h login c password d", "c:d"), ("machine h login a machine i password d", "a:"),
        ("default login x password y machine h login a password b", "x:y"),
        ("machine i login a password b default login x password y", "x:y"),
        ("default machine h login a password b", "a:b"), ("default password y", ":y"),
        ("machine h login a login c password b", "c:b"), ("machine h login a password b password c", "a:b"),
        // Other hosts
        ("machine i login a password b", nil), ("machine h. login a password b", nil), ("machine h:80 login a password b", nil),
        ("machine a.h login a password b", nil),
        // Incomplete entries
        ("", nil), ("machine h", nil), ("login a password b", nil), ("machine h password b", ":b"), ("machine h login a", "a:"),
        // Comments
        ("# machine h login q password r\nmachine h login a password b", "a:b"), ("machine h login a # b\npassword b", "a:b"),
        ("machine h login a password b#c", "a:b#c"),
        // Quoted words
        (#"machine h login "a b" password "c d""#, "a b:c d"), (#"machine h login a password "x\"y\\z\n\t\r\q""#, "a:x\"y\\z\n\t\rq"),
        (#"machine h login a password x\"y\n"#, #"a:x\"y\n"#), (#"machine h login a password x"y""#, #"a:x"y""#),
        (#"machine h login a password """#, "a:"),
        (##"machine h login a password "#c""##, "a:#c"),
        // Macros
        ("macdef init\nmachine h login q password r\n\nmachine h login a password b", "a:b"),
        ("machine h login a password b\nmacdef init\nlogin z\n\nmachine h login c password d", "a:b"),
        ("macdef init\nmachine h login q password r", nil), ("macdef", nil), ("macdef\n\nmachine h login a password b", "a:b"),
        // curl does not see the end of a macro here.
        ("macdef init\r\nmachine h login q password r\r\n\r\nmachine h login a password b\r\n", "a:b"),
    ]

    private static func text(_ credential: Credential?) -> String? {
        guard case .password(let user, let password, _)? = credential else { return nil }
        return "\(user):\(password)"
    }

    @Test(arguments: rows) func credentialIsTheOneThatCurlSends(file: String, expected: String?) throws {
        #expect(Self.text(try NetrcFile(parsing: Array(file.utf8)).credential(forHost: "H", port: 80)) == expected)
    }

    @Test("An IPv6 address matches with and without brackets", arguments: ["::1", "[::1]", "2001:DB8::1"])
    func addressMatchesWithoutItsBrackets(machine: String) throws {
        let file = try NetrcFile(parsing: Array("machine \(machine) login u password p".utf8))
        let address = machine.hasPrefix("[") ? machine : "[\(machine)]"
        #expect(file.credential(forHost: address, port: 80) == .password(user: "u", password: "p"))
        #expect(file.credential(forHost: "[::2]", port: 80) == nil)
    }

    @Test("An entry with a port applies to this port only")
    func portLimitsAnEntry() throws {
        let text = "machine h port 8080 login a password b\nmachine h login c password d port imaps\nmachine h login e password f"
        let file = try NetrcFile(parsing: Array(text.utf8))
        #expect(Self.text(file.credential(forHost: "h", port: 8080)) == "a:b")
        for port in [80, nil] { #expect(Self.text(file.credential(forHost: "h", port: port)) == "e:f") }
    }

    @Test("A user of the URL selects the entry, as in curl")
    func userOfTheURLSelectsTheEntry() throws {
        let file = try NetrcFile(parsing: Array("machine h login a password b\nmachine h login u password p\nmachine i password q".utf8))
        #expect(Self.text(file.credential(forHost: "h", port: 80, user: "u")) == "u:p")
        #expect(file.credential(forHost: "h", port: 80, user: "z") == nil)
        #expect(Self.text(file.credential(forHost: "i", port: 80, user: "z")) == "z:q")
    }

    @Test(
        arguments: [
            ("machine h login a password \"xy", 1, .unterminatedQuote), ("\nmachine h login \n\"x\ny\"", 3, .unterminatedQuote),
            ("\"\\", 1, .unterminatedQuote), ("machine h\npassword a\0b", 2, .nul), ("\"a\0\"", 1, .nul),
            // The rest of a password with a blank. curl ignores it, and sends half of the password.
            ("machine h\nlogin a password b xy", 2, .unknownWord), (#"machine h login a password "x"xy"#, 1, .unknownWord),
            ("machine h protocol http login a password xy", 1, .unknownWord), ("xy", 1, .unknownWord), ("machine h port", 1, .missingValue),
            ("machine", 1, .missingValue), ("machine h\nlogin\n\n", 2, .missingValue), ("machine h login xy password", 1, .missingValue),
            ("machine h login a password #xy\n", 1, .missingValue), ("machine h account", 1, .missingValue),
        ] as [(String, Int, NetrcSyntaxError.Problem)])
    func malformedFilesFailWithTheLine(file: String, line: Int, problem: NetrcSyntaxError.Problem) {
        let error = #expect(throws: NetrcSyntaxError.self) { try NetrcFile(parsing: Array(file.utf8)) }
        #expect(error?.line == line && error?.problem == problem)
        #expect(error?.description.contains("line \(line)") == true && error?.description.contains("xy") == false)
    }

    @Test(
        arguments: [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80]] as [[UInt8]], ["machine h\nlogin a password ", "machine h\n", "machine "])
    func bytesThatAreNotUTF8AreAnError(bytes: [UInt8], before: String) {
        let error = #expect(throws: NetrcSyntaxError.self) { try NetrcFile(parsing: Array(before.utf8) + bytes) }
        #expect(error?.problem == .notUTF8)
    }

    @Test(arguments: ["/dev/null", "/dev/zero", "/dev/tty", "/"]) func devicesAndFoldersAreNotRead(path: String) {
        #expect([.notRegularFile, .isDirectory, .accessDenied, .notFound].contains(Self.failure(path)))
    }

    @Test("A truncated file causes no crash, and its complete entries stay the same")
    func truncatedFileKeepsItsCompleteEntries() throws {
        let file = Array(
            "machine h login a password b\nmacdef m\nx\n\nmachine i login \"c\\\"\" password \"d e\"\n# end\ndefault login x".utf8)
        for count in 0...file.count {
            let truncatedFile = try? NetrcFile(parsing: Array(file[..<count]))
            if let truncatedFile, count > 28 { #expect(Self.text(truncatedFile.credential(forHost: "h", port: 80)) == "a:b", "\(count)") }
        }
        #expect(Self.text(try NetrcFile(parsing: file).credential(forHost: "i", port: 80)) == "c\":d e")
    }

    @Test("~/.netrc is refused if others can read or write a password in it; a file named by the caller is not")
    func netrcFileThatOthersCanAccessIsRefused() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netrc-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rows: [(text: String, mode: Int, isRefused: Bool)] = [
            ("machine h login a password b", 0o600, false), ("machine h login a password b", 0o400, false),
            ("machine h login a password b", 0o640, true), ("machine h login a password b", 0o604, true),
            ("machine h login a password b", 0o620, true), ("machine h login a", 0o644, false),
            ("machine h login anonymous password me@example.org", 0o644, false),
        ]
        for (number, row) in rows.enumerated() {
            let path = folder.appendingPathComponent("\(number)").path
            try Data(row.text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: row.mode], ofItemAtPath: path)
            _ = try NetrcFile(contentsOf: path)
            guard row.isRefused else {
                _ = try NetrcFile(contentsOf: path, requiringPrivacy: true)
                continue
            }
            let error = #expect(throws: LoadError.self) { try NetrcFile(contentsOf: path, requiringPrivacy: true) }
            #expect(error?.code == .accessDenied && error?.message.contains("chmod 600") == true)
        }
    }

    @Test("Missing, large and malformed files are errors")
    func unusableFilesAreErrors() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netrc-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(Self.failure(path) == .notFound)
        try Data(repeating: UInt8(ascii: "#"), count: NetrcFile.sizeLimit + 1).write(to: URL(fileURLWithPath: path))
        #expect(Self.failure(path) == .limitExceeded)
        try Data("machine h password \"secret".utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: LoadError.self) { try NetrcFile(contentsOf: path) }
        #expect(error?.code == .badRequest && error?.message.contains("line 1") == true && error?.message.contains("secret") == false)
    }

    /// The code of the error of a file that cannot be read.
    private static func failure(_ path: String) -> LoadError.Code? {
        do throws(LoadError) { _ = try NetrcFile(contentsOf: path) } catch { return error.code }
        return nil
    }

    @Test func noDescriptionShowsAPassword() throws {
        let file = try NetrcFile(parsing: Array("machine h login a password hunter2".utf8))
        var dumped = ""
        dump(file, to: &dumped)
        for text in [dumped, "\(file)", String(reflecting: file)] { #expect(!text.contains("hunter2")) }
    }
}
