// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of a row, as in results.json.
struct RowResult: Codable, Sendable {
    let name: String
    let unit: String
    /// The median of the rounds.
    let value: Double
    /// The medians of the peers, by name.
    let peers: [String: Double]
    let budget: String
    /// The limits of the budget in the unit of the row. A limit is left out if its peer was not measured.
    let limits: [Double]
    let within: Bool
}

extension [RowResult] {
    /// Writes an array of objects, in the order of the table.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try (try encoder.encode(self) + Data("\n".utf8)).write(to: file, options: .atomic)
    }
}
