// SPDX-License-Identifier: Apache-2.0

package import CPortolan
import PortolanCore

extension portolan_string {
    /// The maximum length of a string in bytes. A larger length is probably an uninitialised variable.
    private static let lengthLimit = 1 << 28

    package var isPresent: Bool { unsafe bytes != nil }

    /// The bytes. Empty if the string is absent, `nil` if the length is out of range. A C length over `Int.max` is
    /// negative here.
    private var contents: UnsafeRawBufferPointer? {
        guard let bytes = unsafe bytes else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        guard unsafe (0...Self.lengthLimit).contains(length) else { return nil }
        return unsafe UnsafeRawBufferPointer(start: bytes, count: length)
    }

    /// The text. `nil` if it is absent or not UTF-8.
    package var text: String? {
        guard unsafe isPresent, let contents = unsafe contents else { return nil }
        return unsafe String(validating: contents, as: UTF8.self)
    }

    /// The text, with invalid UTF-8 replaced. Empty if it is absent.
    package var repairedText: String {
        guard let contents = unsafe contents else { return "\u{FFFD}" }
        return unsafe String(decoding: contents, as: UTF8.self)
    }

    /// - Throws: DESC-05 if the length is out of range.
    func copyBytes(_ subject: String) throws(ContractViolation) -> [UInt8] {
        guard let contents = unsafe contents else {
            throw ContractViolation(
                .structsAreWhole, "the length of \(subject) is \(unsafe UInt(bitPattern: length)), which is too large")
        }
        return unsafe Array(contents)
    }
}

/// Syntax checks for text of plugins and manifests.
package enum Text {
    /// Whether `text` is a reverse DNS name, as in `org.example.tide`: at least two labels of letters, digits, `-` and
    /// `_`, at most 255 bytes.
    package static func isReverseDNS(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && labels.count >= 2
            && labels.allSatisfy { label in
                !label.isEmpty && label.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            }
    }

    /// Whether `text` is a URL's scheme in lower case (RFC 3986 §3.1).
    package static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, isLowercase(first) else { return false }
        return text.utf8.allSatisfy { isLowercase($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    /// Whether `text` is a token (RFC 9110 §5.6.2).
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Returns `text` as one line of at most `limit` bytes, with control characters replaced by U+FFFD.
    package static func oneLine(_ text: String, limit: Int = 4096) -> String {
        var line = String.UnicodeScalarView()
        var remainingBytes = limit
        for scalar in text.unicodeScalars {
            let visibleScalar = isBreaking(scalar) ? "\u{FFFD}" : scalar
            remainingBytes -= UTF8.width(visibleScalar)
            guard remainingBytes >= 0 else { break }
            line.append(visibleScalar)
        }
        return String(line)
    }

    /// Whether `scalar` is a control character, or a separator that some terminals treat as a line break.
    package static func isBreaking(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    package static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    package static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLowercase(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
