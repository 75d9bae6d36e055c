// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzTargets
import Testing

/// Runs the fuzz targets on their seeds and on the inputs of earlier findings, in each test run.
@Suite struct FailCaseTests {
    struct StoredInput: CustomTestStringConvertible {
        let target: FuzzTarget
        let file: URL
        var testDescription: String { "\(target.name)/\(file.lastPathComponent)" }
    }

    /// The package's `Fuzzing` folder, located relative to this file.
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzzing")

    /// - Parameter kind: the folder of the inputs, `Seeds` or `FailCases`.
    static func storedInputs(_ kind: String) -> [StoredInput] {
        FuzzTarget.all.flatMap { target in
            let folder = folder.appendingPathComponent(kind).appendingPathComponent(target.name)
            // `try?` because a target may have no fail cases yet. Another test checks that each target has seeds.
            let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
            return files.filter { !$0.lastPathComponent.hasPrefix(".") }.map { StoredInput(target: target, file: $0) }
        }
    }

    @Test(arguments: storedInputs("Seeds") + storedInputs("FailCases")) func inputCausesNoFinding(_ storedInput: StoredInput) throws {
        let input = try FileHandle(forReadingFrom: storedInput.file).readToEnd() ?? Data()
        #expect(throws: Never.self) { try storedInput.target.check([UInt8](input)) }
    }

    @Test(arguments: FuzzTarget.all.map(\.name)) func targetHasSeeds(name: String) {
        #expect(Self.storedInputs("Seeds").contains { $0.target.name == name })
    }

    @Test func everyFolderBelongsToATarget() throws {
        for kind in ["Seeds", "FailCases"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appendingPathComponent(kind).path)
            #expect(Set(names).subtracting(FuzzTarget.all.map(\.name)).subtracting([".gitkeep"]).isEmpty, "in \(kind)")
        }
    }

    /// `Fuzzing/prove.sh` applies these patches. Each hunk must fit the file as it is.
    @Test func everyPlantedBugApplies() throws {
        let root = Self.folder.deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appendingPathComponent("Planted").path)
        #expect(!names.isEmpty)
        for name in names {
            let patch = try String(contentsOf: Self.folder.appendingPathComponent("Planted/\(name)"), encoding: .utf8)
            let lines = patch.split(separator: "\n", omittingEmptySubsequences: false)
            let path = try #require(lines.first { $0.hasPrefix("--- a/") }).dropFirst("--- a/".count)
            let source = try String(contentsOf: root.appendingPathComponent(String(path)), encoding: .utf8)
            let hunks = lines.split { $0.hasPrefix("@@ ") }.dropFirst()
            #expect(!hunks.isEmpty, "\(name)")
            for hunk in hunks {
                let oldLines = hunk.filter { $0.hasPrefix(" ") || $0.hasPrefix("-") }.map { $0.dropFirst() }
                #expect(source.contains(oldLines.joined(separator: "\n")), "the bug in \(name) must be planted anew")
            }
        }
    }
}
