// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

extension EchoLoad {
    /// Sends challenges until the credential is correct, or was wrong `attempts` times.
    func serveChallenge(_ lock: Command.Lock, _ delivery: inout Delivery) async throws {
        var challenge = PluginChallenge(protocolName: request.scheme, host: request.host ?? "", port: request.port, realm: lock.realm)
        for failures in 0..<lock.attempts {
            challenge.failureCount = failures
            switch try await client.didReceiveChallenge(challenge) {
            case .use(let credential):
                if lock.opens(for: credential) {
                    return try await respond(with: Array("Hello, \(lock.user)".utf8), type: "text/plain", charset: "utf-8", &delivery)
                }
                challenge.previousError = PluginError(
                    .authenticationRequired, message: "the user or the password is wrong; give those that the URL names")
            case .cancel:
                throw PluginError(.authenticationCancelled, message: "the challenge for a user and a password was cancelled")
            case .continueWithoutCredential, .performDefault, .rejectSpace:
                throw PluginError(
                    .authenticationRequired, message: "echo:challenge needs a user and a password; give those that the URL names")
            }
        }
        throw PluginError(
            .authenticationRequired,
            message: "the user or the password was wrong, \(lock.attempts) of \(lock.attempts) times; give those that the URL names")
    }
}

extension Command.Lock {
    /// Always compares both, so that the duration does not reveal which one was wrong.
    fileprivate func opens(for credential: PluginCredential) -> Bool {
        let isUser = credential.user.isEqual(to: Array(user.utf8))
        let isPassword = credential.password.isEqual(to: Array(password.utf8))
        return isUser && isPassword
    }
}
