// SPDX-License-Identifier: Apache-2.0

/// A position in a text: line and column, both starting with 1. Columns count code points, as in most editors.
package struct JSONPosition: Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    /// The position of the byte at `offset`. Lines end at LF, CR or CR LF.
    package init(of offset: Int, in bytes: [UInt8]) {
        var (line, start) = (1, 0)
        let end = min(offset, bytes.count)
        for index in 0..<end where Self.endsLine(bytes, index) {
            line += 1
            start = index + 1
        }
        self.line = line
        column = 1 + bytes[start..<end].count { $0 & 0xC0 != 0x80 }
    }

    private static func endsLine(_ bytes: [UInt8], _ index: Int) -> Bool {
        bytes[index] == 0x0A || (bytes[index] == 0x0D && (index + 1 == bytes.count || bytes[index + 1] != 0x0A))
    }

    package var description: String { "\(line):\(column)" }
}
