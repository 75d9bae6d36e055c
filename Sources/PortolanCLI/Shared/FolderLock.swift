// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A lock on the folder of a file, so that only one process at a time reads and replaces the file.
///
/// The lock is on the folder, because each replacement creates another file, and a separate lock file would stay in the
/// folder. The kernel releases the lock when the process ends, also after a crash.
///
/// flock(2)
struct FolderLock: ~Copyable {
    /// The longest wait for a lock that another process holds.
    static let longestWait = Duration.seconds(30)
    private static let retryInterval = Duration.milliseconds(10)

    private let folder: Descriptor

    /// Waits for the lock. Returns `nil` if another process holds it too long, if the folder cannot be opened, or if
    /// the file system does not support locks.
    init?(ofFolderWith path: String, wait: Duration = longestWait) {
        // `try?` because the following write reports a path that cannot be resolved.
        let path = (try? FileSystem.destination(of: path)) ?? path
        let folderPath = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        // `try?` because the following write reports what is wrong with the folder.
        guard let folder = try? FileSystem.openForReading(folderPath) else { return nil }
        let deadline = MonotonicTime.now + wait
        while flock(folder.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, MonotonicTime.now < deadline else {
                try? folder.close()  // because nothing was written
                return nil
            }
            var pause = timespec(tv_sec: 0, tv_nsec: Int(Self.retryInterval / .nanoseconds(1)))
            unsafe nanosleep(&pause, nil)
        }
        self.folder = folder
    }

    func release() {
        // `try?` because nothing was written.
        try? folder.close()
    }
}
