// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the system says of a file: `inode(7)`.
struct FileStatus: Equatable {
    enum Kind {
        case regular, folder, link, other
    }

    let kind: Kind
    let owner: uid_t
    let group: gid_t
    let permissions: mode_t
    let size: Int64
    let identity: Identity

    /// Changes when another file takes the name, or when this one, its owner or its permissions are changed.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let seconds, nanoseconds: Int
    }

    var isSticky: Bool { permissions & S_ISVTX != 0 }

    init(_ information: stat) {
        switch information.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .folder
        case S_IFLNK: kind = .link
        default: kind = .other
        }
        (owner, group) = (information.st_uid, information.st_gid)
        permissions = information.st_mode & 0o7777
        size = Int64(information.st_size)
        identity = Identity(
            device: UInt64(information.st_dev), inode: UInt64(information.st_ino), size: Int64(information.st_size),
            seconds: Int(information.st_ctim.tv_sec), nanoseconds: Int(information.st_ctim.tv_nsec))
    }

    /// Of the file at `path`, of a symbolic link itself: `lstat(2)`.
    init(at path: String) throws(SystemCallError) {
        var information = stat()
        guard unsafe lstat(path, &information) == 0 else { throw .last }
        self.init(information)
    }

    /// Of what the path leads to: `stat(2)`.
    init(following path: String) throws(SystemCallError) {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { throw .last }
        self.init(information)
    }

    /// Of an open file: `fstat(2)`.
    init(of descriptor: CInt) throws(SystemCallError) {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { throw .last }
        self.init(information)
    }
}

/// `errno(3)`
struct SystemCallError: Error, Equatable, CustomStringConvertible {
    let number: CInt

    static var last: Self { Self(number: errno) }
    static let notFolder = Self(number: ENOTDIR)
    static let tooLarge = Self(number: EFBIG)

    /// Nothing has that name.
    var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// In the system's words; `strerror(3)` uses a buffer of the thread's own.
    var description: String { unsafe String(cString: strerror(number)) }
}
