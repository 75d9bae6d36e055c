// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The status of a file (`inode(7)`).
struct FileStatus: Equatable {
    enum Kind {
        case regular, folder, link, other
    }

    let kind: Kind
    /// The kind for messages, for example "a FIFO" in "it is a FIFO".
    let kindDescription: String
    let owner: uid_t
    let group: gid_t
    let permissions: mode_t
    /// Whether an access control list can give write permission to others than owner and group (`acl(5)`). The list is
    /// read only if its mask, which is in the group permission bits, includes write permission.
    let isWritableByAccessList: Bool
    let size: Int64
    let identity: Identity

    /// Differs if another file has the name, or if the file, its owner or its permissions have changed.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        /// The time of the last change of the contents or the status (`st_ctim`).
        let seconds, nanoseconds: Int
    }

    var isSticky: Bool { permissions & S_ISVTX != 0 }

    /// - Parameter accessList: reads the attribute with the access control list, as `getxattr(2)` does.
    init(_ information: stat, accessList: (UnsafePointer<CChar>) -> Int = { _ in -1 }) {
        switch information.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .folder
        case S_IFLNK: kind = .link
        default: kind = .other
        }
        kindDescription =
            switch information.st_mode & S_IFMT {
            case S_IFREG: "a file"
            case S_IFDIR: "a folder"
            case S_IFLNK: "a symbolic link"
            case S_IFIFO: "a FIFO"
            case S_IFSOCK: "a socket"
            case S_IFCHR, S_IFBLK: "a device"
            default: "not a regular file"
            }
        (owner, group) = (information.st_uid, information.st_gid)
        permissions = information.st_mode & 0o7777
        isWritableByAccessList = unsafe permissions & S_IWGRP != 0 && kind != .link && Self.isPresent(accessList)
        size = Int64(information.st_size)
        identity = Identity(
            device: UInt64(information.st_dev), inode: UInt64(information.st_ino), size: Int64(information.st_size),
            seconds: Int(information.st_ctim.tv_sec), nanoseconds: Int(information.st_ctim.tv_nsec))
    }

    /// Reads the status of the file at `path`. Does not follow a symbolic link (`lstat(2)`).
    init(at path: String) throws(SystemCallError) {
        var information = stat()
        guard unsafe lstat(path, &information) == 0 else { throw .last }
        unsafe self.init(information) { unsafe lgetxattr(path, $0, nil, 0) }
    }

    /// Reads the status of the file at `path`. Follows symbolic links (`stat(2)`).
    init(following path: String) throws(SystemCallError) {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { throw .last }
        unsafe self.init(information) { unsafe getxattr(path, $0, nil, 0) }
    }

    /// Reads the status of an open file (`fstat(2)`).
    init(of descriptor: CInt) throws(SystemCallError) {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { throw .last }
        unsafe self.init(information) { unsafe fgetxattr(descriptor, $0, nil, 0) }
    }

    /// The kernel does not store a list that is equivalent to the permissions. A list that cannot be read counts as
    /// present.
    private static func isPresent(_ accessList: (UnsafePointer<CChar>) -> Int) -> Bool {
        errno = ENODATA
        guard unsafe accessList("system.posix_acl_access") < 0 else { return true }
        return errno != ENODATA && errno != EOPNOTSUPP
    }
}

/// An error number of the system (`errno(3)`).
struct SystemCallError: Error, Equatable, CustomStringConvertible {
    let number: CInt
    /// The kind of a file that is not a regular file, for example "a FIFO".
    private(set) var kindDescription: String?

    init(number: CInt) { self.number = number }

    static func notRegular(_ kindDescription: String) -> Self {
        var error = Self(number: EINVAL)
        error.kindDescription = kindDescription
        return error
    }

    static var last: Self { Self(number: errno) }
    static let notFolder = Self(number: ENOTDIR)
    static let tooLarge = Self(number: EFBIG)

    /// Whether no file has that name.
    var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// The system's message (`strerror(3)`).
    var description: String {
        if let kindDescription { return "it is \(kindDescription)" }
        return unsafe String(cString: strerror(number))
    }
}
