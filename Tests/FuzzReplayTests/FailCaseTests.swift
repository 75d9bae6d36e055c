// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzTargets
import Testing

/// Replays the fuzzers' seeds and earlier findings in each test run.
@Suite struct FailCaseTests {
    struct Case: CustomTestStringConvertible {
        let target: FuzzTarget
        let file: URL
        var testDescription: String { "\(target.name)/\(file.lastPathComponent)" }
    }

    /// The package's `Fuzzing` folder, located relative to this file.
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzzing")

    static func cases(_ kind: String) -> [Case] {
        FuzzTarget.all.flatMap { target in
            let folder = folder.appendingPathComponent(kind).appendingPathComponent(target.name)
            // `try?` because a target may have no fail cases yet. Another test checks that each target has seeds.
            let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
            return files.filter { !$0.lastPathComponent.hasPrefix(".") }.map { Case(target: target, file: $0) }
        }
    }

    @Test(arguments: cases("Seeds") + cases("FailCases")) func inputCausesNoFinding(_ replayed: Case) throws {
        let input = try FileHandle(forReadingFrom: replayed.file).readToEnd() ?? Data()
        #expect(throws: Never.self) { try replayed.target.check([UInt8](input)) }
    }

    @Test(arguments: FuzzTarget.all.map(\.name)) func targetHasSeeds(name: String) {
        #expect(Self.cases("Seeds").contains { $0.target.name == name })
    }

    @Test func everyFolderBelongsToATarget() throws {
        for kind in ["Seeds", "FailCases"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appendingPathComponent(kind).path)
            #expect(Set(names).subtracting(FuzzTarget.all.map(\.name)).subtracting([".gitkeep"]).isEmpty, "in \(kind)")
        }
    }
}
