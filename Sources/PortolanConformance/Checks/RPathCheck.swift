// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder that is searched for the libraries of a library (`ld.so(8)`).
enum RPathCheck {
    /// Why other users could add a file there; `nil` if the folder's permissions exclude that.
    static func objection(to folder: String) -> String? {
        // It moves with the library, and a user who can write there can change the library itself.
        if folder.hasPrefix("$ORIGIN") || folder.hasPrefix("${ORIGIN}") { return nil }
        guard folder.hasPrefix("/") else { return "which depends on the working folder" }
        var path = folder
        var isThere = true
        while true {
            var status = stat()
            if unsafe stat(path, &status) == 0 {
                let isOpen = status.st_mode & S_IWOTH != 0
                let isSticky = status.st_mode & S_ISVTX != 0
                if isOpen, !isThere || !isSticky || path == folder { return "and others can write in '\(path)'" }
                isThere = true
            } else {
                isThere = false
            }
            guard path != "/", let slash = path.lastIndex(of: "/") else { return nil }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
    }
}
