// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The table. Each line is printed as soon as its row is measured.
struct Table {
    private static let widths = [22, 9, 5, 64, 38]

    static let head = line(["row", "median", "unit", "peers (and Portolan's ratio to each)", "budget"], "within")

    /// Returns the line of a row. Cells that do not fit continue on further lines.
    static func line(for result: RowResult, peers: [String]) -> String {
        let peerPhrases = peers.compactMap { name in
            result.peers[name].map { "\(name) \(Figure.short($0)) (\(Figure.short(result.value / $0)))" }
        }
        let columns = (wrap(peerPhrases, to: widths[3] - 1), wrap(result.budget.components(separatedBy: ", "), to: widths[4] - 1))
        let first = [result.name, Figure.short(result.value), result.unit]
        return (0..<max(columns.0.count, columns.1.count)).map { index in
            let cells = (index == 0 ? first : ["", "", ""]) + [columns.0, columns.1].map { $0.indices.contains(index) ? $0[index] : "" }
            return line(cells, index > 0 ? "" : result.within ? "yes" : "NO")
        }.joined(separator: "\n")
    }

    /// Returns a line of `--list`.
    static func line(name: String, summary: String) -> String { line([name], summary) }

    private static func wrap(_ words: [String], to width: Int) -> [String] {
        var lines = [""]
        for word in words {
            let line = lines[lines.count - 1]
            if line.isEmpty {
                lines[lines.count - 1] = word
            } else if line.count + 2 + word.count <= width {
                lines[lines.count - 1] = "\(line), \(word)"
            } else {
                lines[lines.count - 1] += ","
                lines.append(word)
            }
        }
        return lines
    }

    private static func line(_ cells: [String], _ lastCell: String) -> String {
        var text = ""
        for (cell, width) in zip(cells, widths) { text += cell + String(repeating: " ", count: max(1, width - cell.count)) }
        text += lastCell
        while text.last == " " { text.removeLast() }
        return text
    }
}
