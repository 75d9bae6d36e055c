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

    @Test("The default credential is the chosen one, or the only one")
    func defaultCredential() {
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

    @Test(
        "A credential applies only in its own space",
        arguments: [
            (space(port: 80), true), (space("BASIC", "HTTP", host: "H"), true), (space("digest"), true), (space("ntlm"), false),
            (space("basic", "https"), false), (space(port: 81), false), (space(host: "g"), false), (space(host: "a.h"), false),
            (space(realm: "Staff"), false), (space(realm: nil), false), (space(isProxy: true), false),
        ])
    func spaces(_ other: ProtectionSpace, isSame: Bool) {
        let storage = CredentialStorage()
        storage.set(ada, for: Self.space())
        #expect((storage.defaultCredential(for: other) == ada) == isSame)
    }

    @Test("A credential for Digest is not used for Basic")
    func digestIsNotBasic() {
        let storage = CredentialStorage()
        storage.set(ada, for: Self.space("digest"))
        #expect(storage.defaultCredential(for: Self.space("basic")) == nil)
        #expect(storage.defaultCredential(for: Self.space("digest")) == ada)
    }

    @Test("Credentials without persistence, certificates and trust are not stored")
    func notStored() {
        let storage = CredentialStorage()
        storage.set(.password(user: "ada", password: "1"), for: Self.space())
        storage.set(.serverTrust, for: Self.space())
        storage.set(.certificate(chain: [], privateKey: []), for: Self.space())
        var trust = Self.space()
        trust.kind = .serverTrust(chain: [])
        storage.set(ada, for: trust)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A refused credential is removed only if it has not been replaced")
    func refused() {
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

    @Test("A persistence is read once, and receives the changes of permanent credentials only")
    func persistence() {
        let disk = MemoryPersistence([StoredCredential(space: Self.space(port: 80), credential: bob, isDefault: true)])
        let storage = CredentialStorage(persistence: disk)
        #expect(disk.loadCount == 0)
        #expect(storage.defaultCredential(for: Self.space()) == bob)
        storage.set(ada, for: Self.space())
        #expect(disk.saved == [])
        let shorter = Credential.password(user: "bob", password: "2", persistence: .loader)
        storage.set(shorter, for: Self.space())
        storage.setDefaultCredential(bob, for: Self.space("digest"))
        let (basic, digest) = (Self.space(port: 80), Self.space("digest", port: 80))
        #expect(disk.saved == [.removed(bob, for: basic), .set(bob, for: digest), .madeDefault(bob, for: digest)])
        #expect(disk.loadCount == 1)
    }

    @Test("Changes on many threads reach the persistence in their order")
    func parallelChanges() async {
        let disk = MemoryPersistence([])
        let storage = CredentialStorage(persistence: disk)
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        storage.set(.password(user: "\(number)", password: "\(round)", persistence: .permanent), for: Self.space())
                    }
                }
            }
        }
        #expect(storage.credentials(for: Self.space()).count == 8)
        var last: [ProtectionSpace: [String: Credential]] = [:]
        for case .set(let credential, let space) in disk.saved {
            guard case .password(let user, _, _) = credential else { continue }
            last[space, default: [:]][user] = credential
        }
        #expect(last == storage.allCredentials)
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
            storage.allCredentials, StoredCredential(space: Self.space(), credential: credential), SecretText(secret), certificate,
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

/// Permanent credentials in an array.
private final class MemoryPersistence: CredentialPersistence {
    private let stored: [StoredCredential]
    private let state = Mutex((loadCount: 0, saved: [CredentialStorage.Change]()))

    init(_ stored: [StoredCredential]) { self.stored = stored }

    var loadCount: Int { state.withLock { $0.loadCount } }
    var saved: [CredentialStorage.Change] { state.withLock { $0.saved } }

    func load(_ completion: @escaping @Sendable ([StoredCredential]) -> Void) {
        state.withLock { $0.loadCount += 1 }
        completion(stored)
    }

    func save(_ changes: [CredentialStorage.Change]) { state.withLock { $0.saved += changes } }
}
