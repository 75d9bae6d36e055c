// SPDX-License-Identifier: Apache-2.0

/// Makes a file name from an untrusted source safe for a file in a user's folder.
struct SafeFilename {
    let text: String

    /// The maximum length in bytes of a name on Linux (`NAME_MAX`, `limits.h(0p)`).
    private static let maximumLength = 255

    init(_ untrusted: String) {
        var safe = String(untrusted.unicodeScalars.map { Self.isUnsafe($0) ? "_" : Character($0) })
        while safe.utf8.count > Self.maximumLength { safe.removeLast() }
        text =
            switch safe {
            case "": "download"
            case ".", "..": "download"
            default: safe
            }
    }

    /// Whether a character is a separator, a control character, or an invisible character that can make a name look
    /// like another name.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: scalar == "/" || scalar == "\\"
        }
    }
}
