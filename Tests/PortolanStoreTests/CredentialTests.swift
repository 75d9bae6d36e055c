// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    /// Tests which credentials a state folder keeps.
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

        @Test func permanentCredentialsAreKept() throws {
            var other = space
            (other.realm, other.port, other.isProxy) = (nil, 8080, true)
            try fixture.write { state in
                state.credentials.set(credential("ada"), for: space)
                state.credentials.set(credential("bob", "other"), for: other)
                state.credentials.set(credential("eve", "x", .loader), for: space)
            }
            let credentials = try fixture.open().credentials.allCredentials
            #expect(credentials == [space: ["ada": credential("ada")], other: ["bob": credential("bob", "other")]])
        }

        @Test func changesAndRemovalsAreKept() throws {
            try fixture.write { state in
                for user in ["ada", "bob", "eve"] { state.credentials.set(credential(user), for: space) }
            }
            try fixture.write { state in
                state.credentials.set(credential("ada", "new"), for: space)
                state.credentials.remove(credential("bob"), for: space)
                // One that is no longer permanent is removed from the file.
                state.credentials.set(credential("eve", "x", .loader), for: space)
            }
            #expect(try fixture.open().credentials.credentials(for: space) == ["ada": credential("ada", "new")])
        }

        @Test func defaultIsKept() throws {
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

        @Test func removedPasswordIsNotInTheFile() throws {
            try fixture.write { $0.credentials.set(credential("ada"), for: space) }
            #expect(String(decoding: try fixture.bytes(of: "credentials.sqlite"), as: UTF8.self).contains("hunter2"))
            try fixture.write { $0.credentials.removeAll() }
            #expect(!String(decoding: try fixture.bytes(of: "credentials.sqlite"), as: UTF8.self).contains("hunter2"))
            #expect(fixture.log.messages == [])
        }
    }
#endif
