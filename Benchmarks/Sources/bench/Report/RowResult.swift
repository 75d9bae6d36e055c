// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What was measured for a row, as results.json has it.
struct RowResult: Codable, Sendable {
    let name: String
    let unit: String
    /// The median of the rounds.
    let value: Double
    /// Theirs, by name.
    let peers: [String: Double]
    let budget: String
    let within: Bool
}

extension [RowResult] {
    /// An array of objects, in the order of the table.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try (try encoder.encode(self) + Data("\n".utf8)).write(to: file, options: .atomic)
    }
}
