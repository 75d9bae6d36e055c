// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Tells when something changes in a few folders: `inotify(7)`. Which file it was is for the caller to see.
struct FolderWatch: ~Copyable {
    private let descriptor: CInt
    private let folders: [String]

    init(of folders: [String]) throws(SystemError) {
        descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        guard descriptor >= 0 else { throw .last }
        self.folders = folders
    }

    deinit { close(descriptor) }

    private static let changes =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_MODIFY) | UInt32(IN_ATTRIB) | UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO)
        | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

    /// Waits until something has changed.
    ///
    /// A folder that goes may come again, as when everything is built anew: while one is missing, it is looked for now and then.
    ///
    /// - Parameter limit: in milliseconds; `nil`: for ever.
    /// - Returns: whether something has changed.
    func wait(atMost limit: CInt? = nil) -> Bool {
        while true {
            let isWhole = watchAll()
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&wanted, 1, limit ?? (isWhole ? -1 : 250)) <= 0 else {
                drain()
                return true
            }
            if limit != nil { return false }
            // It is there again, and what lies in it is new.
            if !isWhole, watchAll() { return true }
        }
    }

    /// - Returns: whether each folder is there. One that is watched already is not watched twice.
    private func watchAll() -> Bool {
        folders.allSatisfy { unsafe inotify_add_watch(descriptor, $0, Self.changes) >= 0 }
    }

    private func drain() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
