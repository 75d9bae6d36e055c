// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A lock on the folder of a file, so that one process at a time reads the file and replaces it.
///
/// The folder is locked, not the file: that is another one after each replacement, and a file for the lock alone would stay behind. The kernel releases the
/// lock when its process ends, however it ends.
///
/// flock(2)
struct FolderLock: ~Copyable {
    /// A process that holds the lock longer than this is not waited for.
    static let longestWait = Duration.seconds(30)
    private static let interval = Duration.milliseconds(10)

    private let folder: Descriptor

    /// Waits for the lock; `nil` where it can't be had: somebody else keeps it, or the file system has no locks.
    init?(ofFolderWith path: String, wait: Duration = longestWait) {
        // `try?` because a name that leads nowhere is left to the write that follows.
        let path = (try? FileSystem.destination(of: path)) ?? path
        let name = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard let folder = try? FileSystem.openForReading(name) else { return nil }  // because the write says what is wrong with the folder
        let end = MonotonicTime.now + wait
        while flock(folder.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, MonotonicTime.now < end else {
                try? folder.close()  // because nothing was written
                return nil
            }
            var pause = timespec(tv_sec: 0, tv_nsec: Int(Self.interval / .nanoseconds(1)))
            unsafe nanosleep(&pause, nil)
        }
        self.folder = folder
    }

    func release() {
        // `try?` because nothing was written.
        try? folder.close()
    }
}
