// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// User names and passwords by protection space, for one or several loaders.
///
/// A load proposes a stored credential when a server sends a challenge, removes a stored credential that the server
/// refuses, and stores a credential of the delegate after the server has accepted it, if its persistence is not
/// `.none`. Certificates and trust are not stored. Can be used on any thread.
///
///     let space = ProtectionSpace(
///         kind: .password(scheme: "basic"), protocolName: "https", host: "example.org", realm: "staff")
///     storage.set(.password(user: "ada", password: "…", persistence: .loader), for: space)
///
/// In a space, upper and lower case of protocol and host do not matter, nor does a default port that is left out. A
/// credential for Basic also applies to Digest with the same realm, because Digest protects the password better. The
/// reverse is not true.
public final class CredentialStorage: Sendable {
    /// The credentials of loaders with the default configuration.
    public static let shared = CredentialStorage()

    /// A change of the stored credentials.
    public enum Change: Hashable, Sendable {
        /// A credential was added, or replaced the credential of the same user. If the replaced credential had another
        /// persistence, a `removed` change for it comes first.
        case set(Credential, for: ProtectionSpace)
        /// A stored credential became the default of its space.
        case madeDefault(Credential, for: ProtectionSpace)
        case removed(Credential, for: ProtectionSpace)
    }

    /// The changes of permanent credentials, for a store on disk.
    package typealias Log = ChangeLog<StoredCredential.Key, StoredCredential>

    private struct State {
        var table = CredentialTable()
        var observers: [Int: @Sendable ([Change]) -> Void] = [:]
        var lastObserverNumber = 0
        /// The changes that the observers have not received yet.
        var pendingChanges: [[Change]] = []
        var isDelivering = false
    }

    /// The spaces in which loads have authenticated with stored credentials.
    package let authenticatedSpaces = AuthenticatedSpaces()
    private let state: Mutex<State>
    private let log: Log?
    private let store: (any AnyObject & Sendable)?

    /// A storage in memory. `StateFolder` has one that also keeps permanent credentials on disk.
    public init() {
        state = Mutex(State())
        (log, store) = (nil, nil)
    }

    /// Makes a storage whose permanent credentials are on disk.
    ///
    /// - Parameters:
    ///   - credentials: the credentials on disk.
    ///   - log: receives the changes.
    ///   - store: writes them, and stays open as long as the storage exists.
    package init(stored credentials: [StoredCredential], log: Log, in store: any AnyObject & Sendable) {
        var table = CredentialTable()
        for credential in credentials { _ = table.set(credential) }
        state = Mutex(State(table: table))
        (self.log, self.store) = (log, store)
    }

    // MARK: Credentials

    /// All credentials, by space and user.
    public var allCredentials: [ProtectionSpace: [String: Credential]] { read { $0.all } }

    /// The credentials of a space, by user.
    public func credentials(for space: ProtectionSpace) -> [String: Credential] { read { $0.credentials(for: space) } }

    /// The credential that a load proposes for a space: the one that was made the default, or the only one.
    public func defaultCredential(for space: ProtectionSpace) -> Credential? { read { $0.defaultCredential(for: space) } }

    /// Stores a credential, and replaces the credential of the same user. Has no effect on a credential that is not a
    /// user name and a password, or whose persistence is `.none`.
    ///
    /// A credential whose user name has a colon is proposed to Digest only, because Basic can't carry it (RFC 7617 §2).
    public func set(_ credential: Credential, for space: ProtectionSpace) {
        change { $0.set(credential, for: space, isDefault: false) }
    }

    /// Stores a credential as ``set(_:for:)`` does, and makes it the default of its space.
    public func setDefaultCredential(_ credential: Credential, for space: ProtectionSpace) {
        change { $0.set(credential, for: space, isDefault: true) }
    }

    /// Removes the credential of the same user from a space, whatever its password is.
    public func remove(_ credential: Credential, for space: ProtectionSpace) {
        guard case .password(let user, _, _) = credential else { return }
        change { $0.remove(user: user, for: space) }
    }

    public func removeAll() {
        authenticatedSpaces.removeAll()
        change { $0.removeAll() }
    }

    /// Removes a credential that a server refused. A credential that has replaced it in the meantime stays.
    package func removeRefused(_ credential: Credential, for space: ProtectionSpace) {
        guard case .password(let user, let password, _) = credential else { return }
        change(Log.Change.removedIfUnchanged) { $0.remove(user: user, password: password, for: space) }
    }

    /// Whether this user name with this password is stored for a space.
    package func contains(_ credential: Credential, for space: ProtectionSpace) -> Bool {
        guard case .password(let user, let password, _) = credential else { return false }
        return read { $0.contains(user: user, password: password, for: space) }
    }

    // MARK: Changes

    /// Calls `observer` after each change, without a lock held: on the thread that made the change, or on a thread that
    /// makes another change at the same time. The calls are serial, in the order of the changes.
    ///
    /// - Returns: an observation. The calls end when the observation is released.
    public func observe(_ observer: @escaping @Sendable ([Change]) -> Void) -> StorageObservation {
        let number = state.withLock { state in
            state.lastObserverNumber += 1
            state.observers[state.lastObserverNumber] = observer
            return state.lastObserverNumber
        }
        return StorageObservation { [weak self] in self?.state.withLock { _ = $0.observers.removeValue(forKey: number) } }
    }

    private func read<Result>(_ body: (CredentialTable) -> Result) -> Result { state.withLock { body($0.table) } }

    /// Changes the credentials, and records what the store has to write.
    ///
    /// - Parameter removal: how the store removes a credential.
    private func change(
        _ removal: (StoredCredential) -> Log.Change = { _ in .removed }, _ body: (inout CredentialTable) -> [Change]
    ) {
        publish { state in
            let changes = body(&state.table)
            for change in changes {
                guard let log, let credential = change.permanent else { continue }
                log.record(state.table.stored(credential.key).map { .set($0) } ?? removal(credential), for: credential.key)
            }
            return changes
        }
        log?.notify()
    }

    /// Applies what other processes have changed in the store, except for credentials with a newer change that waits to
    /// be written.
    package func apply(set credentials: [StoredCredential], removed: Set<StoredCredential.Key>) {
        publish { state in
            removed.filter { log?.hasChange(for: $0) != true }.flatMap { state.table.removeStored($0) }
                + credentials.filter { log?.hasChange(for: $0.key) != true }.flatMap { state.table.set($0) }
        }
    }

    private func publish(_ body: (inout State) -> [Change]) {
        let mustDeliver = state.withLock { state in
            let changes = body(&state)
            guard !changes.isEmpty else { return false }
            state.pendingChanges.append(changes)
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        if mustDeliver { deliverChanges() }
    }

    /// Delivers the changes of all threads until there are no more.
    private func deliverChanges() {
        while true {
            let next = state.withLock { state -> (changes: [Change], observers: [@Sendable ([Change]) -> Void])? in
                guard !state.pendingChanges.isEmpty else {
                    state.isDelivering = false
                    return nil
                }
                return (state.pendingChanges.removeFirst(), Array(state.observers.values))
            }
            guard let next else { return }
            for observer in next.observers { observer(next.changes) }
        }
    }
}

extension CredentialStorage.Change {
    /// The permanent credential that was changed.
    fileprivate var permanent: StoredCredential? {
        switch self {
        case .set(let credential, let space), .madeDefault(let credential, let space), .removed(let credential, let space):
            guard case .password(let user, let password, .permanent) = credential else { return nil }
            return StoredCredential(key: .init(space: space, user: user), password: SecretText(password), defaultTime: 0)
        }
    }
}
