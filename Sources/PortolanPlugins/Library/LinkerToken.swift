// SPDX-License-Identifier: Apache-2.0

/// What the dynamic linker replaces in a library's path, also in one that `dlopen(3)` is given (`ld.so(8)`, "Dynamic string tokens").
///
/// There is no way to write such a path so that it is taken as it stands. A path that leads there through `/proc/self/fd` would be: but then that is the
/// library's name to debuggers, and the folder in which `$ORIGIN` of its run path has its own libraries looked for.
package enum LinkerToken {
    private static let names = ["ORIGIN", "LIB", "PLATFORM"].map { Array($0.utf8) }

    /// Why the library at `path` can't be opened by that path, and what to do about it; `nil` where it can.
    package static func objection(to path: String) -> String? {
        first(in: path).map { token in
            "its path has '\(token)' in it, which the dynamic linker replaces (ld.so(8)), so that another file would be opened; "
                + "rename that folder or file, or install the library elsewhere"
        }
    }

    /// The first one, as it stands there.
    static func first(in path: String) -> String? {
        let bytes = Array(path.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "$") {
            let rest = bytes[(index + 1)...]
            let isBraced = rest.first == UInt8(ascii: "{")
            let inside = isBraced ? rest.dropFirst() : rest
            for name in names where inside.starts(with: name) {
                let next = inside.dropFirst(name.count).first
                let isToken = isBraced ? next == UInt8(ascii: "}") : !(next.map(isOfIdentifier) ?? false)
                if isToken {
                    return "$" + String(decoding: isBraced ? [UInt8(ascii: "{")] + name + [UInt8(ascii: "}")] : name, as: UTF8.self)
                }
            }
        }
        return nil
    }

    private static func isOfIdentifier(_ byte: UInt8) -> Bool { Text.isAlphanumeric(byte) || byte == UInt8(ascii: "_") }
}
