// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The arguments of the process as other users see them, for example with ps(1).
///
/// Source: proc(5), `/proc/PID/cmdline`
enum VisibleArguments {
    private static let longOptions = ["--user", "--proxy-user", "--oauth2-bearer", "--pass"]

    /// Overwrites the values of options for secrets with blanks, as curl does. They are visible until then.
    static func hideSecrets() {
        var hidesNext = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { return }
            let bytes = unsafe Array(UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            let start = hidesNext ? 0 : startOfSecret(in: bytes)
            hidesNext = !hidesNext && start == bytes.count
            if let start { unsafe memset(argument + start, 0x20, bytes.count - start) }
        }
    }

    /// Replaces the secrets of arguments such as `-suuser:password` in a message about the command line.
    static func hideSecrets(of arguments: [String], in message: String) -> String {
        arguments.reduce(message) { message, argument in
            let bytes = Array(argument.utf8)
            guard let start = startOfSecret(in: bytes), start < bytes.count else { return message }
            return message.replacing(argument, with: String(decoding: bytes[..<start], as: UTF8.self) + "…")
        }
    }

    /// Returns where the value of an option for a secret begins in an argument: at its end if the value is the next
    /// argument. `nil` if the argument has no such option.
    ///
    /// Arguments need not be UTF-8, so this compares bytes. Letters after one hyphen are flags until an option with a
    /// value, as in `-su user:password` and `-suuser:password`.
    static func startOfSecret(in argument: [UInt8]) -> Int? {
        let hyphen = UInt8(ascii: "-")
        guard argument.first == hyphen, argument.count > 1 else { return nil }
        if argument[1] == hyphen {
            let name = argument.prefix { $0 != UInt8(ascii: "=") }
            guard longOptions.contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
            return min(name.count + 1, argument.count)
        }
        let letters = argument.dropFirst().prefix { "a"..."z" ~= Character(UnicodeScalar($0 | 0x20)) }
        return letters.firstIndex { $0 | 0x20 == UInt8(ascii: "u") }.map { $0 + 1 }
    }
}
