// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// A content coding that can be undone.
///
/// Source: RFC 9110 §8.4.1.
enum ContentCoding: String {
    case gzip, deflate

    /// - Parameter name: in lower case.
    init?(name: String) {
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
    /// The names of the content codings, in the order in which they were applied and in lower case; empty elements and `identity` are
    /// left out.
    ///
    /// Source: RFC 9110 §5.6.1, §8.4.
    package var contentCodings: [String] {
        guard contains(.contentEncoding) else { return [] }
        return self[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { element in
                let isBlank = { (character: Character) in character == " " || character == "\t" }
                return element.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
            }
            .map { String($0).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
