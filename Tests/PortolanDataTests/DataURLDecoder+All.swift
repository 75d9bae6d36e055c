// SPDX-License-Identifier: Apache-2.0

import PortolanData
import Testing

extension DataURLDecoder {
    /// Decodes the rest of the body in pieces of `size` bytes, and checks the length of each piece.
    mutating func decodeAll(pieces size: Int = 4096) -> [UInt8] {
        var body: [UInt8] = []
        var bytes = [UInt8](repeating: 0xAA, count: size)
        while remaining > 0 {
            let expected = min(size, remaining)
            let rest = remaining - expected
            var buffer = bytes.mutableSpan
            let count = decode(into: &buffer)
            #expect(count == expected)
            #expect(remaining == rest)
            guard count > 0 else { break }
            body += bytes[..<count]
        }
        return body
    }
}

/// The body of the URL, or `nil` if the decoder refuses the URL.
func body(of url: String) -> [UInt8]? {
    guard var decoder = try? DataURLDecoder(parsing: url) else { return nil }
    let length = decoder.length
    let body = decoder.decodeAll()
    #expect(body.count == length)
    return body
}
