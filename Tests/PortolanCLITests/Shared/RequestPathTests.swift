// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// request-path.md names functions and files that exist, and states their number.
@Suite struct RequestPathTests {
    private struct Hop {
        let function: Substring
        let file: Substring
    }

    private let sources: URL
    private let page: String
    private let hops: [Hop]

    init() throws {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        sources = folder.appendingPathComponent("Sources")
        let path = sources.appendingPathComponent("Portolan/Portolan.docc/request-path.md")
        page = String(decoding: try Data(contentsOf: path), as: UTF8.self)
        hops = page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            guard line.hasPrefix("|"), cells.count >= 3, Int(cells[0]) != nil else { return nil }
            return Hop(function: cells[1].dropFirst().dropLast(), file: cells[2].dropFirst().dropLast())
        }
    }

    @Test("Each function of the page is declared in the file that the page names")
    func functionsExist() throws {
        #expect(hops.count >= 10)
        for hop in hops {
            let name = try #require(hop.function.split(separator: "(").first?.split(separator: ".").last, "\(hop)")
            let bytes = try Data(contentsOf: sources.appendingPathComponent(String(hop.file)))
            let declaration = name == "init" ? "init(" : "func \(name)("
            let generic = "func \(name)<"
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains(declaration) || text.contains(generic), "\(hop.function) is not in \(hop.file)")
        }
    }

    @Test("The page says how many hops and files there are")
    func hopsAreCounted() {
        let count = "\(hops.count) hops through \(Set(hops.map(\.file)).count) files"
        #expect(page.contains(count), "the page should say: \(count)")
    }
}
