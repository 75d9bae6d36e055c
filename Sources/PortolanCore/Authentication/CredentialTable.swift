// SPDX-License-Identifier: Apache-2.0

/// The credentials of a ``CredentialStorage``: one for each user of a space. Keys are ``ProtectionSpace/canonical``.
struct CredentialTable {
    private struct Entry {
        let password: SecretText
        let persistence: Credential.Persistence

        func credential(of user: String) -> Credential {
            .password(user: user, password: password.reveal(), persistence: persistence)
        }
    }

    private struct Space {
        var entries: [String: Entry] = [:]
        var defaultUser: String?
    }

    private var spaces: [ProtectionSpace: Space] = [:]

    var all: [ProtectionSpace: [String: Credential]] {
        spaces.mapValues { space in space.entries.reduce(into: [:]) { $0[$1.key] = $1.value.credential(of: $1.key) } }
    }

    func credentials(for space: ProtectionSpace) -> [String: Credential] {
        var credentials: [String: Credential] = [:]
        for key in space.keys {
            for (user, entry) in spaces[key]?.entries ?? [:] where credentials[user] == nil {
                credentials[user] = entry.credential(of: user)
            }
        }
        return credentials
    }

    /// The credential that was made the default, or the only one.
    func defaultCredential(for space: ProtectionSpace) -> Credential? {
        for key in space.keys {
            guard let found = spaces[key] else { continue }
            if let user = found.defaultUser, let entry = found.entries[user] { return entry.credential(of: user) }
            if found.entries.count == 1, let (user, entry) = found.entries.first { return entry.credential(of: user) }
        }
        return nil
    }

    /// Whether the credential of this user for the space has this password.
    func contains(user: String, password: String, for space: ProtectionSpace) -> Bool {
        space.keys.contains { spaces[$0]?.entries[user]?.password.equals(password) == true }
    }

    /// Stores a credential of a user. Has no effect on one that is not to be stored.
    mutating func set(_ credential: Credential, for space: ProtectionSpace, isDefault: Bool) -> [CredentialStorage.Change] {
        guard case .password(let user, let password, let persistence) = credential, persistence != .none, case .password = space.kind
        else { return [] }
        let key = space.canonical
        var stored = spaces[key, default: Space()]
        var changes: [CredentialStorage.Change] = []
        let old = stored.entries[user]
        if let old, old.persistence != persistence { changes.append(.removed(old.credential(of: user), for: key)) }
        if old?.persistence != persistence || old?.password.equals(password) != true {
            stored.entries[user] = Entry(password: SecretText(password), persistence: persistence)
            changes.append(.set(credential, for: key))
        }
        if isDefault, stored.defaultUser != user {
            stored.defaultUser = user
            changes.append(.madeDefault(credential, for: key))
        }
        spaces[key] = stored
        return changes
    }

    /// Removes the credential of a user from a space.
    ///
    /// - Parameter password: `nil` for any; otherwise a credential with another password stays.
    mutating func remove(user: String, password: String? = nil, for space: ProtectionSpace) -> [CredentialStorage.Change] {
        var changes: [CredentialStorage.Change] = []
        for key in space.keys {
            guard let entry = spaces[key]?.entries[user], password.map(entry.password.equals) ?? true else { continue }
            changes.append(.removed(entry.credential(of: user), for: key))
            spaces[key]?.entries[user] = nil
            if spaces[key]?.defaultUser == user { spaces[key]?.defaultUser = nil }
            if spaces[key]?.entries.isEmpty == true { spaces[key] = nil }
        }
        return changes
    }

    mutating func removeAll() -> [CredentialStorage.Change] {
        defer { spaces = [:] }
        return spaces.flatMap { key, space in space.entries.map { .removed($1.credential(of: $0), for: key) } }
    }
}

extension ProtectionSpace {
    /// The space in the form in which a storage has it: protocol, scheme and host in lower case, and with the port.
    package var canonical: ProtectionSpace {
        var space = self
        space.protocolName = protocolName.lowercased()
        space.host = host.lowercased()
        if case .password(let scheme) = kind { space.kind = .password(scheme: scheme.lowercased()) }
        // `try?` because a protocol or a host that makes no URL has no default port.
        if port == nil { space.port = (try? URLRecord(parsing: "\(space.protocolName)://h/"))?.defaultPort }
        return space
    }

    /// The spaces whose credentials apply, the best first: this one, and the one for Basic if this is for Digest.
    fileprivate var keys: [ProtectionSpace] {
        let space = canonical
        guard case .password("digest") = space.kind else { return [space] }
        var basic = space
        basic.kind = .password(scheme: "basic")
        return [space, basic]
    }
}
