// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import PortolanConformance

/// Tests the ELF reader, which reads a library without loading it.
@Suite struct ELFFileTests {
    static let folder = ConformanceRepository.root.appendingPathComponent(".build/fixtures/mutants")

    private func file(_ name: String) throws -> ELFFile {
        try ELFFile(at: Self.folder.appendingPathComponent("\(name).so").path)
    }

    @Test func exportsAreRead() throws {
        #expect(try file("good").exports == ["portolan_plugin_entry"])
        #expect(try file("DESC_02b").exports.sorted() == ["portolan_plugin_entry", "subject_helper"])
    }

    @Test func neededLibrariesAndRunPathsAreRead() throws {
        let good = try file("good")
        #expect(good.needed.contains { $0.hasPrefix("libc.so") })
        #expect(good.runPaths.isEmpty && !good.hasExecutableStack && !good.hasWritableCode)
        #expect(try file("DESC_12").runPaths == ["/tmp/portolan-nobody-has/lib"])
    }

    @Test func truncatedFileIsReadAsFarAsPossible() throws {
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("good.so")))
        for count in Array(0..<1024) + stride(from: 1024, to: bytes.count, by: 97) {
            guard let file = try? ELFFile(Array(bytes.prefix(count))) else { continue }  // because a file without its head is no library
            #expect(file.exports.count <= 1 || file.exports.allSatisfy { $0.utf8.count < 4096 })
        }
    }

    @Test func corruptFileDoesNotCrashTheReader() throws {
        var generator = SystemRandomNumberGenerator()
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("good.so")))
        for _ in 0..<300 {
            var changed = bytes
            for _ in 0..<16 { changed[Int.random(in: 6..<256, using: &generator)] = UInt8.random(in: 0...255, using: &generator) }
            _ = try? ELFFile(changed)  // because this test only checks that the call returns
        }
    }

    @Test func otherFileIsRefused() {
        #expect(throws: CheckSkipped.self) { _ = try ELFFile([1, 2, 3]) }
        #expect(throws: CheckSkipped.self) { _ = try ELFFile(at: "/dev/null") }
    }
}
