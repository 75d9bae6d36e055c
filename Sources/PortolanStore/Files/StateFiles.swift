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

    /// The folder of the stores, and the files in it. Only the user can change them.
    ///
    /// Files that can be in use are examined by their names, and not opened here. A process that closes any descriptor
    /// of a file loses its locks on the file (`fcntl_locking(2)`), also those of SQLite.
    struct StateFiles: Sendable {
        /// An absolute path without a slash at its end.
        let folder: String

        /// The suffixes of the files that SQLite can have beside a database: the write-ahead log, its index, and the
        /// rollback journal.
        static let companions = ["-wal", "-shm", "-journal"]
        /// The suffixes of the companions that contain changes. SQLite deletes these files if the database is empty.
        static let logs = ["-wal", "-journal"]
        /// How many damaged files of one name are kept.
        static let damagedFileLimit = 3

        init(folder: String) { self.folder = folder }

        /// - Parameter path: absolute, or relative to the working directory.
        init(path: String) throws(StoreError) {
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw StoreError(.wrongKind, "the name of the folder is empty or contains a NUL")
            }
            var path = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
            while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
            folder = path
        }

        func path(of name: String) -> String { "\(folder)/\(name)" }

        // MARK: The folder

        /// Whether there is a folder, or something else of that name.
        // `try?` because what can't be examined is not usable either.
        var exists: Bool { (try? status(of: folder)).flatMap { $0 } != nil }

        /// Creates the folder if it is missing, and checks that only the user can change it.
        func prepareFolder() throws(StoreError) {
            guard try status(of: folder) == nil else { return try checkFolder() }
            var (path, problem) = ("", CInt(0))
            for part in folder.split(separator: "/") {
                path += "/\(part)"
                // A parent folder that exists is no error. Only the error of the last folder is reported.
                problem = unsafe mkdir(path, 0o700) == 0 || errno == EEXIST ? 0 : errno
            }
            guard problem == 0 else { throw .system(problem, "the folder '\(folder)' can't be made", at: folder) }
            try checkFolder()
        }

        private func checkFolder() throws(StoreError) {
            guard let status = try status(of: folder) else {
                throw .system(ENOENT, "the folder '\(folder)' can't be made", at: folder)
            }
            guard status.st_mode & S_IFMT != S_IFLNK else {
                throw StoreError(.notPrivate, "'\(folder)' is a symbolic link; name the folder itself")
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw StoreError(.wrongKind, "'\(folder)' is not a folder; move it away, or choose another folder")
            }
            try checkOwner(status, of: folder)
            guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
                throw StoreError(.notPrivate, "others can change '\(folder)'; remove that permission (chmod go-w)")
            }
        }

        /// Removes the permissions of others from the folder, unless it has a file of another program.
        func hideFromOthers(ifFilesAre isKnown: (String) -> Bool) {
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            var status = stat()
            // `try?` because the permissions of a folder that can't be listed stay.
            guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 != 0,
                let names = try? FileManager.default.contentsOfDirectory(atPath: folder), names.allSatisfy(isKnown)
            else { return }
            // On a read-only file system, this fails, and the permissions stay.
            _ = fchmod(descriptor, status.st_mode & 0o700)
        }

        private func checkOwner(_ status: stat, of path: String) throws(StoreError) {
            guard status.st_uid == geteuid() else {
                throw StoreError(
                    .notPrivate, "'\(path)' belongs to user \(status.st_uid) and not to you (\(geteuid())); choose another folder")
            }
        }

        // MARK: A file

        /// Identifies a file independently of its name.
        struct Identity: Equatable, Sendable {
            let device: UInt64
            let inode: UInt64
        }

        /// The file that has the name now; `nil` for none.
        func identity(of name: String) -> Identity? { identity(ofFile: path(of: name)) }

        func identity(ofFile path: String) -> Identity? {
            // `try?` because a file that can't be examined is not the open file.
            (try? status(of: path)).flatMap { $0 }.map { Identity(device: UInt64($0.st_dev), inode: UInt64($0.st_ino)) }
        }

        /// The size of a file in bytes; `nil` if it is missing.
        func size(of name: String) throws(StoreError) -> Int64? { try status(of: path(of: name)).map { Int64($0.st_size) } }

        /// Whether permissions and file system allow the user to write the file, and to create files beside it. `true`
        /// also if the file or the folder is missing.
        func canWrite(_ name: String) -> Bool {
            func isAllowed(_ path: String, _ mode: CInt) -> Bool {
                unsafe faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || ![EROFS, EACCES, EPERM].contains(errno)
            }
            return isAllowed(folder, W_OK | X_OK) && isAllowed(path(of: name), W_OK)
        }

        /// Creates the file if it is missing, and checks that the user owns the file and its companions. Removes the
        /// permissions of others.
        func prepare(_ name: String) throws(StoreError) {
            try check(name)
            for companion in Self.companions { try check(name + companion) }
            if try status(of: path(of: name)) == nil { try create(name) }
        }

        private func create(_ name: String) throws(StoreError) {
            // SQLite gives its companions the permissions of the file.
            let descriptor = unsafe open(path(of: name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                if errno == EEXIST { return }
                throw .system(errno, "'\(path(of: name))' can't be made", at: path(of: name))
            }
            close(descriptor)
        }

        private func check(_ name: String) throws(StoreError) {
            let path = path(of: name)
            guard let status = try status(of: path) else { return }
            guard status.st_mode & S_IFMT != S_IFLNK else {
                throw StoreError(.notPrivate, "'\(path)' is a symbolic link, which a store does not follow; remove it")
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw StoreError(.wrongKind, "'\(path)' is not a regular file; move it away")
            }
            try checkOwner(status, of: path)
            guard status.st_mode & 0o077 != 0 else { return }
            // The permissions of the user stay, because the user can have protected the file from writing. On a
            // read-only file system others can't be prevented from reading.
            guard unsafe chmod(path, status.st_mode & 0o700) == 0 || errno == EROFS else {
                throw .system(errno, "others can read '\(path)', and that permission can't be removed", at: path)
            }
        }

        /// Copies a file and its logs into a new folder that only the user can read, and runs `body` with that
        /// folder. Then removes the copies, even if they are still open.
        ///
        /// - Throws: also if another process uses the file, or changes it while it is copied.
        func withCopy<Result>(
            of name: String, in temporaryFolder: String, _ body: (StateFiles) throws(StoreError) -> Result
        ) throws(StoreError) -> Result {
            // The index of the log exists while a process uses the log. If that is this process, reading the file here
            // would release its locks.
            guard try size(of: name + "-shm") == nil else { throw StoreError(.busy, "another process uses '\(path(of: name))'") }
            var template = Array("\(temporaryFolder)/portolan-XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else {
                throw .system(errno, "no folder can be made in '\(temporaryFolder)'", at: temporaryFolder)
            }
            let copies = StateFiles(folder: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
            defer {
                for suffix in Self.companions + [""] { _ = unsafe unlink(copies.path(of: name + suffix)) }
                _ = unsafe rmdir(copies.folder)
            }
            let times = try changeTimes(of: name)
            for suffix in [""] + Self.logs where try size(of: name + suffix) != nil {
                do {
                    let contents = try Data(contentsOf: URL(filePath: path(of: name + suffix)))
                    try copies.create(name + suffix)
                    try contents.write(to: URL(filePath: copies.path(of: name + suffix)))
                } catch {
                    throw error as? StoreError ?? StoreError(.ioFailed, "'\(path(of: name + suffix))' can't be copied: \(error)")
                }
            }
            guard try changeTimes(of: name) == times else { throw StoreError(.busy, "another process writes '\(path(of: name))'") }
            return try body(copies)
        }

        /// When the file and its logs were changed, in nanoseconds since 1970; `nil` for a missing file.
        private func changeTimes(of name: String) throws(StoreError) -> [Int?] {
            var times: [Int?] = []
            for suffix in [""] + Self.logs {
                times.append(try status(of: path(of: name + suffix)).map { $0.st_mtim.tv_sec * 1_000_000_000 + $0.st_mtim.tv_nsec })
            }
            return times
        }

        /// Renames a damaged file and its companions, and removes the oldest damaged files if there are too many.
        ///
        /// - Returns: the new path, and the paths of the removed files.
        func setAside(_ name: String) throws(StoreError) -> (path: String, removed: [String]) {
            let numbers = damagedFiles(of: name)
            var number = (numbers.last ?? 0) + 1
            while try !isFree("\(name).corrupt-\(number)") { number += 1 }
            let new = "\(name).corrupt-\(number)"
            // The logs first, in case the process is killed: SQLite deletes a log without its file, but a file without
            // its log is only an older state.
            for suffix in Self.companions + [""] {
                guard unsafe rename(path(of: name + suffix), path(of: new + suffix)) != 0, errno != ENOENT else { continue }
                throw .system(errno, "the damaged file '\(path(of: name))' can't be renamed", at: path(of: name))
            }
            let removed = numbers.dropLast(Self.damagedFileLimit - 1).map { path(of: "\(name).corrupt-\($0)") }
            return (
                path(of: new),
                removed.filter { path in
                    // All of them, because a companion can exist without its file.
                    (Self.companions + [""]).map { unsafe unlink(path + $0) == 0 }.contains(true)
                }
            )
        }

        /// The numbers of the damaged files of this name, in ascending order.
        private func damagedFiles(of name: String) -> [Int] {
            // `try?` because a folder that can't be listed only keeps more files.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            let numbers = names.compactMap { file -> Int? in
                guard file.hasPrefix("\(name).corrupt-") else { return nil }
                let number = file.dropFirst("\(name).corrupt-".count).prefix { $0 != "-" }
                // This program uses no larger numbers.
                return Int32(number).flatMap { $0 > 0 ? Int($0) : nil }
            }
            return Set(numbers).sorted()
        }

        private func isFree(_ name: String) throws(StoreError) -> Bool {
            for suffix in Self.companions + [""] where try status(of: path(of: name + suffix)) != nil { return false }
            return true
        }

        private func status(of path: String) throws(StoreError) -> stat? {
            var status = stat()
            guard unsafe lstat(path, &status) != 0 else { return status }
            guard errno == ENOENT else { throw .system(errno, "'\(path)' can't be examined", at: path) }
            return nil
        }

        // MARK: The lock

        /// Runs `body` while no other process prepares, repairs or replaces files of the folder (`flock(2)`).
        func whileLocked<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { throw .system(errno, "the folder '\(folder)' can't be opened", at: folder) }
            defer { close(descriptor) }
            let deadline = MonotonicTime.now + Self.longestWait
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                guard errno == EWOULDBLOCK || errno == EINTR else {
                    // The file system has no locks for folders. SQLite locks its files itself.
                    return try body()
                }
                guard MonotonicTime.now < deadline else {
                    throw StoreError(.busy, "another process has locked the folder '\(folder)' for \(Self.longestWait); try again later")
                }
                var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
                unsafe nanosleep(&pause, nil)
            }
            return try body()
        }

        static let longestWait = Duration.seconds(10)
    }

    extension StoreError {
        /// Returns the error for `errno` (`errno(3)`).
        static func system(_ number: CInt, _ problem: String, at path: String) -> StoreError {
            let text = "\(problem): \(LoadError.text(of: number))"
            return switch number {
            case EACCES, EPERM: StoreError(.accessDenied, "\(text); check the permissions of '\(path)' and of the folders above it")
            case EROFS: StoreError(.readOnly, "\(text); choose a folder on another file system")
            case ENOSPC, EDQUOT: StoreError(.full, "\(text); free some space")
            case ENOTDIR: StoreError(.wrongKind, "\(text); a part of the path before the last '/' is not a folder")
            case EMFILE, ENFILE, ENOMEM: StoreError(.noResources, text)
            default: StoreError(.ioFailed, "\(text) (errno \(number))")
            }
        }
    }
#endif
