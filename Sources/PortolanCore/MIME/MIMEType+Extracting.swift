// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension MIMEType {
    /// Makes the type that the Content-Type fields of a message specify together. Each byte of their values is one code
    /// point (ISO-8859-1).
    ///
    /// Of several types, in one field or in several, the last valid one that is not `*/*` is used. If it has no
    /// charset, it gets the charset of the first of the directly preceding types with the same essence.
    ///
    /// - Returns: `nil` if the fields contain no valid type.
    ///
    /// Source: WHATWG Fetch, "extract a MIME type", "get, decode, and split".
    package init?(extractedFrom fields: HTTPFields) {
        var value: [UInt8] = []
        for field in fields[fields: .contentType] {
            if !value.isEmpty { value.append(ASCII.comma) }
            unsafe field.withUnsafeBytesOfValue { unsafe value.append(contentsOf: $0) }
        }
        self.init(extractedFrom: value.span)
    }

    private init?(extractedFrom value: Span<UInt8>) {
        var last: MIMEType?
        var charset: Parameter?
        var position = 0
        while position < value.count {
            let start = position
            Self.skipElement(of: value, from: &position)
            let element = value.extracting(start..<position)
            position += 1  // the comma
            guard let type = MIMEType(parsing: element), type.essence != "*/*" else { continue }
            let ownCharset = type.parameters.first { $0.name == "charset" }
            if type.essence != last?.essence {
                charset = ownCharset
                last = type
            } else if ownCharset == nil, let charset {
                last = MIMEType(unchecked: type.essence, parameters: type.parameters + [charset])
            } else {
                last = type
            }
        }
        guard let last else { return nil }
        self = last
    }

    /// Moves `position` to the next comma outside quoted strings.
    private static func skipElement(of value: Span<UInt8>, from position: inout Int) {
        while position < value.count, value[position] != ASCII.comma {
            if value[position] == ASCII.quote {
                _ = HTTPQuotedString.collectValue(in: value, at: &position)
            } else {
                position += 1
            }
        }
    }
}
