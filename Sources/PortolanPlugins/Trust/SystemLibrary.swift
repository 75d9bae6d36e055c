// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folders of the system's libraries (`ld.so(8)`, Debian's multiarch folders). Environment variables do not change
/// them.
enum SystemLibrary {
    static let folders: [String] = {
        #if arch(x86_64)
            let machine = "x86_64"
        #elseif arch(arm64)
            let machine = "aarch64"
        #elseif arch(riscv64)
            let machine = "riscv64"
        #else
            let machine = "unknown"
        #endif
        let triplet = "\(machine)-linux-gnu"
        return [
            "/usr/local/lib/\(triplet)", "/usr/local/lib", "/lib/\(triplet)", "/usr/lib/\(triplet)", "/lib64", "/usr/lib64", "/lib",
            "/usr/lib",
        ]
    }()

    /// Returns the path of the library with this name, or a path in `/usr/lib` if it does not exist.
    static func path(of name: String) -> String {
        let paths = folders.map { "\($0)/\(name)" }
        return paths.first { unsafe access($0, F_OK) == 0 } ?? "/usr/lib/\(name)"
    }
}
