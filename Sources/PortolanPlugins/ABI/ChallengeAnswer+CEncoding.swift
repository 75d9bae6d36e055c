// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

extension CStorage<portolan_answer> {
    /// Encodes an answer to a challenge for a plugin.
    ///
    /// A credential of another kind than the challenge's counts as no answer: the plugin then performs its default.
    init(_ answer: ChallengeAnswer, to kind: ProtectionSpace.Kind) {
        unsafe self.init { arena in
            var image = unsafe portolan_answer()
            unsafe image.size = UInt32(MemoryLayout<portolan_answer>.size)
            switch answer {
            case .use(let credential): unsafe arena.put(credential, for: kind, in: &image)
            case .continueWithoutCredential: unsafe image.disposition = PORTOLAN_WITHOUT
            case .performDefault: unsafe image.disposition = PORTOLAN_DEFAULT
            case .rejectProtectionSpace: unsafe image.disposition = PORTOLAN_REJECT_SPACE
            case .cancel: unsafe image.disposition = PORTOLAN_CANCEL
            }
            return unsafe image
        }
    }
}

extension CArena {
    fileprivate mutating func put(_ credential: Credential, for kind: ProtectionSpace.Kind, in image: inout portolan_answer) {
        unsafe image.disposition = PORTOLAN_USE
        switch (credential, kind) {
        case (.password(let user, let password), .password):
            unsafe image.user = string(user)
            unsafe image.password = string(password)
        case (.certificate(let chain, let key), .clientCertificate):
            unsafe (image.certificates, image.certificate_count) = list(chain) { unsafe $1.string($0) }
            unsafe image.private_key = string(key)
        case (.serverTrust, .serverTrust):
            break
        case (.password, _), (.certificate, _), (.serverTrust, _):
            unsafe image.disposition = PORTOLAN_DEFAULT
        }
    }
}
