// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The credentials of a ``CredentialStorage``: one for each user of a space. Keys are ``ProtectionSpace/canonical``.
struct CredentialTable {
    private struct Entry {
        let password: SecretText
        let persistence: Credential.Persistence
        /// When it became the default of its space, in microseconds since 1970; 0 for never. The latest one is the
        /// default.
        var defaultTime: Int64

        func credential(of user: OctetText) -> Credential {
            .password(user: user.text, password: password.reveal(), persistence: persistence)
        }
    }

    private struct Space {
        var entries: [OctetText: Entry] = [:]

        var defaultUser: OctetText? {
            entries.lazy.filter { $0.value.defaultTime > 0 }
                .max { ($0.value.defaultTime, $0.key.text) < ($1.value.defaultTime, $1.key.text) }?.key
        }

        /// In microseconds since 1970. Later than each time in the space, even if the clock was set back.
        var nextDefaultTime: Int64 {
            let latest = entries.values.lazy.map(\.defaultTime).max() ?? 0
            return max(Int64(Date().timeIntervalSince1970 * 1e6), min(latest, .max - 1) + 1)
        }
    }

    private var spaces: [ProtectionSpace: Space] = [:]

    var all: [ProtectionSpace: [String: Credential]] {
        spaces.mapValues { space in space.entries.reduce(into: [:]) { $0[$1.key.text] = $1.value.credential(of: $1.key) } }
    }

    func credentials(for space: ProtectionSpace) -> [String: Credential] {
        var credentials: [String: Credential] = [:]
        for key in space.applicableSpaces {
            for (user, entry) in spaces[key]?.entries ?? [:] where credentials[user.text] == nil {
                credentials[user.text] = entry.credential(of: user)
            }
        }
        return credentials
    }

    /// The credential that was made the default, or the only one.
    func defaultCredential(for space: ProtectionSpace) -> Credential? {
        for key in space.applicableSpaces {
            guard let storedSpace = spaces[key] else { continue }
            if let user = storedSpace.defaultUser, let entry = storedSpace.entries[user] { return entry.credential(of: user) }
            if storedSpace.entries.count == 1, let (user, entry) = storedSpace.entries.first { return entry.credential(of: user) }
        }
        return nil
    }

    /// Whether the credential of this user for the space has this password.
    func contains(user: String, password: String, for space: ProtectionSpace) -> Bool {
        space.applicableSpaces.contains { spaces[$0]?.entries[OctetText(user)]?.password.equals(password) == true }
    }

    /// The credential of a user as a store on disk has it; `nil` if it is not permanent.
    func stored(_ key: StoredCredential.Key) -> StoredCredential? {
        guard let entry = spaces[key.space]?.entries[OctetText(key.user)], entry.persistence == .permanent else { return nil }
        return StoredCredential(key: key, password: entry.password, defaultTime: entry.defaultTime)
    }

    /// Stores a credential of a user. Has no effect if the credential is not a password, or if its persistence is
    /// `.none`.
    mutating func set(_ credential: Credential, for space: ProtectionSpace, isDefault: Bool) -> [CredentialStorage.Change] {
        guard case .password(let name, let password, let persistence) = credential, persistence != .none, case .password = space.kind
        else { return [] }
        let (key, user) = (space.canonical, OctetText(name))
        let stored = spaces[key, default: Space()]
        let old = stored.entries[user]
        let time = isDefault && stored.defaultUser != user ? stored.nextDefaultTime : old?.defaultTime ?? 0
        return set(Entry(password: SecretText(password), persistence: persistence, defaultTime: time), of: user, in: key)
    }

    /// Stores a credential that another process has stored.
    mutating func set(_ stored: StoredCredential) -> [CredentialStorage.Change] {
        let entry = Entry(password: stored.password, persistence: .permanent, defaultTime: stored.defaultTime)
        return set(entry, of: OctetText(stored.key.user), in: stored.key.space)
    }

