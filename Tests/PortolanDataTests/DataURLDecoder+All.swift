// SPDX-License-Identifier: Apache-2.0

import PortolanData
import Testing

extension DataURLDecoder {
    /// Decodes the rest of the body in pieces of `pieceSize` bytes, and checks the length of each piece.
    mutating func decodeAll(pieceSize: Int = 4096) -> [UInt8] {
        var body: [UInt8] = []
        var bytes = [UInt8](repeating: 0xAA, count: pieceSize)
        while remaining > 0 {
            let expectedCount = min(pieceSize, remaining)
            let expectedRemaining = remaining - expectedCount
            var buffer = bytes.mutableSpan
            let count = decode(into: &buffer)
            #expect(count == expectedCount)
            #expect(remaining == expectedRemaining)
            guard count > 0 else { break }
            body += bytes[..<count]
        }
        return body
    }
}

/// Returns the decoded body of the URL, or `nil` if the decoder refuses the URL.
func decodedBody(of url: String) -> [UInt8]? {
    guard var decoder = try? DataURLDecoder(parsing: url) else { return nil }
    let length = decoder.length
    let body = decoder.decodeAll()
    #expect(body.count == length)
    return body
}
