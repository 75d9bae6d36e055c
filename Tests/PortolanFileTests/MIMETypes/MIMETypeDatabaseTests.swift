// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFile
import PortolanTestSupport
import Testing

@Suite struct MIMETypeDatabaseTests {
    private static let globs2 = """
        # a comment
        50:text/plain:*.txt
        50:application/gzip:*.gz
        50:application/x-compressed-tar:*.tar.gz
        10:text/x-readme:README*
        50:text/x-makefile:makefile
        50:text/x-c++src:*.C:cs
        50:text/x-csrc:*.c:cs
        50:application/x-core:core:cs
        50:text/x-first:*.tie
        50:text/x-second:*.tie
        40:text/x-light:*.heavy.long
        80:text/x-heavy:*.long
        50:application/x-trash:*~
        50:application/x-sharedlib:*.so.[0-9]*
        50:video/x-anim:*.anim[1-9j]
        50:application/x-unknown-flag:*.flag:xy,zz
        50:application/x-case-among-flags:*.CASE:xy,cs
        """

    /// The names of files, and the types that the table above gives them.
    private static let globs2Names: [(name: String, type: String?)] = [
        ("a.txt", "text/plain"), ("A.TXT", "text/plain"), ("a.tar.gz", "application/x-compressed-tar"),
        ("a.TAR.GZ", "application/x-compressed-tar"), ("a.b.gz", "application/gzip"), ("README", "text/x-readme"),
        ("readme.first", "text/x-readme"), ("README.gz", "application/gzip"), ("Makefile", "text/x-makefile"), ("makefile.x", nil),
        ("main.C", "text/x-c++src"), ("main.c", "text/x-csrc"), ("core", "application/x-core"), ("Core", nil), ("a.tie", "text/x-first"),
        ("a.heavy.long", "text/x-heavy"), ("a.txt~", "application/x-trash"), ("lib.so.6", "application/x-sharedlib"),
        ("lib.so.6.1", "application/x-sharedlib"), ("lib.so.x", nil), ("x.anim1", "video/x-anim"), ("x.ANIMJ", "video/x-anim"),
        ("x.anim0", nil), ("a.flag", "application/x-unknown-flag"), ("a.CASE", "application/x-case-among-flags"), ("a.case", nil),
        ("txt", nil), (".txt", "text/plain"), ("a.", nil), ("", nil), (".", nil), ("grün.txt", "text/plain"),
    ]

