// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

@Suite struct FolderTests {
    @Test func folderWithTooManyEntriesIsRefused() throws {
        let folder = try TestFolder()
        for name in ["b", "a", ".hidden", "c"] { try folder.file(name) }
        #expect(try Folder.entries(of: folder(""), atMost: 3).map(\.name) == ["a", "b", "c"])
        #expect(throws: SystemCallError.tooLarge) { try Folder.entries(of: folder(""), atMost: 2) }
    }
}
