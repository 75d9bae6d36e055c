// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCore
    import Synchronization

    /// The permanent credentials of a folder, as `CredentialStorage` reads and writes them.
    final class StoredCredentials: CredentialPersistence {
        typealias Log = ChangeLog<CredentialRecord.Key, CredentialRecord.Entry>

        private struct State {
            /// What was in the file when it was opened; `nil` after the storage has got it.
            var stored: [CredentialRecord.Entry]?
            /// When credentials became the default of their space.
            var defaultTimes: [CredentialRecord.Key: Int64]
        }

        private let state: Mutex<State>
        private let log: Log
        private let store: StoreHandle

        /// - Parameter store: stays open as long as the credentials are in use.
        init(_ stored: [CredentialRecord.Entry], log: Log, in store: StoreHandle) {
            state = Mutex(State(stored: stored, defaultTimes: Dictionary(stored.map { ($0.key, $0.defaultTime) }) { $1 }))
            (self.log, self.store) = (log, store)
        }

        func load(_ completion: @escaping @Sendable ([StoredCredential]) -> Void) {
            let stored = state.withLock { $0.stored.take() } ?? []
            var latest: [ProtectionSpace: Int64] = [:]
            for entry in stored { latest[entry.key.space] = max(latest[entry.key.space] ?? 0, entry.defaultTime) }
            completion(
                stored.map { entry in
                    StoredCredential(
                        space: entry.key.space,
                        credential: .password(user: entry.key.user, password: entry.password.reveal(), persistence: .permanent),
                        isDefault: entry.defaultTime > 0 && entry.defaultTime == latest[entry.key.space])
                })
        }

        func save(_ changes: [CredentialStorage.Change]) {
            for change in changes {
                switch change {
                case .set(let credential, let space): record(credential, for: space, isDefault: false)
                case .madeDefault(let credential, let space): record(credential, for: space, isDefault: true)
                case .removed(.password(let user, _, _), let space):
                    let key = CredentialRecord.Key(space: space, user: user)
                    state.withLock { _ = $0.defaultTimes.removeValue(forKey: key) }
                    log.record(.removed, for: key)
                case .removed: break
                }
            }
            log.notify()
        }

        private func record(_ credential: Credential, for space: ProtectionSpace, isDefault: Bool) {
            guard case .password(let user, let password, _) = credential else { return }
            let key = CredentialRecord.Key(space: space, user: user)
            let time = state.withLock { state in
                if isDefault {
                    // Later than each other one, also if the clock was set back.
                    let others = state.defaultTimes.filter { $0.key.space == space }.values.max() ?? 0
                    state.defaultTimes[key] = max(Date().microseconds, others + 1)
                }
                return state.defaultTimes[key] ?? 0
            }
            log.record(.set(.init(key: key, password: SecretText(password), defaultTime: time)), for: key)
        }
    }
#endif
