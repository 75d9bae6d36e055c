// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// A content coding that Portolan can decode. The transfer codings have the same names.
///
/// Source: RFC 9110 §8.4.1, RFC 9112 §7.2.
package enum ContentCoding: Sendable {
    case gzip, deflate

    /// - Parameter name: the name of the coding, in lower case.
    package init?(name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }

    var format: Inflater.Format {
        switch self {
        case .gzip: .gzip
        case .deflate: .deflate
        }
    }
}

extension HTTPFields {
    /// The names of the content codings, in lower case and in the order in which they were applied. Empty elements and
    /// `identity` are left out.
    ///
    /// Source: RFC 9110 §5.6.1, §8.4.
    package var contentCodings: [String] {
        guard let value = self[.contentEncoding] else { return [] }
        if value == "gzip" { return [value] }  // the common case
        return value.utf8.split(separator: UInt8(ascii: ",")).compactMap { element in
            let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
            var name = element.drop(while: isBlank)
            while let last = name.last, isBlank(last) { name.removeLast() }
            let text = String(decoding: name, as: UTF8.self).lowercased()
            return text.isEmpty || text == "identity" ? nil : text
        }
    }
}
