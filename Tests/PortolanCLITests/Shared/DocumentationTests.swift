// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import Testing

@testable import PortolanCLI

/// command-line.md has the exit statuses and the operations of the program.
@Suite struct DocumentationTests {
    private let lines: [String]

    init() throws {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = String(
            decoding: try Data(contentsOf: package.appendingPathComponent("Sources/Portolan/Portolan.docc/command-line.md")), as: UTF8.self)
        lines = text.split(separator: "\n").map(String.init)
    }

    @Test func documentedTableHasEachStatusWithItsErrorCodes() {
        let expected = ExitStatus.all.map { status in
            let codes = LoadError.Code.published.filter { ExitStatus.statuses[$0.code] == status }.map { "`\($0.name)`" }
            return "| \(status.code) | \(status.meaning) | \(codes.joined(separator: ", ")) |"
        }
        let table = lines.drop { $0 != "| status | meaning | error codes |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(Array(table) == expected)
    }

    @Test(arguments: StdioRequest.operations)
    func everyStdioOperationIsDocumented(operation: String) {
        #expect(lines.contains { $0.contains("\"\(operation)\"") })
    }
}
