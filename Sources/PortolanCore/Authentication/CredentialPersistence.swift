// SPDX-License-Identifier: Apache-2.0

/// Keeps the permanent credentials of a ``CredentialStorage`` after the process has ended, for example in a database.
///
/// A persistence reports its own errors, for example in a log. It must never put a password into them.
package protocol CredentialPersistence: Sendable {
    /// Reads all permanent credentials, and then calls `completion` once, on any thread.
    ///
    /// Returns immediately. Called once for each storage, when the storage is first used.
    func load(_ completion: @escaping @Sendable ([StoredCredential]) -> Void)

    /// Writes changes. Returns immediately; a load may be waiting for it.
    ///
    /// Called only after ``load(_:)`` has completed, and only for changes of permanent credentials. Calls are serial,
    /// in the order of the changes.
    func save(_ changes: [CredentialStorage.Change])
}

/// A permanent credential with its protection space.
package struct StoredCredential: Hashable, Sendable {
    /// In the form of ``ProtectionSpace/canonical``.
    package var space: ProtectionSpace
    /// A user name and a password, with the persistence `.permanent`.
    package var credential: Credential
    /// Whether it is the default credential of its space.
    package var isDefault: Bool

    package init(space: ProtectionSpace, credential: Credential, isDefault: Bool = false) {
        (self.space, self.credential, self.isDefault) = (space, credential, isDefault)
    }
}
