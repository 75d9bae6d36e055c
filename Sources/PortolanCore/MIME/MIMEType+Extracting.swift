// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

extension MIMEType {
    /// The type that the Content-Type fields of a message specify together. The bytes of their values are code points
    /// (ISO-8859-1).
    ///
    /// Of several types, in one field or in many, the last valid one that is not `*/*` counts. If it has no charset, it
    /// takes that of the first type in the unbroken run of types with the same essence before it.
    ///
    /// - Returns: `nil` if none is a type.
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
            Self.passElement(of: value, from: &position)
            let element = value.extracting(start..<position)
            position += 1  // the comma
            guard let type = MIMEType(parsing: element), type.essence != "*/*" else { continue }
            let own = type.parameters.first { $0.name == "charset" }
            if type.essence != last?.essence {
                charset = own
                last = type
            } else if own == nil, let charset {
                last = MIMEType(unchecked: type.essence, parameters: type.parameters + [charset])
            } else {
                last = type
            }
        }
        guard let last else { return nil }
        self = last
    }

    /// Moves to the next comma outside quoted strings.
    private static func passElement(of value: Span<UInt8>, from position: inout Int) {
        while position < value.count, value[position] != ASCII.comma {
            if value[position] == ASCII.quote {
                _ = HTTPQuotedString.collectValue(in: value, at: &position)
            } else {
                position += 1
            }
        }
    }
}
