// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The value of a `Content-Range` field: which bytes of a representation a response has.
///
/// RFC 9110 §14.4
package struct ContentRange: Hashable, Sendable {
    /// The bytes, at least one; `nil` if the response rejects the request's range, as in `bytes */200`.
    package let bytes: Range<Int64>?
    /// The size of the complete representation; `nil` if the server does not know it.
    package let size: Int64?

    package init(_ bytes: Range<Int64>, of size: Int64?) { (self.bytes, self.size) = (bytes, size) }

    /// The value for a response that rejects the request's range.
    package init(unsatisfiedSize size: Int64) { (bytes, self.size) = (nil, size) }

    /// The value in the fields of a response; `nil` if the field is absent, malformed or repeated, or has another unit.
    /// A response of the type `multipart/byteranges` has its ranges in its body (RFC 9110 §15.3.7.2), and none here.
    package init?(in fields: HTTPFields) {
        let values = fields[fields: .contentRange]
        guard values.count == 1, let value = values.first,
            let range = unsafe value.withUnsafeBytesOfValue({ unsafe ContentRange($0.span) }),
            !fields[values: .contentType].contains(where: { MIMEType(parsing: $0)?.essence == "multipart/byteranges" })
        else { return nil }
        self = range
    }

    private init?(_ value: Span<UInt8>) {
        guard value.count > 6, value[5] == UInt8(ascii: " "), value.extracting(0..<5).isBytesUnit,
            let slash = value.firstIndex(of: UInt8(ascii: "/")), slash > 6
        else { return nil }
        let (range, length) = (value.extracting(6..<slash), value.extracting(slash + 1..<value.count))
        size = DecimalDigits.number(length)
        guard size != nil || length.isAsterisk else { return nil }
        if range.isAsterisk {
            guard size != nil else { return nil }
            bytes = nil
            return
        }
        guard let dash = range.firstIndex(of: UInt8(ascii: "-")), let first = DecimalDigits.number(range.extracting(0..<dash)),
            let last = DecimalDigits.number(range.extracting(dash + 1..<range.count)), first <= last, last < size ?? .max
        else { return nil }
        bytes = first..<last + 1
    }
}

extension ContentRange: CustomStringConvertible {
    package var description: String {
        let range = bytes.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
        return "bytes \(range)/\(size.map(String.init) ?? "*")"
    }
}

extension Span<UInt8> {
    fileprivate var isAsterisk: Bool { count == 1 && self[0] == UInt8(ascii: "*") }
}
