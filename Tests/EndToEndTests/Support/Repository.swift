// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The files of this repository.
enum Repository {
    static let root = PluginConformanceTests.root

    /// Expects that a generated file is up to date. With PORTOLAN_WRITE_DOCS=1 in the environment, this function writes
    /// the file first.
    static func expect(_ text: String, in path: String) throws {
        let file = root.appendingPathComponent(path)
        if ProcessInfo.processInfo.environment["PORTOLAN_WRITE_DOCS"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let currentText = try? String(contentsOf: file, encoding: .utf8)  // because a missing file counts as different text
        #expect(currentText == text, "\(path) is stale; run the tests once with PORTOLAN_WRITE_DOCS=1")
    }
}
