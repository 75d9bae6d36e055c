// SPDX-License-Identifier: Apache-2.0

/// The table: a line when its row has been measured, so that one can watch.
struct Table {
    private static let widths = [16, 9, 5, 46, 34]

    static let head = line(["row", "median", "unit", "peers (and Portolan's ratio to each)", "budget"], "within")

    static func line(for result: RowResult, peers: [String]) -> String {
        let others = peers.compactMap { name in
            result.peers[name].map { "\(name) \(Figure.short($0)) (\(Figure.short(result.value / $0)))" }
        }
        return line(
            [result.name, Figure.short(result.value), result.unit, others.joined(separator: ", "), result.budget],
            result.within ? "yes" : "NO")
    }

    private static func line(_ cells: [String], _ last: String) -> String {
        var text = ""
        for (cell, width) in zip(cells, widths) { text += cell + String(repeating: " ", count: max(1, width - cell.count)) }
        return text + last
    }
}
