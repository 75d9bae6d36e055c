// SPDX-License-Identifier: Apache-2.0

/// The path of a file on this machine. It consists of bytes, which need not be UTF-8 (`path_resolution(7)`).
package struct LocalPath: Hashable, Sendable {
    /// At least one byte, and no NUL.
    package let bytes: [UInt8]

    /// - Returns: `nil` if there are no bytes, or if one of them is NUL, which ends a path.
    package init?(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        self.bytes = bytes
    }

    package init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The part after the last slash; empty for a path that ends in a slash.
    package var lastComponent: ArraySlice<UInt8> {
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        return bytes[(slash.map { $0 + 1 } ?? 0)...]
    }
}

extension LocalPath: CustomStringConvertible {
    /// The path as text on one line. Bytes that are not UTF-8 become U+FFFD. Control characters are escaped.
    package var description: String { String(decoding: bytes, as: UTF8.self).withInvisibleCharactersEscaped }
}
