// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The scheme, and behind it those of the URLs that lie in one another, in lower case: `gzip` and `file` of `gzip:file:///x`.
    ///
    /// No standard says how one URL lies in another. Taken for a scheme is what a handler could take for one: a name and a colon right at the
    /// start, also with blanks before it or percent-encoded. Some are none, as in `data:file:`.
    ///
    /// - Complexity: linear in the length of these schemes.
    var nestedSchemes: [String] {
        var schemes = [String(scheme)]
        var name: [UInt8] = []
        var rest = schemeSpecificPart.utf8
        while let byte = rest.popDecoded() {
            // A parser of URLs takes them out wherever they are.
            if byte.isTabOrNewline { continue }
            if name.isEmpty ? byte.isASCIILetter : byte.isSchemeByte {
                name.append(byte)
            } else if byte == UInt8(ascii: ":"), !name.isEmpty {
                schemes.append(String(decoding: name, as: UTF8.self).lowercased())
                name = []
            } else if byte > 0x20 || !name.isEmpty {
                break
            }
        }
        return schemes
    }
}

extension Substring.UTF8View {
    /// The next byte, or the one that the next three stand for (RFC 3986 §2.1).
    fileprivate mutating func popDecoded() -> UInt8? {
        guard let byte = popFirst() else { return nil }
        guard byte == UInt8(ascii: "%"), let high = first?.hexDigitValue, let low = dropFirst().first?.hexDigitValue else { return byte }
        removeFirst(2)
        return high << 4 | low
    }
}