    private mutating func set(_ entry: Entry, of user: OctetText, in key: ProtectionSpace) -> [CredentialStorage.Change] {
        var space = spaces[key, default: Space()]
        let (old, oldDefault) = (space.entries[user], space.defaultUser)
        space.entries[user] = entry
        spaces[key] = space
        var changes: [CredentialStorage.Change] = []
        if let old, old.persistence != entry.persistence { changes.append(.removed(old.credential(of: user), for: key)) }
        if old?.persistence != entry.persistence || old?.password.equals(entry.password.reveal()) != true {
            changes.append(.set(entry.credential(of: user), for: key))
        }
        if let newDefault = space.defaultUser, newDefault != oldDefault, let entry = space.entries[newDefault] {
            changes.append(.madeDefault(entry.credential(of: newDefault), for: key))
        }
        return changes
    }

    /// Removes the credential of a user from a space.
    ///
    /// - Parameter password: the password that the removed credential must have; `nil` for any password.
    mutating func remove(user: String, password: String? = nil, for space: ProtectionSpace) -> [CredentialStorage.Change] {
        let user = OctetText(user)
        return space.applicableSpaces.flatMap { key -> [CredentialStorage.Change] in
            guard let entry = spaces[key]?.entries[user], password.map(entry.password.equals) ?? true else { return [] }
            return remove(user, from: key)
        }
    }

    /// Removes a credential that another process has removed.
    mutating func removeStored(_ key: StoredCredential.Key) -> [CredentialStorage.Change] {
        stored(key) == nil ? [] : remove(OctetText(key.user), from: key.space)
    }

    private mutating func remove(_ user: OctetText, from key: ProtectionSpace) -> [CredentialStorage.Change] {
        guard let entry = spaces[key]?.entries.removeValue(forKey: user) else { return [] }
        if spaces[key]?.entries.isEmpty == true { spaces[key] = nil }
        return [.removed(entry.credential(of: user), for: key)]
    }

    mutating func removeAll() -> [CredentialStorage.Change] {
        defer { spaces = [:] }
        return spaces.flatMap { key, space in space.entries.map { .removed($1.credential(of: $0), for: key) } }
    }
}

/// A permanent credential, as a store on disk has it.
package struct StoredCredential: Sendable {
    package struct Key: Hashable, Sendable {
        /// In the form of ``ProtectionSpace/canonical``.
        package let space: ProtectionSpace
        package let user: String

        package init(space: ProtectionSpace, user: String) { (self.space, self.user) = (space, user) }

        package static func == (a: Self, b: Self) -> Bool { a.space == b.space && OctetText(a.user) == OctetText(b.user) }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(space)
            hasher.combine(OctetText(user))
        }
    }

    package let key: Key
    package let password: SecretText
    /// When it became the default of its space, in microseconds since 1970; 0 for never. The latest one is the default.
    package let defaultTime: Int64

    package init(key: Key, password: SecretText, defaultTime: Int64) {
        (self.key, self.password, self.defaultTime) = (key, password, defaultTime)
    }
}

extension ProtectionSpace {
    /// The space in the normalized form that a storage uses as a key: protocol, scheme and host in lower case, and the
    /// default port if the space has no port.
    package var canonical: ProtectionSpace {
        var space = self
        space.protocolName = protocolName.lowercased()
        space.host = host.lowercased()
        if case .password(let scheme) = kind { space.kind = .password(scheme: scheme.lowercased()) }
        // `try?` because a protocol whose name is not a URL scheme has no default port.
        if port == nil { space.port = (try? URLRecord(parsing: "\(space.protocolName)://h/"))?.defaultPort }
        return space
    }

    /// The spaces whose credentials apply to this space, the best first: this space and, if it is for Digest, the same
    /// space for Basic.
    fileprivate var applicableSpaces: [ProtectionSpace] {
        let space = canonical
        guard case .password("digest") = space.kind else { return [space] }
        var basic = space
        basic.kind = .password(scheme: "basic")
        return [space, basic]
    }
}
