// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The scheme, followed by the schemes of nested URLs, in lower case: `gzip` and `file` of `gzip:file:///x`.
    ///
    /// No standard defines how URLs nest. Everything that a handler could interpret as a scheme counts: a name and a
    /// colon directly at the start, also with blanks before it or percent-encoded. Some of these are not schemes, as in
    /// `data:file:`.
    ///
    /// - Complexity: linear in the length of the URL.
    package var nestedSchemes: [String] {
        var schemes = [String(scheme)]
        var name: [UInt8] = []
        for byte in PercentEncoding.decodedBytes(schemeSpecificPart) {
            // A URL parser removes tabs and newlines anywhere.
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
