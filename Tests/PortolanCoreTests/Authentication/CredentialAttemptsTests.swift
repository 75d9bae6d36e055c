// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

@Suite struct CredentialAttemptsTests {
    private let credential = Credential.password(user: "u", password: "p", persistence: .permanent)

    private func space(_ scheme: String, _ realm: String) -> ProtectionSpace {
        ProtectionSpace(kind: .password(scheme: scheme), protocolName: "http", host: "h", port: 80, realm: realm)
    }

    @Test("A challenge for another scheme or realm does not refuse the credential that was sent")
    func challengeForAnotherSpaceRefusesNothing() {
        for (scheme, realm, isRefused) in [("digest", "r", true), ("basic", "r", false), ("digest", "other", false)] {
            var attempts = CredentialAttempts()
            attempts.recordSending(of: credential, for: space("digest", "r"))
            let refused = attempts.receiveChallenge(for: space(scheme, realm)).refused
            #expect(refused.isEmpty != isRefused, "\(scheme) \(realm)")
            #expect(attempts.wasRefused(credential, for: space("digest", "r")))
        }
    }

    @Test("A response with a status below 400 accepts the credential, and no delivered response refuses it")
    func responsesDecideAboutCredentials() {
        for (status, isAccepted) in [(200, true), (302, true), (401, false), (403, false), (404, false), (407, false), (503, false)] {
            var attempts = CredentialAttempts()
            attempts.recordSending(of: credential, for: space("digest", "r"))
            let (refused, accepted) = attempts.receiveResponse(status: status)
            #expect(refused.isEmpty && accepted.isEmpty != isAccepted, "\(status)")
        }
        var attempts = CredentialAttempts()
        attempts.recordSending(of: credential, for: space("", "r"))
        #expect(attempts.receiveResponse(status: nil).accepted.count == 1)
    }
}
