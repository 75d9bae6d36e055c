// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The value of a `Strict-Transport-Security` field.
///
/// RFC 6797 §6.1
struct StrictTransportSecurity: Hashable, Sendable {
    /// The time in seconds during which the host must be loaded over HTTPS only; 0 removes the host.
    let maxAge: Int64
    let includesSubdomains: Bool

    /// - Returns: `nil` if the value is malformed: without a valid `max-age`, with a directive twice, or with other
    ///   syntax errors. Unknown directives are ignored.
    init?(parsing value: [UInt8]) {
        var (maxAge, includesSubdomains): (Int64?, Bool) = (nil, false)
        var names: Set<String> = []
        var scanner = Scanner(value)
        while let directive = scanner.nextElement() {
            guard case .directive(let name, let argument) = directive else {
                if case .malformed = directive { return nil }
                continue
            }
            guard names.insert(name).inserted else { return nil }
            switch name {
            case "max-age":
                guard let argument, let seconds = DecimalDigits.number(argument.span, upTo: .max) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard argument == nil else { return nil }
                includesSubdomains = true
            default: continue
            }
        }
        guard let maxAge else { return nil }
        (self.maxAge, self.includesSubdomains) = (maxAge, includesSubdomains)
    }

    /// Splits the value at semicolons outside of quoted strings.
    private struct Scanner {
        enum Element {
            /// The name in lower case, and the argument without quotes.
            case directive(String, [UInt8]?)
            case empty, malformed
        }

        private let bytes: [UInt8]
        private var position = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        mutating func nextElement() -> Element? {
            guard position <= bytes.count, position == 0 || bytes[position - 1] == UInt8(ascii: ";") else { return nil }
            skipBlanks()
            let name = readToken()
            skipBlanks()
            var argument: [UInt8]?
            if position < bytes.count, bytes[position] == UInt8(ascii: "=") {
                position += 1
                skipBlanks()
                argument = position < bytes.count && bytes[position] == UInt8(ascii: "\"") ? readQuotedString() : readToken()
                if argument?.isEmpty != false { return .malformed }
                skipBlanks()
            }
            guard position == bytes.count || bytes[position] == UInt8(ascii: ";") else { return .malformed }
            position += 1
            guard !name.isEmpty else { return argument == nil ? .empty : .malformed }
            return .directive(String(decoding: name, as: UTF8.self).lowercased(), argument)
        }

        private mutating func skipBlanks() {
            while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        }

        /// RFC 9110 §5.6.2
        private mutating func readToken() -> [UInt8] {
            let start = position
            while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
            return Array(bytes[start..<position])
        }

        private static func isTokenByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }

        /// RFC 9110 §5.6.4. Returns `nil` if the string does not end.
        private mutating func readQuotedString() -> [UInt8]? {
            position += 1
            var text: [UInt8] = []
            while position < bytes.count {
                var byte = bytes[position]
                position += 1
                if byte == UInt8(ascii: "\"") { return text }
                if byte == UInt8(ascii: "\\") {
                    guard position < bytes.count else { return nil }
                    byte = bytes[position]
                    position += 1
                }
                text.append(byte)
            }
            return nil
        }
    }
}
