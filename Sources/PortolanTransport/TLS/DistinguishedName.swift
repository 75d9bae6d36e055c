// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// Names of subjects and issuers, as one line of text.
///
/// RFC 5280 §4.1.2.4
enum DistinguishedName {
    /// The kinds of parts to show, the preferred one first. Only one part of a name is shown.
    private static let preferredParts = [NID_commonName, NID_organizationName, NID_organizationalUnitName]

    package static func line(_ name: OpaquePointer) -> String {
        var (best, rank) = ("without a name", Int.max)
        for index in 0..<(unsafe X509_NAME_entry_count(name)) {
            guard let entry = unsafe X509_NAME_get_entry(name, index) else { continue }
            let type = unsafe OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry))
            let entryRank = preferredParts.firstIndex(of: type) ?? preferredParts.count
            if entryRank < rank, let text = unsafe text(X509_NAME_ENTRY_get_data(entry)) {
                (best, rank) = (DisplayText.line(text), entryRank)
            }
        }
        ERR_clear_error()
        return best
    }

    /// - Returns: `nil` if the value is not text: `ASN1_STRING_to_UTF8(3)`.
    private static func text(_ value: UnsafeMutablePointer<ASN1_STRING>?) -> String? {
        guard let value = unsafe value else { return nil }
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&output, value)
        guard count >= 0, let output = unsafe output else { return nil }
        defer { unsafe CRYPTO_free(output, #file, #line) }
        return unsafe String(decoding: UnsafeBufferPointer(start: output, count: Int(count)), as: UTF8.self)
    }
}

/// Makes text from outside safe for a message.
package enum DisplayText {
    private static let limit = 64  // Unicode scalars

    /// Shortens the text, and replaces control characters, line breaks and other invisible characters.
    package static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard line.count < limit else { return String(line) + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: line.append("\u{FFFD}")
            default: line.append(scalar)
            }
        }
        return String(line)
    }
}
