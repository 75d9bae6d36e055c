// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// The functions and files that request-path.md names exist, and the counts on the page are correct.
@Suite struct RequestPathTests {
    /// One row of a table of the page: functions of one file.
    private struct Row {
        let table: Substring
        let hop: Substring
        let functions: [Substring]
        let file: Substring
    }

    private let sources: URL
    private let page: String
    private let rows: [Row]

    init() throws {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        sources = folder.appendingPathComponent("Sources")
        let path = sources.appendingPathComponent("Portolan/Portolan.docc/request-path.md")
        page = String(decoding: try Data(contentsOf: path), as: UTF8.self)
        rows = Self.rows(of: page)
    }

    /// The rows of all tables. In a table without a column for files, the file is the one of the same hop in the first
    /// table.
    private static func rows(of page: String) -> [Row] {
        var rows: [Row] = []
        var columns: [Substring] = []
        for line in page.split(separator: "\n") where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }.map { $0.prefix { $0 != " " } }
            if cells.first == "#" || cells.first == "hop" {
                columns = cells
                continue
            }
            guard let hop = cells.first, hop != "---" else { continue }
            let functions = line.split(separator: "|").dropFirst().map { cell in
                cell.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            }
            if columns.dropFirst(2).first == "file" {
                rows.append(Row(table: columns[0], hop: hop, functions: functions[0], file: functions[1].first ?? ""))
            } else {
                let file = rows.first { $0.hop == hop }?.file ?? ""
                rows.append(Row(table: "other", hop: hop, functions: functions.flatMap(\.self), file: file))
            }
        }
        return rows
    }

    @Test("Each function of the page is declared in the file that the page names")
    func functionsOfThePageExistInTheirFiles() throws {
        #expect(rows.count >= 10)
        for row in rows {
            #expect(!row.functions.isEmpty, "\(row)")
            let bytes = try Data(contentsOf: sources.appendingPathComponent(String(row.file)))
            let text = String(decoding: bytes, as: UTF8.self)
            for function in row.functions {
                let name = try #require(function.split(separator: "(").first?.split(separator: ".").last, "\(row)")
                let declaration = name == "init" ? "init(" : "func \(name)("
                #expect(text.contains(declaration) || text.contains("func \(name)<"), "\(function) is not in \(row.file)")
            }
        }
    }

    @Test("The page states the number of hops, calls and files")
    func pageStatesTheCountsOfHopsCallsAndFiles() {
        let hops = rows.filter { $0.table == "#" }
        let calls = rows.filter { $0.table == "hop" }
        let counts = [
            "\(hops.count) hops in \(Set(hops.map(\.file)).count) files",
            "\(calls.count) calls. The hops and these calls are in \(Set(rows.map(\.file)).count) files",
        ]
        for count in counts { #expect(page.contains(count), "the page should say: \(count)") }
        #expect(hops.map(\.hop) == (1...max(1, hops.count)).map { "\($0)" })
    }

    @Test("The path has at most 18 hops in at most 15 files")
    func pathHasFewHopsAndFiles() {
        let hops = rows.filter { $0.table == "#" }
        #expect(hops.count <= 18)
        #expect(Set(hops.map(\.file)).count <= 15)
    }
}
