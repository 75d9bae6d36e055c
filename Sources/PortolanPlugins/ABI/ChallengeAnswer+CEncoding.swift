// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

extension CStorage<portolan_answer> {
    /// Encodes an answer to a challenge for a plugin.
    ///
    /// A credential that does not match the kind of the challenge is no answer. The plugin then performs its default.
    init(_ answer: ChallengeAnswer, to kind: ProtectionSpace.Kind) {
        unsafe self.init { arena in
            var cAnswer = unsafe portolan_answer()
            unsafe cAnswer.size = UInt32(MemoryLayout<portolan_answer>.size)
            switch answer {
            case .use(let credential): unsafe arena.encode(credential, for: kind, into: &cAnswer)
            case .continueWithoutCredential: unsafe cAnswer.disposition = PORTOLAN_WITHOUT
            case .performDefault: unsafe cAnswer.disposition = PORTOLAN_DEFAULT
            case .rejectProtectionSpace: unsafe cAnswer.disposition = PORTOLAN_REJECT_SPACE
            case .cancel: unsafe cAnswer.disposition = PORTOLAN_CANCEL
            }
            return unsafe cAnswer
        }
    }
}

extension CArena {
    fileprivate mutating func encode(_ credential: Credential, for kind: ProtectionSpace.Kind, into cAnswer: inout portolan_answer) {
        unsafe cAnswer.disposition = PORTOLAN_USE
        switch (credential, kind) {
        case (.password(let user, let password, _), .password):
            unsafe cAnswer.user = string(user)
            unsafe cAnswer.password = string(password)
        case (.certificate(let chain, let key), .clientCertificate):
            unsafe (cAnswer.certificates, cAnswer.certificate_count) = list(chain) { unsafe $1.string($0) }
            unsafe cAnswer.private_key = string(key)
        case (.serverTrust, .serverTrust):
            break
        case (.password, _), (.certificate, _), (.serverTrust, _):
            unsafe cAnswer.disposition = PORTOLAN_DEFAULT
        }
    }
}
