// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem
import Testing

@testable import PortolanCLI

@Suite struct StdioLineReaderTests {
    @Test(arguments: [1, 2, 3, 5, 64])
    func linesDoNotDependOnTheReadSize(chunkSize: Int) throws {
        let lines = try Self.lines(in: "a\n\nbcd\r\n\(String(repeating: "x", count: 20))\nlast", limit: 100, chunkSize: chunkSize)
        #expect(lines == ["a", "", "bcd\r", String(repeating: "x", count: 20), "last"])
    }

    @Test(arguments: [1, 4, 64])
    func lineAboveTheLimitIsSkipped(chunkSize: Int) throws {
        #expect(try Self.lines(in: "12345\n123456\n1\n", limit: 5, chunkSize: chunkSize) == ["12345", nil, "1"])
        #expect(try Self.lines(in: "123456", limit: 5, chunkSize: chunkSize) == [nil])
        #expect(try Self.lines(in: "", limit: 5, chunkSize: chunkSize) == [])
    }

    /// The lines of the text, which a reader reads from a pipe in chunks; `nil` for each line that exceeds the limit.
    private static func lines(in text: String, limit: Int, chunkSize: Int) throws -> [String?] {
        let (source, sink) = try Pipe.open()
        defer { try? source.close() }
        try sink.write(all: Array(text.utf8))
        try sink.close()
        var reader = StdioLineReader(source, limit: limit, chunkSize: chunkSize)
        var lines: [String?] = []
        while let line = try reader.next() {
            switch line {
            case .bytes(let bytes): lines.append(String(decoding: bytes, as: UTF8.self))
            case .tooLong: lines.append(nil)
            }
        }
        return lines
    }
}
