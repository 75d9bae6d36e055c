// SPDX-License-Identifier: Apache-2.0

import CExtendedAttributes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a file has beside its contents: owner, group, permissions, access control list and extended attributes.
///
/// A file that takes another's place gets them, so that it is open to nobody to whom the old one was closed.
struct FileTraits {
    private struct Attribute {
        /// With the NUL at its end.
        let name: [CChar]
        /// `nil` where it can't be read.
        let value: [UInt8]?

        var text: String { String(decoding: name.dropLast().lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    }

    private static let accessList = "system.posix_acl_access"
    private static let capabilities = "security.capability"
    /// They say something of the old contents: signatures of the kernel's, and what an unfinished part is a part of.
    private static let ofContents = ["security.ima", "security.evm", FileSystem.continuationAttribute]

    /// How many names the file has: hard links.
    let nameCount: Int
    private let owner: uid_t
    private let group: gid_t
    private let permissions: mode_t
    private let attributes: [Attribute]

    /// - Parameter path: of a file, without a symbolic link at its end.
    init(ofFileAt path: String) throws(SystemError) {
        var information = stat()
        guard unsafe lstat(path, &information) == 0 else { throw .last }
        nameCount = Int(information.st_nlink)
        (owner, group, permissions) = (information.st_uid, information.st_gid, information.st_mode & 0o7777)
        attributes = Self.names(at: path).map { name in Attribute(name: name, value: Self.value(of: name, at: path)) }
    }

    /// llistxattr(2); a file system without attributes has no names.
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

    /// Gives them to a new file, whose contents are written already: a write would take the setuid bit away again.
    ///
    /// Under another owner or group the setuid, setgid and sticky bits would mean something else, and the permissions of the group would be
    /// for others: they are left out. Capabilities belong to the old contents; write(2), too, takes them away.
    ///
    /// - Parameter isPrivate: the new file is its owner's alone, with the permissions 0600 and no access control list.
    /// - Returns: what the file could not be given, in words.
    func give(to file: Descriptor, isPrivate: Bool) throws(SystemError) -> [String] {
        var lost: [String] = []
        var permissions = isPrivate ? 0o600 : permissions
        let kept = FileSystem.setOwner(owner, group, of: file)
        if !kept.owner { lost.append("owner \(owner)") }
        if !kept.group {
            lost.append("group \(group)")
            permissions &= ~0o070 | (permissions & 0o007) << 3
        }
        if !(kept.owner && kept.group), permissions & 0o7000 != 0 {
            lost.append("the permission bits 0\(String(permissions & 0o7000, radix: 8))")
            permissions &= 0o777
        }
        // A folder's default list is not the old file's.
        try FileSystem.removeAttribute(Self.accessList, of: file)
        for attribute in attributes where !Self.ofContents.contains(attribute.text) {
            let isAccessList = attribute.text == Self.accessList
            if isAccessList, isPrivate { continue }
            // The entry for the owning group would be for another one.
            if attribute.text != Self.capabilities, !isAccessList || kept.group, Self.set(attribute, of: file) { continue }
            lost.append(isAccessList ? "the access control list" : "the attribute '\(attribute.text)'")
            // With a list they are its mask, and not the group's permissions: acl(5).
            if isAccessList { permissions &= ~0o070 }
        }
        // Last, because a new owner takes the setuid bit away.
        try FileSystem.setMode(permissions, of: file)
        return lost
    }

    /// fsetxattr(2); not where it has the value already, which some may see and not set, such as a label of SELinux.
    private static func set(_ attribute: Attribute, of file: Descriptor) -> Bool {
        guard let value = attribute.value else { return false }
        var present = [UInt8](repeating: 0, count: value.count + 1)
        let count = unsafe fgetxattr(file.number, attribute.name, &present, present.count)
        if count == value.count, Array(present[..<count]) == value { return true }
        return unsafe fsetxattr(file.number, attribute.name, value, value.count, 0) == 0
    }
}
