// SPDX-License-Identifier: Apache-2.0

/// A URL as people type it.
enum URLArgument {
    /// Returns the text with `http://` before it if it begins with a host instead of a scheme, as in curl. A path,
    /// which begins with `/`, `./` or `../`, is unchanged.
    ///
    ///     example.org/x           http://example.org/x
    ///     localhost:8123          http://localhost:8123
    ///     data:,x                 data:,x
    ///     user:password@host      http://user:password@host
    ///
    /// - Parameter schemes: the known schemes; empty if they are not known. A name before a colon and a number, or
    ///   before a colon and a text with `@`, is a scheme if it is one of these, as in `tel:123`. Otherwise it is a host
    ///   or a user.
    static func addingScheme(to argument: String, knownSchemes schemes: [String]) -> String {
        guard !argument.isEmpty, !["/", "./", "../", "?", "#"].contains(where: argument.hasPrefix), argument != ".", argument != ".." else {
            return argument
        }
        return hasScheme(argument, schemes) ? argument : "http://\(argument)"
    }

    private static func hasScheme(_ argument: String, _ schemes: [String]) -> Bool {
        let authority = argument.prefix { !"/?#".contains($0) }
        guard !argument.hasPrefix("["), let colon = authority.firstIndex(of: ":") else { return false }
        let name = authority[..<colon]
        // A scheme has only these characters (RFC 3986 §3.1).
        guard name.first?.isLetter == true, name.utf8.allSatisfy(isSchemeByte) else { return false }
        let port = authority[authority.index(after: colon)...]
        if schemes.contains(name.lowercased()) { return true }
        return UInt16(port) == nil && (schemes.isEmpty || !port.contains("@"))
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