    @Test(arguments: globs2Names) func namesMatchGlobs2(_ row: (name: String, type: String?)) throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.globs2.utf8, to: "share/mime/globs2")
        try folder.write([], to: "mime.types")
        let database = MIMETypeDatabase(dataFolders: [folder.path(of: "share")], mimeTypesFile: folder.path(of: "mime.types"))
        // If the table has no type for the name, the built-in table can have one.
        let expected = row.type ?? MIMETypeDatabase(dataFolders: [], mimeTypesFile: nil).mimeType(ofFileNamed: row.name)?.description
        #expect(database.mimeType(ofFileNamed: row.name)?.description == expected)
    }

    @Test func earlierFolderHasPrecedenceAndCanRemoveGlobsOfLaterFolders() throws {
        let folder = try TemporaryFolder()
        try folder.write("50:text/x-user:*.both\n50:text/x-gone:__NOGLOBS__\n50:text/x-gone:*.kept\n".utf8, to: "user/mime/globs2")
        try folder.write("50:text/x-system:*.both\n50:text/x-gone:*.lost\n50:text/x-only:*.only\n".utf8, to: "system/mime/globs2")
        let folders = ["user", "missing", "system"].map { folder.path(of: $0) }
        let database = MIMETypeDatabase(dataFolders: folders, mimeTypesFile: nil)
        #expect(database.mimeType(ofFileNamed: "a.both")?.description == "text/x-user")
        #expect(database.mimeType(ofFileNamed: "a.kept")?.description == "text/x-gone")
        #expect(database.mimeType(ofFileNamed: "a.lost") == nil)
        #expect(database.mimeType(ofFileNamed: "a.only")?.description == "text/x-only")
    }

    /// The names of files, and their types by the file `mime.types` and the built-in table.
    static let mimeTypesNames: [(name: String, type: String?)] = [
        ("a.one", "application/x-one"), ("a.ONE", "application/x-one"), ("a.uno", "application/x-one"), ("a.two", "application/x-two"),
        ("a.x.two", "application/x-compound"), ("a.bad", nil), ("a.none", nil), ("a.later", nil), ("a.cr", "text/x-cr"),
        ("a.png", "image/png"),
        ("a.json", "application/json"),
    ]

    @Test(arguments: mimeTypesNames) func mimeTypesFileAndBuiltInTableFillGaps(_ row: (name: String, type: String?)) throws {
        let folder = try TemporaryFolder()
        let table = """
            # a comment
            application/x-one\t\t one  uno
            application/x-two two # later
            application/x-compound x.two
            application/x-without
            nonsense bad
            text/x-cr cr\r
            """
        try folder.write(table.utf8, to: "mime.types")
        let database = MIMETypeDatabase(dataFolders: [folder.path], mimeTypesFile: folder.path(of: "mime.types"))
        #expect(database.mimeType(ofFileNamed: row.name)?.description == row.type)
    }

    static let builtInTypes = [
        ("index.html", "text/html"), ("a.mjs", "text/javascript"), ("a.tar.gz", "application/x-compressed-tar"),
        ("a.gz", "application/gzip"),
        ("photo.JPG", "image/jpeg"), ("a.wasm", "application/wasm"), ("a.mp4", "video/mp4"),
    ]

    @Test(arguments: builtInTypes) func commonTypesAreKnownWithoutATable(_ name: String, _ type: String) {
        let database = MIMETypeDatabase(dataFolders: ["/nonexistent"], mimeTypesFile: "/nonexistent")
        #expect(database.mimeType(ofFileNamed: name)?.description == type)
    }

    static let malformedLines = [
        "", ":", "::", ":::", "50", "50:", "50:text/plain", "50:text/plain:", "x:text/x-bad:*.bad", "-1:text/x-bad:*.bad",
        "101:text/x-bad:*.bad",
        "50:text:*.bad", "50:te xt/x:*.bad", "50:text/x-bad:[*.bad", "50:text/x-bad:[z-a].bad", "50:text/x-bad:*", "50:text/x-bad:***",
        "99999999999999999999:text/x-bad:*.bad", "\u{0}\u{0}", "50:text/x-bad:" + String(repeating: "a", count: 5000) + "*.bad",
        String(repeating: ":", count: 5000),
    ]

    @Test(arguments: malformedLines) func malformedLinesAreIgnored(_ line: String) throws {
        let folder = try TemporaryFolder()
        try folder.write((line + "\n50:text/x-good:*.good\n" + line).utf8, to: "mime/globs2")
        try folder.write((line + "\ntext/x-fine fine\n" + line).utf8, to: "mime.types")
        let database = MIMETypeDatabase(dataFolders: [folder.path], mimeTypesFile: folder.path(of: "mime.types"))
        #expect(database.mimeType(ofFileNamed: "a.good")?.description == "text/x-good")
        #expect(database.mimeType(ofFileNamed: "a.fine")?.description == "text/x-fine")
        #expect(database.mimeType(ofFileNamed: "a.bad") == nil)
    }

    @Test func tableIsReadUpToFourMebibytes() throws {
        let folder = try TemporaryFolder()
        var table = Array("50:text/x-early:*.early\n".utf8)
        table += [UInt8](repeating: UInt8(ascii: "#"), count: 4 << 20)
        table += Array("\n50:text/x-late:*.late\n".utf8)
        try folder.write(table, to: "mime/globs2")
        let database = MIMETypeDatabase(dataFolders: [folder.path], mimeTypesFile: nil)
        #expect(database.mimeType(ofFileNamed: "a.early") != nil)
        #expect(database.mimeType(ofFileNamed: "a.late") == nil)
    }

    @Test func fifoInPlaceOfATableDoesNotBlock() throws {
        let folder = try TemporaryFolder()
        try folder.makeFIFO("mime.types")
        #expect(MIMETypeDatabase(dataFolders: [], mimeTypesFile: folder.path(of: "mime.types")).mimeType(ofFileNamed: "a.png") != nil)
    }

    @Test func tableIsReadOnceWhenItIsFirstNeeded() throws {
        let folder = try TemporaryFolder()
        let database = MIMETypeDatabase(dataFolders: [folder.path], mimeTypesFile: nil)
        try folder.write("50:text/x-first:*.x\n".utf8, to: "mime/globs2")
        #expect(database.mimeType(ofFileNamed: "a.x")?.description == "text/x-first")
        try folder.write("50:text/x-second:*.x\n".utf8, to: "mime/globs2")
        #expect(database.mimeType(ofFileNamed: "a.x")?.description == "text/x-first")
    }

    @Test func concurrentLookupsFindTheType() async throws {
        let folder = try TemporaryFolder()
        try folder.write("50:text/x-it:*.it\n".utf8, to: "mime/globs2")
        let database = MIMETypeDatabase(dataFolders: [folder.path], mimeTypesFile: nil)
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { database.mimeType(ofFileNamed: "a.it")?.description } }
            for await type in group { #expect(type == "text/x-it") }
        }
    }
}
