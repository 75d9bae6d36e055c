// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore

/// The head of a part of a multipart body.
///
/// LF or CR LF ends a line. An empty line ends the head. A line that begins with a blank continues the previous one. A
/// line without a colon or without a valid name is skipped, as in browsers.
///
/// Source: RFC 2046 §5.1, RFC 5322 §2.2.
struct PartHead {
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private let limits: MultipartLimits
    private var bytes: [UInt8] = []
    private var lineStart = 0

    init(limits: MultipartLimits) {
        self.limits = limits
    }

    /// Consumes bytes up to the empty line, and advances `position` past it.
    ///
    /// - Returns: whether the head is complete.
    mutating func parse(_ input: borrowing RawSpan, from position: inout Int) throws(LoadError) -> Bool {
        while position < input.byteCount {
            let feed = DelimiterScanner.firstIndex(of: Self.lineFeed, in: input, from: position)
            let end = feed.map { $0 + 1 } ?? input.byteCount
            guard end - position <= limits.maximumHeadBytes - bytes.count else {
                throw LoadError(
                    .limitExceeded,
                    message: "the head of a part of the multipart body is larger than \(limits.maximumHeadBytes) bytes",
                    remedy: .raiseLimit("MultipartLimits.maximumHeadBytes"))
            }
            unsafe input.extracting(position..<end).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
            position = end
            guard feed != nil else { break }
            if Self.line(bytes[lineStart...]).isEmpty { return true }
            lineStart = bytes.count
        }
        return false
    }

    /// The fields of a complete head.
    func fields() throws(LoadError) -> HTTPFields {
        var fields: [(name: HTTPField.Name, value: [UInt8])] = []
        /// Whether the next line can continue the last field.
        var canContinue = false
        for line in bytes.split(separator: Self.lineFeed).map(Self.line) {
            if Self.isBlank(line.first) {
                if canContinue { fields[fields.count - 1].value += line }
                continue
            }
            canContinue = false
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)) else { continue }
            guard fields.count < limits.maximumFields else {
                throw LoadError(
                    .limitExceeded,
                    message: "a part of the multipart body has more than \(limits.maximumFields) fields",
                    remedy: .raiseLimit("MultipartLimits.maximumFields"))
            }
            fields.append((name, Array(line[(colon + 1)...])))
            canContinue = true
        }
        return HTTPFields(fields.map { HTTPField(name: $0.name, value: Self.trimmed($0.value)) })
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = bytes
        if line.last == lineFeed { line.removeLast() }
        if line.last == carriageReturn { line.removeLast() }
        return line
    }

    private static func isBlank(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ value: [UInt8]) -> ArraySlice<UInt8> {
        var value = value.drop(while: isBlank)
        while isBlank(value.last) { value.removeLast() }
        return value
    }
}
