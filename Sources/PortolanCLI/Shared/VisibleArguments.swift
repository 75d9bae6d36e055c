// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The arguments of the process as other users see them, for example with ps(1). `proc(5)`, cmdline
enum VisibleArguments {
    /// The options whose next argument is hidden.
    private static let options: Set = ["-u", "--user", "-U", "--proxy-user", "--oauth2-bearer", "--pass"]

    /// Overwrites secrets with blanks, as curl does. They are visible until then.
    ///
    /// - Parameter secrets: values of options. Each is the end of an argument: `-u VALUE`, `-uVALUE` or `--user=VALUE`.
    static func hide(_ secrets: [String?]) {
        // Copied before the first change.
        let arguments = CommandLine.arguments
        let count = arguments.count
        for index in 1..<max(1, count) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { return }
            let length = unsafe strlen(argument)
            // Also an option that a later one replaces, and bytes that are not UTF-8.
            if Self.options.contains(arguments[index - 1]) { unsafe memset(argument, 0x20, length) }
            for secret in secrets.compactMap({ $0.map { Array($0.utf8) } }) where !secret.isEmpty && secret.count <= length {
                let start = unsafe argument + (length - secret.count)
                if unsafe memcmp(start, secret, secret.count) == 0 { unsafe memset(start, 0x20, secret.count) }
            }
        }
    }
}
