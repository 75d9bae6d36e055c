// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import PortolanCLI

@Suite struct FileSystemTests {
    @Test func aFileIsCreatedWithItsFinalMode() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)").path
        let file = try FileSystem.create(path, mode: 0o600)
        defer { FileSystem.remove(path) }
        try file.close()
        #expect(FileSystem.kind(at: path) == .regular(mode: 0o600))
    }
}
