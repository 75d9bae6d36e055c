// SPDX-License-Identifier: Apache-2.0

/// The name of a new plugin, which is also its URL scheme, and the names derived from it.
struct PluginName: Equatable {
    /// The scheme in lower case, RFC 3986 §3.1.
    let scheme: String

    static let lengthLimit = 64
    private static let builtInSchemes: Set = ["data", "file", "http", "https"]
    /// The name of the package on which a plugin in Swift depends. Two packages of one build cannot have the same name.
    private static let package = "portolan"

    enum Problem: Error, Equatable {
        case notAScheme, upperCase, tooLong, builtIn, package

        /// Describes what is wrong with the name, and how to correct it.
        var phrase: String {
            switch self {
            case .notAScheme: "is not a URL scheme: begin with a letter, and continue with letters, digits, '+', '-' and '.'"
            case .upperCase: "has upper-case letters: write the scheme in lower case"
            case .tooLong: "has more than \(PluginName.lengthLimit) characters; choose a shorter name"
            case .package: "is the name of Portolan's package; choose another name"
            case .builtIn: "is a scheme with a built-in handler; choose another name"
            }
        }
    }

    init(parsing text: String) throws(Problem) {
        let bytes = text.utf8
        guard let first = bytes.first, Self.isLetter(first) else { throw .notAScheme }
        guard bytes.allSatisfy({ Self.isLetter($0) || Self.isDigit($0) || "+-.".utf8.contains($0) }) else { throw .notAScheme }
        guard bytes.count <= Self.lengthLimit else { throw .tooLong }
        guard text == text.lowercased() else { throw .upperCase }
        guard !Self.builtInSchemes.contains(text) else { throw .builtIn }
        guard text != Self.package else { throw .package }
        scheme = text
    }

    /// The plugin's identifier, in reverse DNS notation. A label contains neither '+' nor '.'.
    var identifier: String { "org.example." + String(scheme.map { "+-.".contains($0) ? "-" : $0 }) }

    /// The display name, which is also the start of the module and type names in the Swift template: the parts of the
    /// scheme, each with its first letter in upper case.
    var title: String {
        scheme.split { "+-.".contains($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
