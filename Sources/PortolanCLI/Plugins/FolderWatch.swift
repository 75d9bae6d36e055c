// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Waits for changes in folders, with `inotify(7)`. It does not report which file has changed.
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

    /// Waits until something changes.
    ///
    /// A deleted folder can be created again, for example by a clean build. While a folder is missing, a wait without a
    /// limit looks for it every 250 ms.
    ///
    /// - Parameter limit: the longest wait in milliseconds; `nil` for no limit.
    /// - Returns: Whether something changed.
    func wait(atMost limit: CInt? = nil) -> Bool {
        while true {
            let allExist = watchAll()
            var pollDescriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&pollDescriptor, 1, limit ?? (allExist ? -1 : 250)) <= 0 else {
                discardEvents()
                return true
            }
            if limit != nil { return false }
            // The missing folder exists again, with new contents.
            if !allExist, watchAll() { return true }
        }
    }

    /// Watches the folders that exist. A folder that is already watched stays watched.
    ///
    /// - Returns: Whether all folders exist.
    private func watchAll() -> Bool {
        folders.reduce(true) { unsafe inotify_add_watch(descriptor, $1, Self.changes) >= 0 && $0 }
    }

    private func discardEvents() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
