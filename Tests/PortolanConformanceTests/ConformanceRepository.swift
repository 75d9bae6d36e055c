// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Access to the files of this repository.
enum ConformanceRepository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The files in the folder and its subfolders whose path ends with `suffix`, as sorted paths relative to the root.
    static func files(under folder: String, ending suffix: String) throws -> [String] {
        let subpaths = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
        return subpaths.filter { $0.hasSuffix(suffix) }.sorted().map { "\(folder)/\($0)" }
    }

    /// Expects that a generated file is up to date. With PORTOLAN_WRITE_DOCS=1 in the environment, it writes the file
    /// first.
    static func expect(_ text: String, in path: String) throws {
        if ProcessInfo.processInfo.environment["PORTOLAN_WRITE_DOCS"] == "1" {
            try text.write(to: root.appendingPathComponent(path), atomically: true, encoding: .utf8)
        }
        let currentText = try? self.text(of: path)  // because a missing file counts as different text
        #expect(currentText == text, "\(path) is stale; run the tests once with PORTOLAN_WRITE_DOCS=1")
    }
}
