// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import PortolanConformance

/// The ELF reader parses a library without loading it into the process.
@Suite struct ELFFileTests {
    static let folder = ConformanceRepository.root.appendingPathComponent(".build/fixtures/mutants")

    private func file(_ name: String) throws -> ELFFile {
        try ELFFile(at: Self.folder.appendingPathComponent("\(name).so").path)
    }

    @Test func exportsAreParsed() throws {
        #expect(try file("good").exports == ["portolan_plugin_entry"])
        #expect(try file("DESC_02b").exports.sorted() == ["portolan_plugin_entry", "subject_helper"])
    }

    @Test func neededLibrariesAndRunPathsAreParsed() throws {
        let good = try file("good")
        #expect(good.neededLibraries.contains { $0.hasPrefix("libc.so") })
        #expect(good.runPaths.isEmpty && !good.hasExecutableStack && !good.hasWritableCode)
        #expect(try file("DESC_12").runPaths == ["/tmp/portolan-nobody-has/lib"])
    }

    @Test func truncatedFileIsParsedAsFarAsPossible() throws {
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("good.so")))
        for count in Array(0..<1024) + stride(from: 1024, to: bytes.count, by: 97) {
            guard let file = try? ELFFile(Array(bytes.prefix(count))) else { continue }  // a short ELF header is refused
            #expect(file.exports.count <= 1 || file.exports.allSatisfy { $0.utf8.count < 4096 })
        }
    }

    @Test func corruptFileDoesNotCrashTheReader() throws {
        var generator = SystemRandomNumberGenerator()
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("good.so")))
        for _ in 0..<300 {
            var corruptBytes = bytes
            for _ in 0..<16 { corruptBytes[Int.random(in: 6..<256, using: &generator)] = UInt8.random(in: 0...255, using: &generator) }
            _ = try? ELFFile(corruptBytes)  // because the file may be refused; the call must return
        }
    }

    @Test func otherFileIsRefused() {
        #expect(throws: CheckSkipped.self) { _ = try ELFFile([1, 2, 3]) }
        #expect(throws: CheckSkipped.self) { _ = try ELFFile(at: "/dev/null") }
    }
}
