// SPDX-License-Identifier: Apache-2.0

/// The tokens that the dynamic linker replaces in a path, such as `$ORIGIN` (`ld.so(8)`, "Dynamic string tokens").
///
/// `dlopen(3)` has no escape for them, so a library with such a path is refused. A path in `/proc/self/fd` would work,
/// but debuggers would show that path, and `$ORIGIN` in the run path would be that folder.
package enum LinkerToken {
    private static let names = ["ORIGIN", "LIB", "PLATFORM"].map { Array($0.utf8) }

    /// Returns why the library at `path` cannot be opened, and how to fix it. `nil` if the path has no token.
    package static func objection(to path: String) -> String? {
        first(in: path).map { token in
            "its path has '\(token)' in it, which the dynamic linker replaces (ld.so(8)), so that another file would be opened; "
                + "rename that folder or file, or install the library elsewhere"
        }
    }

    /// The first token, as it appears in the path.
    static func first(in path: String) -> String? {
        let bytes = Array(path.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "$") {
            let rest = bytes[(index + 1)...]
            let isBraced = rest.first == UInt8(ascii: "{")
            let afterBrace = isBraced ? rest.dropFirst() : rest
            for name in names where afterBrace.starts(with: name) {
                let next = afterBrace.dropFirst(name.count).first
                let isToken = isBraced ? next == UInt8(ascii: "}") : !(next.map(isIdentifierByte) ?? false)
                if isToken {
                    return "$" + String(decoding: isBraced ? [UInt8(ascii: "{")] + name + [UInt8(ascii: "}")] : name, as: UTF8.self)
                }
            }
        }
        return nil
    }

    private static func isIdentifierByte(_ byte: UInt8) -> Bool { Text.isAlphanumeric(byte) || byte == UInt8(ascii: "_") }
}
