// SPDX-License-Identifier: Apache-2.0

import CPluginObservation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Removes a folder with all its content, at any depth and with any permissions.
enum FolderRemoval {
    /// Removes the folder at `path`. Moves nested folders up to the first level, so that no path and no chain of
    /// descriptors becomes long.
    static func remove(_ path: String) {
        unsafe makeAccessible(path, in: AT_FDCWD)
        let root = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard root >= 0 else { return }
        var (number, hasProgress) = (0, true)
        while hasProgress {
            hasProgress = false
            for name in entries(of: root) {
                if unsafe unlinkat(root, name, 0) == 0 {
                    hasProgress = true
                    continue
                }
                unsafe makeAccessible(name, in: root)
                let folder = unsafe openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                guard folder >= 0 else { continue }
                for innerName in entries(of: folder) where unsafe unlinkat(folder, innerName, 0) != 0 {
                    // A folder can only be moved to another parent if it is writable (rename(2)).
                    unsafe makeAccessible(innerName, in: folder)
                    number += 1
                    if unsafe renameat(folder, innerName, root, "moved-\(getpid())-\(number)") == 0 { hasProgress = true }
                }
                close(folder)
                if unsafe unlinkat(root, name, AT_REMOVEDIR) == 0 { hasProgress = true }
            }
        }
        close(root)
        unsafe rmdir(path)
    }

    /// Gives this user full access to a folder. Does not follow links.
    private static func makeAccessible(_ name: UnsafePointer<CChar>, in folder: Int32) {
        var status = stat()
        guard unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        unsafe fchmodat(folder, name, 0o700, 0)
    }

    /// The names as C strings, because a name may not be valid UTF-8.
    private static func entries(of folder: Int32) -> [[CChar]] {
        let copy = dup(folder)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else { return [] }
        defer { unsafe closedir(stream) }
        unsafe rewinddir(stream)
        var names: [[CChar]] = []
        while let entry = unsafe readdir(stream) {
            // An entry ends after its name, so the memory after the name must not be read (readdir(3)).
            let text = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
                unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    unsafe Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1))
                }
            }
            if text != [46, 0], text != [46, 46, 0] { names.append(text) }
        }
        return names
    }
}
