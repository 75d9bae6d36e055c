// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The metadata of a file: owner, group, permissions, access control list and extended attributes.
///
/// A file that replaces another file gets the metadata of that file, so that no other user gains access.
package struct FileMetadata {
    private struct Attribute {
        /// Includes the final NUL.
        let name: [CChar]
        /// `nil` if the user cannot read the value.
        let value: [UInt8]?

        var nameText: String { String(decoding: name.dropLast().lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    }

    private static let accessList = "system.posix_acl_access"
    private static let capabilities = "security.capability"
    /// The attributes that describe the old contents: signatures of the kernel, and the validator of an incomplete
    /// file.
    private static let contentAttributes = ["security.ima", "security.evm", FileSystem.continuationAttribute]

    /// The number of hard links.
    package let hardLinkCount: Int
    private let owner: uid_t
    private let group: gid_t
    private let permissions: mode_t
    private let attributes: [Attribute]

    /// - Parameter path: the path of a file; a symbolic link at its end is not followed.
    package init(ofFileAt path: String) throws(SystemError) {
        var information = stat()
        guard unsafe lstat(path, &information) == 0 else { throw .last }
        hardLinkCount = Int(information.st_nlink)
        (owner, group, permissions) = (information.st_uid, information.st_gid, information.st_mode & 0o7777)
        attributes = Self.names(at: path).map { name in Attribute(name: name, value: Self.value(of: name, at: path)) }
    }

    /// Returns the names of the attributes; empty on a file system without attributes. llistxattr(2)
    private static func names(at path: String) -> [[CChar]] {
        let size = unsafe llistxattr(path, nil, 0)
        guard size > 0 else { return [] }
        var list = [CChar](repeating: 0, count: size)
        let count = unsafe llistxattr(path, &list, list.count)
        guard count > 0 else { return [] }
        return list[..<count].split(separator: 0).map { Array($0) + [0] }
    }

    /// lgetxattr(2)
    private static func value(of name: [CChar], at path: String) -> [UInt8]? {
        let size = unsafe lgetxattr(path, name, nil, 0)
        guard size >= 0 else { return nil }
        var value = [UInt8](repeating: 0, count: size)
        let count = unsafe lgetxattr(path, name, &value, value.count)
        return count >= 0 ? Array(value[..<count]) : nil
    }

    /// Applies the metadata to a new file. The contents must be complete.
    ///
    /// The setuid and setgid bits and the capabilities are dropped, because they belong to the old contents; write(2)
    /// clears them, too. If the owner or the group cannot be kept, the sticky bit is dropped, because it would have
    /// another meaning. Another group gets at most the permissions of all other users.
    ///
    /// - Parameter isPrivate: whether only the owner can access the new file: permissions 0600, and no access control
    ///   list.
    /// - Returns: descriptions of the metadata that could not be applied.
    package func apply(to file: Descriptor, isPrivate: Bool) throws(SystemError) -> [String] {
        var lostProperties: [String] = []
        var permissions = isPrivate ? 0o600 : permissions
        let kept = FileSystem.setOwner(owner, group, of: file)
        if !kept.owner { lostProperties.append("owner \(owner)") }
        if !kept.group {
            lostProperties.append("group \(group)")
            permissions &= ~0o070 | (permissions & 0o007) << 3
        }
        let lostBits = permissions & (kept.owner && kept.group ? 0o6000 : 0o7000)
        if lostBits != 0 {
            lostProperties.append("the permission bits 0\(String(lostBits, radix: 8))")
            permissions &= ~lostBits
        }
        // The new file has got the default list of the folder. The list of the old file is set below.
        try FileSystem.removeAttribute(Self.accessList, of: file)
        for attribute in attributes where !Self.contentAttributes.contains(attribute.nameText) {
            let isAccessList = attribute.nameText == Self.accessList
            if isAccessList, isPrivate { continue }
            // With another group, the list's entry for the owning group would apply to that group.
            if attribute.nameText != Self.capabilities, !isAccessList || kept.group, Self.set(attribute, of: file) { continue }
            lostProperties.append(isAccessList ? "the access control list" : "the attribute '\(attribute.nameText)'")
            // With an access control list, these bits are its mask and not the group's permissions. acl(5)
            if isAccessList { permissions &= ~0o070 }
        }
        // Last, because a change of the access control list changes the mode.
        try FileSystem.setMode(permissions, of: file)
        return lostProperties
    }

    /// Sets an attribute with fsetxattr(2), unless it already has the value: the user can read some attributes, such as
    /// an SELinux label, but not write them.
    private static func set(_ attribute: Attribute, of file: Descriptor) -> Bool {
        guard let value = attribute.value else { return false }
        var currentValue = [UInt8](repeating: 0, count: value.count + 1)
        let count = unsafe fgetxattr(file.number, attribute.name, &currentValue, currentValue.count)
        if count == value.count, Array(currentValue[..<count]) == value { return true }
        return unsafe fsetxattr(file.number, attribute.name, value, value.count, 0) == 0
    }
}

/// Identifies a file independently of its name, as long as it exists.
package struct FileIdentity: Codable, Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64

    /// - Returns: `nil` if there is no file. Does not follow a symbolic link.
    package init?(at path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    package init?(of file: Descriptor) {
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
