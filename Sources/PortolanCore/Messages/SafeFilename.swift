// SPDX-License-Identifier: Apache-2.0

/// A file name from an untrusted source, made safe for a file in a user's folder.
struct SafeFilename {
    let text: String

    /// The longest name in bytes that Linux file systems accept (`NAME_MAX`, `limits.h(0p)`).
    private static let limit = 255

    init(_ untrusted: String) {
        var safe = String(untrusted.unicodeScalars.map { Self.isUnsafe($0) ? "_" : Character($0) })
        while safe.utf8.count > Self.limit { safe.removeLast() }
        text =
            switch safe {
            case "": "download"
            case ".", "..": "download"
            default: safe
            }
    }

    /// Separators, control characters, and the invisible characters that make a name look like another one.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: scalar == "/" || scalar == "\\"
        }
    }
}
