// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import Testing

@Suite struct CredentialStorageTests {
    private static func space(
        _ scheme: String = "basic", _ protocolName: String = "http", host: String = "h", port: Int? = nil, realm: String? = "staff",
        isProxy: Bool = false
    ) -> ProtectionSpace {
        ProtectionSpace(
            kind: .password(scheme: scheme), protocolName: protocolName, host: host, port: port, realm: realm, isProxy: isProxy)
    }

    private let ada = Credential.password(user: "ada", password: "1", persistence: .loader)
    private let bob = Credential.password(user: "bob", password: "2", persistence: .permanent)

    @Test("The default credential of a space is the one that was set as default, or the only one")
    func defaultCredentialIsTheOneSetOrTheOnlyOne() {
        let storage = CredentialStorage()
        #expect(storage.defaultCredential(for: Self.space()) == nil)
        storage.set(ada, for: Self.space())
        #expect(storage.defaultCredential(for: Self.space()) == ada)
        storage.set(bob, for: Self.space())
        #expect(storage.defaultCredential(for: Self.space()) == nil)
        storage.setDefaultCredential(bob, for: Self.space())
        #expect(storage.defaultCredential(for: Self.space()) == bob)
        #expect(storage.credentials(for: Self.space()) == ["ada": ada, "bob": bob])
        storage.remove(bob, for: Self.space())
        #expect(storage.defaultCredential(for: Self.space()) == ada)
        #expect(storage.allCredentials == [Self.space(port: 80): ["ada": ada]])
        storage.removeAll()
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Realms, user names and passwords are compared by their octets, not as Unicode texts")
    func otherOctetsAreOtherNames() {
        let storage = CredentialStorage()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        storage.set(ada, for: Self.space(realm: "K"))
        #expect(storage.defaultCredential(for: Self.space(realm: "\u{212A}")) == nil)
        storage.set(.password(user: composed, password: "1", persistence: .loader), for: Self.space())
        storage.set(.password(user: decomposed, password: "2", persistence: .loader), for: Self.space())
        storage.remove(.password(user: composed, password: "1"), for: Self.space())
        #expect(storage.defaultCredential(for: Self.space()) == .password(user: decomposed, password: "2", persistence: .loader))
        #expect(Credential.password(user: "u", password: composed) != .password(user: "u", password: decomposed))
        #expect(Set([Self.space(realm: composed), Self.space(realm: decomposed), Self.space(realm: nil)]).count == 3)
    }

    @Test(
        "A credential is found only for an equivalent space",
        arguments: [
            (space(port: 80), true), (space("BASIC", "HTTP", host: "H"), true), (space("digest"), true), (space("ntlm"), false),
            (space("basic", "https"), false), (space(port: 81), false), (space(host: "g"), false), (space(host: "a.h"), false),
            (space(realm: "Staff"), false), (space(realm: nil), false), (space(isProxy: true), false),
        ])
    func credentialIsFoundOnlyForAnEquivalentSpace(_ otherSpace: ProtectionSpace, isEquivalent: Bool) {
        let storage = CredentialStorage()
        storage.set(ada, for: Self.space())
        #expect((storage.defaultCredential(for: otherSpace) == ada) == isEquivalent)
    }

    @Test("A credential for Digest is not used for Basic")
    func digestCredentialIsNotUsedForBasic() {
        let storage = CredentialStorage()
        storage.set(ada, for: Self.space("digest"))
        #expect(storage.defaultCredential(for: Self.space("basic")) == nil)
        #expect(storage.defaultCredential(for: Self.space("digest")) == ada)
    }

    @Test("Client certificates, server trust, and passwords without persistence are not stored")
    func credentialsWithoutPersistentPasswordAreNotStored() {
        let storage = CredentialStorage()
        storage.set(.password(user: "ada", password: "1"), for: Self.space())
        storage.set(.serverTrust, for: Self.space())
        storage.set(.certificate(chain: [], privateKey: []), for: Self.space())
        var trust = Self.space()
        trust.kind = .serverTrust(chain: [])
        storage.set(ada, for: trust)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A refused credential is removed from the storage, unless it was replaced in the meantime")
    func refusedCredentialIsRemovedUnlessReplaced() {
        let storage = CredentialStorage()
        storage.set(ada, for: Self.space())
        storage.removeRefused(.password(user: "ada", password: "old"), for: Self.space("digest"))
        #expect(storage.defaultCredential(for: Self.space()) == ada)
        storage.removeRefused(.password(user: "ada", password: "1"), for: Self.space("digest"))
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Observers receive each change once, until the observation ends")
    func changes() {
        let storage = CredentialStorage()
        let received = Mutex<[CredentialStorage.Change]>([])
        var observation: StorageObservation? = storage.observe { changes in received.withLock { $0 += changes } }
        let key = Self.space(port: 80)
        storage.set(ada, for: Self.space())
        storage.set(ada, for: Self.space())
        storage.setDefaultCredential(ada, for: Self.space())
        let permanent = Credential.password(user: "ada", password: "1", persistence: .permanent)
        storage.set(permanent, for: Self.space())
        storage.removeAll()
        #expect(
            received.withLock { $0 } == [
                .set(ada, for: key), .madeDefault(ada, for: key), .removed(ada, for: key), .set(permanent, for: key),
                .removed(permanent, for: key),
            ])
        withExtendedLifetime(observation) {}
        observation = nil
        storage.set(ada, for: Self.space())
        #expect(received.withLock { $0.count } == 5)
    }

    // MARK: The store on persistence

    private static func log() -> CredentialStorage.Log { CredentialStorage.Log {} }

    private static func key(_ user: String, in space: ProtectionSpace = space(port: 80)) -> StoredCredential.Key {
        StoredCredential.Key(space: space, user: user)
    }

    private static func stored(_ user: String, _ password: String, defaultTime: Int64 = 0) -> StoredCredential {
        StoredCredential(key: key(user), password: SecretText(password), defaultTime: defaultTime)
    }

    /// What a store would write, in its order.
    private static func changes(in log: CredentialStorage.Log) -> [String] {
        log.removeChanges().map { key, change in
            switch change {
            case .set(let credential): "\(key.user)=\(credential.password.reveal())\(credential.defaultTime > 0 ? "*" : "")"
            case .removed: "-\(key.user)"
            case .removedIfUnchanged(let credential): "-\(key.user)=\(credential.password.reveal())"
            }
        }
    }

    @Test("A store gets the changes of permanent credentials only, each user's last one")
    func recordedChanges() {
        let log = Self.log()
        let storage = CredentialStorage(stored: [Self.stored("bob", "2", defaultTime: 1)], log: log, in: log)
        #expect(storage.defaultCredential(for: Self.space()) == bob)
        storage.set(ada, for: Self.space())
        storage.set(bob, for: Self.space())
        #expect(Self.changes(in: log).isEmpty)
        let eve = Credential.password(user: "eve", password: "3", persistence: .permanent)
        storage.set(eve, for: Self.space())
        storage.set(.password(user: "bob", password: "2", persistence: .loader), for: Self.space())
        storage.setDefaultCredential(eve, for: Self.space())
        #expect(Self.changes(in: log) == ["-bob", "eve=3*"])
        storage.removeAll()
        #expect(Self.changes(in: log) == ["-eve"])
    }

    @Test("A store keeps a password that replaced the refused one, unless this storage has replaced it, too")
    func recordedRefusal() {
        let log = Self.log()
        let storage = CredentialStorage(stored: [Self.stored("bob", "2")], log: log, in: log)
        storage.removeRefused(bob, for: Self.space())
        #expect(Self.changes(in: log) == ["-bob=2"])
        storage.set(bob, for: Self.space())
        storage.removeRefused(bob, for: Self.space())
        #expect(Self.changes(in: log) == ["-bob"])
        // Changes that could not be written come before.
        storage.set(bob, for: Self.space())
        let failed = log.removeChanges()
        storage.removeRefused(bob, for: Self.space())
        log.recordOlder(failed)
        #expect(Self.changes(in: log) == ["-bob"])
    }

    @Test("Changes of other processes are applied and observed, except where an own change waits to be written")
    func appliedChanges() {
        let log = Self.log()
        let storage = CredentialStorage(stored: [Self.stored("bob", "2")], log: log, in: log)
        let received = Mutex<[CredentialStorage.Change]>([])
        let observation = storage.observe { changes in received.withLock { $0 += changes } }
        let key = Self.space(port: 80)
        let new = Credential.password(user: "bob", password: "new", persistence: .permanent)
        storage.apply(set: [Self.stored("bob", "new", defaultTime: 5)], removed: [])
        #expect(storage.defaultCredential(for: key) == new)
        storage.apply(set: [], removed: [Self.key("bob")])
        #expect(storage.allCredentials.isEmpty && log.isEmpty)
        #expect(received.withLock { $0 } == [.set(new, for: key), .madeDefault(new, for: key), .removed(new, for: key)])
        storage.set(bob, for: key)
        storage.apply(set: [Self.stored("bob", "other")], removed: [])
        storage.apply(set: [], removed: [Self.key("bob")])
        // One of this process only is not the store's.
        storage.set(ada, for: key)
        storage.apply(set: [], removed: [Self.key("ada")])
        #expect(storage.credentials(for: key) == ["ada": ada, "bob": bob])
        withExtendedLifetime(observation) {}
    }

    @Test("Changes on many threads reach the store in their order")
    func parallelChangesReachThePersistenceInOrder() async {
        let log = Self.log()
        let storage = CredentialStorage(stored: [], log: log, in: log)
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let user = "\(number % 2)"
                        storage.set(.password(user: user, password: "\(number) \(round)", persistence: .permanent), for: Self.space())
                    }
                }
            }
        }
        let stored = log.removeChanges().map { key, change -> Credential? in
            guard case .set(let credential) = change else { return nil }
            return .password(user: key.user, password: credential.password.reveal(), persistence: .permanent)
        }
        #expect(stored.count == 2 && Set(stored) == Set(storage.credentials(for: Self.space()).values.map(\.self)))
    }

    @Test("No description, dump or debug output of credentials and their storage shows a password")
    func secretsAreHidden() {
        let secret = "hunter2-secret"
        let credential = Credential.password(user: "ada", password: secret, persistence: .loader)
        let storage = CredentialStorage()
        storage.set(credential, for: Self.space())
        let certificate = Credential.certificate(chain: [[1]], privateKey: [211, 212])
        let values: [Any] = [
            credential, ChallengeAnswer.use(credential), CredentialStorage.Change.set(credential, for: Self.space()), storage,
            storage.allCredentials, Self.stored("ada", secret), SecretText(secret), certificate,
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [dumped, String(describing: value), String(reflecting: value)] {
                #expect(!text.contains(secret) && !text.contains("211"))
            }
        }
    }
}
