// SPDX-License-Identifier: Apache-2.0

/// A text that is equal to another one only if both have the same octets.
///
/// A `String` is also equal to a canonically equivalent one: `"K"` (U+212A, the sign for kelvin) equals `"K"`, and the
/// two forms of `"é"` are equal. For a server, these are different names, realms, paths and passwords.
package struct OctetText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: Self, b: Self) -> Bool {
        a.text.utf8.count == b.text.utf8.count && a.text.utf8.elementsEqual(b.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for octet in text.utf8 { hasher.combine(octet) }
        // A terminator that UTF-8 never contains, so that the members "ab", "c" and "a", "bc" give different hashes.
        hasher.combine(0xFF as UInt8)
    }
}
