// SPDX-License-Identifier: Apache-2.0

/// Finds the name that the author of a misspelled name probably meant.
package enum NameSuggestion {
    /// Returns the name that is most similar to `text`; `nil` if every name differs from it in more than two bytes, or
    /// in all of its bytes.
    package static func closest(to text: String, among names: [String]) -> String? {
        let distances = names.map { (name: $0, distance: distance($0, text)) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return nearest.distance <= 2 && nearest.distance < text.utf8.count ? nearest.name : nil
    }

    /// The number of bytes to change, insert or delete to get from one name to the other (Levenshtein). Names over 40
    /// bytes have the maximum distance to all others.
    private static func distance(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        guard max(a.count, b.count) <= 40 else { return .max }
        var row = Array(0...b.count)
        for (i, byte) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                (diagonal, row[j + 1]) = (row[j + 1], min(diagonal + (byte == b[j] ? 0 : 1), row[j] + 1, row[j + 1] + 1))
            }
        }
        return row[b.count]
    }
}
