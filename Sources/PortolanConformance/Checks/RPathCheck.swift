// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Checks a folder in which `ld.so(8)` searches for the libraries that a library needs.
enum RPathCheck {
    /// Returns why other users could add a file to the folder; `nil` if the folder's permissions exclude this.
    static func objection(to folder: String) -> String? {
        // The path is relative to the library, and a user who can write to that folder can change the library itself.
        if folder.hasPrefix("$ORIGIN") || folder.hasPrefix("${ORIGIN}") { return nil }
        guard folder.hasPrefix("/") else { return "which depends on the working folder" }
        var path = folder
        var childExists = true
        while true {
            var status = stat()
            if unsafe stat(path, &status) == 0 {
                let isWorldWritable = status.st_mode & S_IWOTH != 0
                let isSticky = status.st_mode & S_ISVTX != 0
                if isWorldWritable, !childExists || !isSticky || path == folder { return "and others can write in '\(path)'" }
                childExists = true
            } else {
                childExists = false
            }
            guard path != "/", let slash = path.lastIndex(of: "/") else { return nil }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
    }
}
