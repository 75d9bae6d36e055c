// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file system calls of the command and of downloads.
package enum FileSystem {
    package enum Kind: Equatable {
        /// A regular file with its permission bits.
        case regular(mode: UInt32)
        case directory
        /// A FIFO, socket or device.
        case special

        /// A description of the kind; `nil` for a regular file.
        package var descriptionUnlessRegular: String? {
            switch self {
            case .regular: nil
            case .directory: "a directory"
            case .special: "a FIFO, a socket or a device"
            }
        }
    }

    /// Returns the kind of the file at `path`, following symbolic links; `nil` if nothing exists there. stat(2)
    package static func kind(at path: String) -> Kind? {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { return nil }
        switch information.st_mode & S_IFMT {
        case S_IFREG: return .regular(mode: information.st_mode & 0o7777)
        case S_IFDIR: return .directory
        default: return .special
        }
    }

    /// Whether nothing has this name. lstat(2)
    package static func isMissing(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) != 0 && errno == ENOENT
    }

    /// Whether the name itself is a symbolic link. lstat(2)
    package static func isLink(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFLNK
    }

    /// Creates a file that must not exist yet: open(2) with O_EXCL.
    ///
    /// - Parameter mode: the permission bits, reduced by the umask. The file has them from the start, so that no other
    ///   user can open it before a later change of the mode.
    package static func create(_ path: String, mode: UInt32 = 0o666) throws(SystemError) -> Descriptor {
        try open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    }

    /// Does not wait for the writer of a FIFO. fifo(7)
    package static func openForReading(_ path: String, followsLinks: Bool = true) throws(SystemError) -> Descriptor {
        try open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
    }

    /// Waits for the reader of a FIFO if `followsLinks` is `true`.
    package static func openForWriting(_ path: String, appends: Bool, followsLinks: Bool = true) throws(SystemError) -> Descriptor {
        try open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (appends ? O_APPEND : 0) | (followsLinks ? 0 : O_NOFOLLOW | O_NONBLOCK))
    }

    /// Opens a regular file so that each write appends; creates it if necessary. Does not wait for the reader of a
    /// FIFO.
    package static func openForAppending(_ path: String, followsLinks: Bool) throws(SystemError) -> Descriptor {
        try open(
            path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW), 0o666)
    }

    /// Opens a regular file that belongs to this user and has no other name, to append to it, and locks it (flock(2)).
    /// Does not follow a symbolic link.
    ///
    /// - Throws: also if the file has lost this name before it was locked.
    package static func openOwnForAppending(_ path: String) throws(SystemError) -> Descriptor {
        let file = try open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)
        var (information, failure) = (stat(), SystemError?.none)
        if unsafe fstat(file.number, &information) != 0 {
            failure = .last
        } else if information.st_mode & S_IFMT != S_IFREG {
            failure = .notRegularFile
        } else if information.st_uid != geteuid() || information.st_nlink != 1 {
            failure = SystemError(code: EPERM)
        } else if flock(file.number, LOCK_EX | LOCK_NB) != 0 {
            failure = .last
        } else {
            // The owner of the lock may have moved the file before it ended the lock.
            var named = stat()
            if unsafe lstat(path, &named) != 0 {
                failure = .last
            } else if named.st_dev != information.st_dev || named.st_ino != information.st_ino {
                failure = SystemError(code: ENOENT)
            }
        }
        guard let failure else { return file }
        try? file.close()  // because nothing was written
        throw failure
    }

    /// Reads a small regular file that belongs to this user. Does not follow a symbolic link.
    ///
    /// - Returns: the bytes, and the time of the last modification in nanoseconds since 1970; `nil` if there is no such
    ///   file, or if it has more than `limit` bytes.
    package static func ownContents(of path: String, atMost limit: Int) -> (bytes: [UInt8], time: Int64)? {
        // `try?` because the caller ignores files that it can't read.
        guard let file = try? openForReading(path, followsLinks: false) else { return nil }
        defer { try? file.close() }
        var information = stat()
        guard unsafe fstat(file.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG, information.st_uid == geteuid(),
            information.st_size <= limit, let bytes = try? file.contents(atMost: limit, until: nil)
        else { return nil }
        return (bytes, Int64(information.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(information.st_mtim.tv_nsec))
    }

    /// Locks a file that nobody else has opened yet. flock(2)
    package static func lock(_ file: Descriptor) { _ = flock(file.number, LOCK_EX | LOCK_NB) }

    /// Ends the lock. A close alone does not end it as long as a child process has a copy of the descriptor, until its
    /// exec(2).
    package static func unlock(_ file: Descriptor) { _ = flock(file.number, LOCK_UN) }

    /// Drops the bytes behind `size`, and continues to write there: ftruncate(2), lseek(2).
    package static func truncate(_ file: Descriptor, to size: Int64 = 0) throws(SystemError) {
        guard ftruncate(file.number, off_t(size)) == 0, lseek(file.number, off_t(size), SEEK_SET) >= 0 else { throw .last }
    }

    /// Returns the names in a folder, in any order. readdir(3)
    package static func names(in folder: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(folder.isEmpty ? "." : folder) else { throw .last }
        defer { unsafe _ = closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The extended attribute of an incomplete file of `-C`: the validator of the resource whose bytes it contains.
    package static let continuationAttribute = "user.portolan.validator"

    /// Returns a text attribute of a file, or `nil` if there is none. getxattr(2)
    package static func attribute(_ name: String, of file: Descriptor) -> String? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = unsafe fgetxattr(file.number, name, &buffer, buffer.count)
        return count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }

    /// Sets or removes a text attribute of a file. Does nothing if the file system has no support or space for it.
    /// setxattr(2), removexattr(2)
    package static func setAttribute(_ name: String, of file: Descriptor, to text: String?) throws(SystemError) {
        let status: Int32
        if let text {
            let bytes = Array(text.utf8)
            status = unsafe fsetxattr(file.number, name, bytes, bytes.count, 0)
        } else {
            status = unsafe fremovexattr(file.number, name)
        }
        if status != 0, ![ENOTSUP, ENODATA, ENOSPC, EDQUOT, ERANGE, E2BIG, EPERM].contains(errno) { throw .last }
    }

    private static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) throws(SystemError) -> Descriptor {
        #if canImport(Glibc)
            let number = unsafe Glibc.open(path, flags, mode)
        #else
            let number = unsafe Musl.open(path, flags, mode)
        #endif
        guard number >= 0 else { throw .last }
        return Descriptor(number: number)
    }

    /// Whether this user cannot replace the file, because the folder has the sticky bit, and the folder and the file
    /// belong to other users. inode(7)
    package static func isProtectedByStickyBit(_ path: String) -> Bool {
        let user = geteuid()
        var (folder, file) = (stat(), stat())
        let name = split(path).folder
        guard user != 0, unsafe stat(name.isEmpty ? "." : name, &folder) == 0, unsafe lstat(path, &file) == 0 else { return false }
        return folder.st_mode & S_ISVTX != 0 && folder.st_uid != user && file.st_uid != user
    }

    package static func isWritable(_ path: String) -> Bool {
        unsafe access(path, W_OK) == 0
    }

    /// Changes the owner and the group of a file, as far as the user is permitted to. fchown(2)
    ///
    /// - Returns: Whether the file has this owner, and whether it has this group.
    package static func setOwner(_ owner: UInt32, _ group: UInt32, of file: Descriptor) -> (owner: Bool, group: Bool) {
        // The owner `uid_t.max` means that the owner does not change.
        if fchown(file.number, owner, group) != 0 { _ = fchown(file.number, uid_t.max, group) }
        var information = stat()
        guard unsafe fstat(file.number, &information) == 0 else { return (false, false) }
        return (information.st_uid == owner, information.st_gid == group)
    }

    /// Removes an attribute, if it exists. fremovexattr(2)
    package static func removeAttribute(_ name: String, of file: Descriptor) throws(SystemError) {
        if unsafe fremovexattr(file.number, name) != 0, ![ENODATA, ENOTSUP].contains(errno) { throw .last }
    }

    package static func setMode(_ mode: UInt32, of file: Descriptor) throws(SystemError) {
        guard fchmod(file.number, mode) == 0 else { throw .last }
    }

    /// Sets the time of the last modification, in seconds since 1970. futimens(3)
    package static func setModificationTime(_ seconds: Int64, of file: Descriptor) throws(SystemError) {
        let time = timespec(tv_sec: time_t(seconds), tv_nsec: 0)
        let times = [time, time]
        guard unsafe futimens(file.number, times) == 0 else { throw .last }
    }

    /// The time of the last modification of a file, in seconds since 1970; `nil` if there is no file. stat(2)
    package static func modificationTime(at path: String) -> Int64? {
        var information = stat()
        return unsafe stat(path, &information) == 0 ? Int64(information.st_mtim.tv_sec) : nil
    }

    /// Creates the folders that lead to a file and do not exist yet.
    package static func makeFolders(leadingTo path: String) throws(SystemError) {
        let folder = split(path).folder
        guard !folder.isEmpty, kind(at: folder) != .directory else { return }
        let name = String(folder.dropLast())
        try makeFolders(leadingTo: name)
        if !name.isEmpty, kind(at: name) != .directory { try makeFolder(name) }
    }

    /// Opens a regular file for writing, and creates it if necessary. Does not open a FIFO, because its reader would
    /// see a writer come and go.
    ///
    /// - Throws: ``SystemError/notRegularFile``
    package static func openRegularForWriting(_ path: String, appends: Bool, replaces: Bool) throws(SystemError) -> Descriptor {
        guard kind(at: path) != .special else { throw .notRegularFile }
        let file = try open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (appends ? O_APPEND : 0), 0o666)
        do throws(SystemError) {
            var information = stat()
            guard unsafe fstat(file.number, &information) == 0 else { throw .last }
            guard information.st_mode & S_IFMT == S_IFREG else { throw .notRegularFile }
            if replaces { try truncate(file) }
            return file
        } catch {
            try? file.close()  // because nothing was written
            throw error
        }
    }

    /// The offset of the next read or write: lseek(2)
    package static func offset(of file: Descriptor) -> Int64 { Int64(lseek(file.number, 0, SEEK_CUR)) }

    /// Opens a file for writing: creates it, or removes its contents.
    package static func openForReplacing(_ path: String) throws(SystemError) -> Descriptor {
        try open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
    }

    /// rename(2)
    package static func move(_ path: String, to target: String) throws(SystemError) {
        guard unsafe rename(path, target) == 0 else { throw .last }
    }

    /// Moves a file to a path at which nothing exists.
    ///
    /// - Throws: ``SystemError/existingFile`` if something exists there.
    ///
    /// renameat2(2), link(2)
    package static func moveWithoutReplacing(_ path: String, to target: String) throws(SystemError) {
        if unsafe portolan_rename_without_replacing(path, target) == 0 { return }
        // The file system, such as NFS, can't do it in one step.
        guard errno == EINVAL || errno == ENOSYS else { throw .last }
        if unsafe link(path, target) == 0 { return remove(path) }
        // It has no hard links either. Then another program can create the file between these two calls.
        guard [EPERM, ENOSYS, ENOTSUP].contains(errno) else { throw .last }
        guard isMissing(target) else { throw .existingFile }
        try move(path, to: target)
    }

    package static func remove(_ path: String) {
        unsafe _ = unlink(path)
    }

    /// mkdir(2)
    package static func makeFolder(_ path: String) throws(SystemError) {
        guard unsafe mkdir(path, 0o777) == 0 else { throw .last }
    }

    /// Removes an empty folder. rmdir(2)
    package static func removeFolder(_ path: String) {
        unsafe _ = rmdir(path)
    }

    /// Returns the path without symbolic links, or `nil` if no file has this path. realpath(3)
    package static func resolved(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The number of symbolic links that the kernel follows. path_resolution(7)
    package static let linkLimit = 40

    /// Splits a path behind its last slash. Works on bytes, because `String` joins a slash with a following combining
    /// mark.
    package static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        let start = path.utf8.index(after: slash)
        return (String(path[..<start]), String(path[start...]))
    }

    /// Returns the name of a file that is not hidden: `_` replaces a dot at the start. Works on bytes, because `String`
    /// joins a dot with a following combining mark.
    package static func visibleName(_ name: String) -> String {
        name.utf8.first == UInt8(ascii: ".") ? "_" + String(name.unicodeScalars.dropFirst()) : name
    }

    /// Says that a folder does not exist or is not a folder, as a clause; `nil` if it is a folder, or can't be
    /// examined.
    ///
    /// - Parameter folder: the first result of ``split(_:)``.
    package static func problem(withFolder folder: String) -> String? {
        let name = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        guard !name.isEmpty else { return nil }
        var information = stat()
        if unsafe stat(name, &information) == 0 { return information.st_mode & S_IFMT == S_IFDIR ? nil : "'\(name)' is not a folder" }
        return errno == ENOENT ? "the folder '\(name)' does not exist" : nil
    }

    /// Returns the path of the file to which symbolic links lead. The file need not exist yet.
    package static func destination(of path: String) throws(SystemError) -> String {
        var path = path
        for _ in 0..<linkLimit {
            if let resolved = resolved(path) { return resolved }
            guard let link = try linkText(at: path) else { return path }
            path = link.hasPrefix("/") ? link : split(path).folder + link
        }
        throw SystemError(code: ELOOP)
    }

    /// Whether both paths name the same file, which can be missing.
    package static func isSame(_ path: String, _ other: String) -> Bool { canonical(path) == canonical(other) }

    /// The path without symbolic links, as far as it exists. The results for two paths of the same file are equal.
    package static func canonical(_ path: String) -> String {
        // `try?` because a path that cannot be resolved is compared unchanged.
        let path = (try? destination(of: path)) ?? path
        if let resolved = resolved(path) { return resolved }
        let (folder, name) = split(path)
        return (resolved(folder.isEmpty ? "." : folder) ?? folder) + "/" + name
    }

    /// Returns the target of the symbolic link at `path`, or `nil` if it is not a link. readlink(2)
    package static func linkText(at path: String) throws(SystemError) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        guard count < buffer.count else { throw SystemError(code: ENAMETOOLONG) }
        guard let text = String(validating: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self) else {
            throw SystemError(code: EILSEQ)
        }
        return text
    }

    /// Returns the number of bytes of an open regular file, or `nil` for any other file.
    package static func size(of file: Descriptor) -> Int64? {
        var information = stat()
        guard unsafe fstat(file.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(information.st_size)
    }
}
