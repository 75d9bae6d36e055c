// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

private typealias UserRecord = passwd
private typealias GroupRecord = group

/// The system's users and groups (`passwd(5)`, `group(5)`, `nsswitch.conf(5)`).
enum UserDatabase {
    /// The maximum size of one entry. Enough for a group with some hundred thousand members.
    private static let entryLimit = 16 << 20
    /// The maximum number of users to list.
    private static let userLimit = 1 << 20

    /// Returns the primary group of a user. `nil` if the user has no entry.
    static func primaryGroup(of user: uid_t) -> gid_t? {
        var record = unsafe UserRecord()
        return unsafe withEntryBuffer { start, count -> (CInt, gid_t?) in
            var foundRecord: UnsafeMutablePointer<UserRecord>?
            let status = unsafe getpwuid_r(user, &record, start, count, &foundRecord)
            return unsafe (status, foundRecord == nil ? nil : record.pw_gid)
        }.entry
    }

    /// Describes a member of `group` other than `user` and root, for a message. `nil` if there is none. Checks the
    /// group's member list, and the users whose primary group it is.
    ///
    /// If a network directory does not list its users, those with this primary group are not considered. If the system
    /// cannot list the members, the message says so.
    static func member(of group: gid_t, otherThan user: uid_t) -> String? {
        var record = unsafe UserRecord()
        let isTrusted = { (id: uid_t) in id == user || id == 0 }
        let members = members(of: group)
        guard members.isComplete else { return "its members can't be listed" }
        for name in members.names {
            let id = unsafe withEntryBuffer { start, count -> (CInt, uid_t?) in
                var foundRecord: UnsafeMutablePointer<UserRecord>?
                let status = unsafe getpwnam_r(name, &record, start, count, &foundRecord)
                return unsafe (status, foundRecord == nil ? nil : record.pw_uid)
            }.entry
            guard let id, isTrusted(id) else { return "'\(Text.oneLine(name, limit: 80))' is also a member" }
        }
        return userWithPrimaryGroup(group, where: { !isTrusted($0) })
    }

    private static func members(of group: gid_t) -> (names: [String], isComplete: Bool) {
        var record = unsafe GroupRecord()
        let result = unsafe withEntryBuffer { start, count -> (CInt, [String]?) in
            var foundRecord: UnsafeMutablePointer<GroupRecord>?
            let status = unsafe getgrgid_r(group, &record, start, count, &foundRecord)
            guard status == 0, unsafe foundRecord != nil, var member = unsafe record.gr_mem else { return (status, nil) }
            var names: [String] = []
            while let name = unsafe member.pointee {
                unsafe names.append(String(cString: name))
                unsafe member += 1
            }
            return (0, names)
        }
        // A group without an entry has no members. Some systems report this as an error (getgrgid(3)).
        return (result.entry ?? [], [0, ENOENT, ESRCH].contains(result.status))
    }

    /// Locks the iteration over the users, whose position is global to the process.
    private static let iterationLock = ConditionLock(())

    private static func userWithPrimaryGroup(_ group: gid_t, where isOther: (uid_t) -> Bool) -> String? {
        iterationLock.withLock { _ in
            setpwent()
            defer { endpwent() }
            for _ in 0..<userLimit {
                switch nextUser() {
                case .entry(let name, let id, group) where isOther(id):
                    return "it is also the primary group of '\(Text.oneLine(name, limit: 80))'"
                case .entry: continue
                case .end: return nil
                case .failure: return "its members can't be listed"
                }
            }
            return "it has too many members to list"
        }
    }

    private enum NextUser {
        case entry(name: String, uid_t, gid_t)
        case end, failure
    }

    #if canImport(Glibc)
        private static func nextUser() -> NextUser {
            var record = unsafe UserRecord()
            let result = unsafe withEntryBuffer { start, count -> (CInt, NextUser?) in
                var foundRecord: UnsafeMutablePointer<UserRecord>?
                let status = unsafe getpwent_r(&record, start, count, &foundRecord)
                guard status == 0, unsafe foundRecord != nil else { return (status, nil) }
                return unsafe (0, .entry(name: String(cString: record.pw_name), record.pw_uid, record.pw_gid))
            }
            return result.entry ?? (result.status == ENOENT || result.status == 0 ? .end : .failure)
        }
    #else
        /// Uses getpwent(3), because this C library has no variant with a buffer of the caller.
        private static func nextUser() -> NextUser {
            guard let record = unsafe getpwent() else { return .end }
            return unsafe .entry(name: String(cString: record.pointee.pw_name), record.pointee.pw_uid, record.pointee.pw_gid)
        }
    #endif

    /// Calls `read` with a buffer, and again with a larger buffer while `read` returns ERANGE.
    private static func withEntryBuffer<Entry>(
        _ read: (_ start: UnsafeMutablePointer<CChar>, _ count: Int) -> (CInt, Entry?)
    ) -> (status: CInt, entry: Entry?) {
        var size = 1 << 12
        while true {
            let start = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { unsafe start.deallocate() }
            let (status, entry) = unsafe read(start, size)
            guard status == ERANGE, size < entryLimit else { return (status, entry) }
            size *= 4
        }
    }
}
