// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    /// The credentials that a state folder stores.
    @Suite(.blocking) struct CredentialTests {
        private let fixture: StateFixture
        private let space = ProtectionSpace(
            kind: .password(scheme: "basic"), protocolName: "https", host: "example.org", port: 443, realm: "staff")

        init() throws { fixture = try StateFixture() }

        private func credential(_ user: String, _ password: String = "hunter2", _ persistence: Credential.Persistence = .permanent)
            -> Credential
        {
            .password(user: user, password: password, persistence: persistence)
        }

        @Test func permanentCredentialsAreStored() throws {
            var otherSpace = space
            (otherSpace.realm, otherSpace.port, otherSpace.isProxy) = (nil, 8080, true)
            try fixture.write { state in
                state.credentials.set(credential("ada"), for: space)
                state.credentials.set(credential("bob", "other"), for: otherSpace)
                state.credentials.set(credential("eve", "x", .loader), for: space)
            }
            let credentials = try fixture.open().credentials.allCredentials
            #expect(credentials == [space: ["ada": credential("ada")], otherSpace: ["bob": credential("bob", "other")]])
        }

        @Test func changesAndRemovalsAreStored() throws {
            try fixture.write { state in
                for user in ["ada", "bob", "eve"] { state.credentials.set(credential(user), for: space) }
            }
            try fixture.write { state in
                state.credentials.set(credential("ada", "new"), for: space)
                state.credentials.remove(credential("bob"), for: space)
                // A credential that is no longer permanent is removed from the file.
                state.credentials.set(credential("eve", "x", .loader), for: space)
            }
            #expect(try fixture.open().credentials.credentials(for: space) == ["ada": credential("ada", "new")])
        }

        @Test func defaultCredentialIsStored() throws {
            try fixture.write { state in
                for user in ["ada", "bob"] { state.credentials.setDefaultCredential(credential(user), for: space) }
                state.credentials.setDefaultCredential(credential("ada"), for: space)
            }
            try fixture.write { state in
                #expect(state.credentials.defaultCredential(for: space) == credential("ada"))
                // A new password does not change the default.
                state.credentials.set(credential("ada", "new"), for: space)
            }
            try fixture.write { #expect($0.credentials.defaultCredential(for: space) == credential("ada", "new")) }
            try fixture.write { $0.credentials.remove(credential("ada"), for: space) }
            #expect(try fixture.open().credentials.defaultCredential(for: space) == credential("bob"))
        }

        /// A C string ends at a NUL.
        @Test func textWithNULIsKeptAndRemoved() throws {
            var space = space
            space.realm = "r\u{0}1"
            let (first, second) = (credential("u\u{0}1", "p\u{0}1"), credential("u\u{0}2", "p\u{0}2"))
            try fixture.write { state in for credential in [first, second] { state.credentials.set(credential, for: space) } }
            try fixture.execute(
                "UPDATE credential SET password = CAST(x'700033' AS TEXT) WHERE CAST(user AS BLOB) = x'750032'", in: "credentials.sqlite")
            try fixture.write { state in
                #expect(state.credentials.credentials(for: space).values.map(\.self).contains(first))
                #expect(state.credentials.credentials(for: space)["u\u{0}2"] == credential("u\u{0}2", "p\u{0}3"))
                state.credentials.remove(first, for: space)
                state.credentials.removeRefused(credential("u\u{0}2", "p\u{0}3"), for: space)
            }
            #expect(try fixture.number("SELECT count(*) FROM credential", in: "credentials.sqlite") == 0)
        }

        /// Numbers of other programs.
        @Test func largestTimeOfADefaultIsNoOverflow() throws {
            try fixture.write { $0.credentials.setDefaultCredential(credential("ada"), for: space) }
            try fixture.execute("UPDATE credential SET default_time = \(Int64.max)", in: "credentials.sqlite")
            try fixture.write { $0.credentials.setDefaultCredential(credential("bob"), for: space) }
            #expect(try fixture.open().credentials.defaultCredential(for: space) == credential("bob"))
        }

        // MARK: Other processes

        @Test func changesOfTheOtherAreSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            first.credentials.setDefaultCredential(credential("ada"), for: space)
            try first.waitForFlush()
            // A flush also reads.
            try second.waitForFlush()
            #expect(second.credentials.defaultCredential(for: space) == credential("ada"))
            second.credentials.set(credential("ada", "new"), for: space)
            second.credentials.setDefaultCredential(credential("bob"), for: space)
            try second.waitForFlush()
            try first.waitForFlush()
            #expect(first.credentials.credentials(for: space) == ["ada": credential("ada", "new"), "bob": credential("bob")])
            #expect(first.credentials.defaultCredential(for: space) == credential("bob"))
            first.credentials.removeAll()
            try first.waitForFlush()
            try second.waitForFlush()
            #expect(second.credentials.allCredentials.isEmpty)
        }

        /// A server refuses the old password after another process has stored the new one, and before this one has read
        /// it.
        @Test(arguments: ["hunter2", "new"])
        func refusalRemovesOnlyThePasswordThatWasRefused(stored: String) throws {
            try fixture.write { $0.credentials.setDefaultCredential(credential("ada"), for: space) }
            let key = StoredCredential.Key(space: space, user: "ada")
            let table = StoredTable<CredentialRecord>(
                StateFiles(folder: fixture.path), log: .init(wake: {}), options: Database.Options(), logger: fixture.log.logger)
            #expect(try table.open().count == 1)
            try fixture.write { $0.credentials.set(credential("ada", stored), for: space) }
            var applied: [String] = []
            table.apply = { [log = table.log] set, _ in
                // As the storage does.
                applied += set.filter { !log.hasChange(for: $0.key) }.map { $0.password.reveal() }
            }
            table.log.record(.removedIfUnchanged(StoredCredential(key: key, password: SecretText("hunter2"), defaultTime: 0)), for: key)
            try table.synchronize()
            let isRefused = stored == "hunter2"
            #expect(applied == (isRefused ? [] : ["new"]))
            #expect(try fixture.open().credentials.allCredentials == (isRefused ? [:] : [space: ["ada": credential("ada", "new")]]))
            table.close()
        }

        @Test func removedPasswordIsNotInTheFile() throws {
            try fixture.write { $0.credentials.set(credential("ada"), for: space) }
            #expect(String(decoding: try fixture.bytes(of: "credentials.sqlite"), as: UTF8.self).contains("hunter2"))
            try fixture.write { $0.credentials.removeAll() }
            #expect(!String(decoding: try fixture.bytes(of: "credentials.sqlite"), as: UTF8.self).contains("hunter2"))
            #expect(fixture.log.messages == [])
        }
    }
#endif
