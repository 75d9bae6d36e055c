// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanFileSystem
import Testing

@testable import PortolanCLI

@Suite(.timeLimit(.minutes(1))) struct FolderLockTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)").path

    @Test func lockHasOneHolder() throws {
        try FileSystem.makeFolder(folder)
        defer { FileSystem.removeFolder(folder) }
        let firstLock = FolderLock(ofFolderWith: folder + "/a.har")
        let isLocked = firstLock != nil
        let isSecondRefused = FolderLock(ofFolderWith: folder + "/b.har", wait: .zero) == nil
        #expect(isLocked && isSecondRefused)
        firstLock?.release()
        let secondLock = FolderLock(ofFolderWith: folder + "/b.har", wait: .zero)
        let isFree = secondLock != nil
        #expect(isFree)
        secondLock?.release()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func missingFolderHasNoLock() {
        let isRefused = FolderLock(ofFolderWith: folder + "/a.har", wait: .zero) == nil
        #expect(isRefused)
    }
}
