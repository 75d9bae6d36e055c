// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanFileSystem
import Testing

@testable import PortolanCLI

@Suite struct FileSystemTests {
    @Test func fileIsCreatedWithItsFinalMode() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)").path
        let file = try FileSystem.create(path, mode: 0o600)
        defer { FileSystem.remove(path) }
        try file.close()
        #expect(FileSystem.kind(at: path) == .regular(mode: 0o600))
    }

    @Test(arguments: [("a/b/c", "a/b/", "c"), ("c", "", "c"), ("/c", "/", "c"), ("a/", "a/", ""), ("a/\u{301}c", "a/", "\u{301}c")])
    func pathIsSplitAtItsLastSlash(path: String, folder: String, name: String) {
        let parts = FileSystem.split(path)
        #expect(Array(parts.folder.utf8) == Array(folder.utf8) && Array(parts.name.utf8) == Array(name.utf8))
    }
}
