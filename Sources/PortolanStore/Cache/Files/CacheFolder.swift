// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    import FoundationEssentials
    import PortolanCore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The folder of a cache: the index, a folder with the files of bodies, and a folder with a lock for each process.
    struct CacheFolder: Sendable {
        static let index = "index.sqlite"

        let files: StateFiles
        let bodies: StateFiles
        let processes: StateFiles
        let indexPath: String
        /// Whether a damaged index is replaced by an empty one. Otherwise it is an error.
        let repairsIndex: Bool
        /// Whether the folder can't be written, and is only listed and verified.
        let isReadOnly: Bool

        init(_ files: StateFiles, repairsIndex: Bool = true, isReadOnly: Bool = false) {
            (self.files, self.repairsIndex, self.isReadOnly) = (files, repairsIndex, isReadOnly)
            bodies = StateFiles(folder: files.path(of: "bodies"))
            processes = StateFiles(folder: files.path(of: "processes"))
            indexPath = files.path(of: Self.index)
        }

        var path: String { files.folder }
        /// The file that is the index now; `nil` for none.
        var indexIdentity: StateFiles.Identity? { files.identity(ofFile: indexPath) }

        /// Creates the folders that are missing, and checks that only the user can change them. Removes the permissions
        /// of others from a folder that contains only files of the cache.
        func prepare() throws(StoreError) {
            let index = ([""] + StateFiles.companions).map { Self.index + $0 }
            try files.prepareFolder()
            try checkWriting()
            files.hideFromOthers { index.contains($0) || ["bodies", "processes"].contains($0) }
            try bodies.prepareFolder()
            bodies.hideFromOthers { Self.bodyID($0) != nil }
            try processes.prepareFolder()
            processes.hideFromOthers { Int64($0) != nil }
        }

        /// Removes the index and its logs. The files of bodies then belong to no entry.
        ///
        /// - Parameter applicationID: the application ID in the header of an index.
        /// - Throws: ``StoreError/Code/foreignFile`` for a file that was never an index,
        ///   ``StoreError/Code/readOnly`` if the file can't be written. Such a file can look damaged although it is
        ///   not.
        func removeIndex(applicationID: Int32) throws(StoreError) {
            try checkWriting()
            guard try wasIndex(applicationID) else {
                throw StoreError(.foreignFile, "'\(indexPath)' is a file of another program; move it away, or choose another folder")
            }
            for suffix in StateFiles.companions + [""] {
                let path = indexPath + suffix
                guard unsafe unlink(path) != 0, errno != ENOENT else { continue }
                throw .system(errno, "the file '\(path)' can't be removed", at: path)
            }
        }

        private func checkWriting() throws(StoreError) {
            guard !files.canWrite(Self.index) else { return }
            throw StoreError(
                .readOnly,
                "'\(indexPath)' can't be written: it, its folder or its file system is read-only; choose a folder that can be written")
        }

        /// Whether the file can have been an index: it is missing or empty, or its header has the application ID or
        /// most bytes of SQLite's magic text, or consists of zeros, which is possible after a crash of the machine.
        ///
        /// <https://sqlite.org/fileformat.html> §1.3
        private func wasIndex(_ applicationID: Int32) throws(StoreError) -> Bool {
            let descriptor = unsafe open(indexPath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return errno == ENOENT }
            defer { close(descriptor) }
            var header = [UInt8](repeating: 0, count: 100)
            let count = unsafe read(descriptor, &header, header.count)
            guard count > 0 else { return count == 0 }
            let magic = Array("SQLite format 3\0".utf8)
            let number = header[68..<72].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            if header.allSatisfy({ $0 == 0 }) { return true }
            return number == UInt32(bitPattern: applicationID) || zip(header, magic).count { $0 == $1 } >= magic.count - 4
        }

        // MARK: Bodies

        /// The path of the file of a body. No path is used for two bodies.
        func bodyPath(_ id: Int64) -> String { bodies.path(of: Self.bodyName(id)) }

        /// 16 hexadecimal digits and a suffix, so that no file of another program is taken for a body.
        private static func bodyName(_ id: Int64) -> String {
            let digits = String(UInt64(bitPattern: id), radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits + bodySuffix
        }

        private static let bodySuffix = ".body"

        /// The identifiers that files in the folder of bodies have in their names.
        func bodyIDs() -> [Int64] {
            // `try?` because files that can't be listed are not removed.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: bodies.folder)) ?? []
            return names.compactMap(Self.bodyID)
        }

        /// - Returns: `nil` for a name that no file of a body has.
        private static func bodyID(_ name: String) -> Int64? {
            guard name.hasSuffix(bodySuffix), let number = UInt64(name.dropLast(bodySuffix.count), radix: 16) else { return nil }
            let id = Int64(bitPattern: number)
            return name == bodyName(id) ? id : nil
        }

        /// - Returns: whether the file was removed.
        @discardableResult
        func removeBody(_ id: Int64) -> Bool { unsafe unlink(bodyPath(id)) == 0 }
    }

    /// Tells other processes that this process uses the cache: a file with a lock that the kernel releases when the
    /// process ends (`flock(2)`).
    final class ProcessLock: Sendable {
        /// Identifies the process in the index.
        let number: Int64
        private let descriptor: CInt
        private let path: String

        private init(_ number: Int64, _ descriptor: CInt, _ path: String) {
            (self.number, self.descriptor, self.path) = (number, descriptor, path)
        }

        /// - Throws: why the file can't be made or locked.
        convenience init(in folder: CacheFolder) throws(StoreError) {
            while true {
                let number = Int64.random(in: 1 ... .max)
                let path = Self.path(number, folder)
                let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
                guard descriptor >= 0 else {
                    if errno == EEXIST { continue }
                    throw .system(errno, "'\(path)' can't be made", at: path)
                }
                var status = stat()
                let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
                let problem = errno
                // Another process can examine the new file, and remove it.
                if isLocked, unsafe fstat(descriptor, &status) == 0, status.st_nlink > 0 {
                    self.init(number, descriptor, path)
                    return
                }
                close(descriptor)
                guard isLocked || problem == EWOULDBLOCK else { throw .system(problem, "'\(path)' can't be locked", at: path) }
            }
        }

        deinit {
            _ = unsafe unlink(path)
            close(descriptor)
        }

        private static func path(_ number: Int64, _ folder: CacheFolder) -> String { folder.processes.path(of: String(number)) }

        /// Whether no process holds the lock. If none does, also removes its file.
        static func isDead(_ number: Int64, in folder: CacheFolder) -> Bool {
            let path = path(number, folder)
            let descriptor = unsafe open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return errno == ENOENT }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
            _ = unsafe unlink(path)
            return true
        }

        /// Removes the files of all processes that have ended.
        static func removeDead(in folder: CacheFolder) {
            // `try?` because files that can't be listed are not removed.
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.processes.folder)) ?? [] {
                if let number = Int64(name), number > 0 { _ = isDead(number, in: folder) }
            }
        }
    }
#endif
