// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The scheme, and behind it those of the URLs that lie in one another, in lower case: `gzip` and `file` of `gzip:file:///x`.
    ///
    /// No standard says how one URL lies in another. Taken for a scheme is what a handler could take for one: a name and a colon right at the
    /// start, also with blanks before it or percent-encoded. Some are none, as in `data:file:`.
    ///
    /// - Complexity: linear in the length of the URL.
    var nestedSchemes: [String] {
        var schemes = [String(scheme)]
        var name: [UInt8] = []
        for byte in PercentEncoding.decodedBytes(schemeSpecificPart) {
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
