// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The identity, size and change time of a plugin's manifest and library at one moment (`stat(2)`). If two values are
/// equal, the files have not changed in between.
struct PluginFiles: Equatable {
    private struct File: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init?(at path: String) {
            var information = stat()
            guard unsafe stat(path, &information) == 0 else { return nil }
            (device, inode, size) = (UInt64(information.st_dev), UInt64(information.st_ino), Int64(information.st_size))
            (seconds, nanoseconds) = (Int(information.st_ctim.tv_sec), Int(information.st_ctim.tv_nsec))
        }
    }

    private let manifest: File?
    private let library: File?

    init(manifest: String, library: String) {
        self.manifest = File(at: manifest)
        self.library = File(at: library)
    }

    /// Whether both files exist. A linker deletes the old library before it writes the new one.
    var bothExist: Bool { manifest != nil && library != nil }
}
