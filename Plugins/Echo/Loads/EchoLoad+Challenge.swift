// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

extension EchoLoad {
    /// Sends challenges until the credential is correct, or was wrong `attempts` times.
    func serveChallenge(_ requiredCredential: Command.RequiredCredential, _ delivery: inout Delivery) async throws {
        var challenge = PluginChallenge(
            protocolName: request.scheme, host: request.host ?? "", port: request.port, realm: requiredCredential.realm)
        for failures in 0..<requiredCredential.attempts {
            challenge.failureCount = failures
            switch try await client.didReceiveChallenge(challenge) {
            case .use(let credential):
                if requiredCredential.accepts(credential) {
                    delivery.isPrivate = true
                    let text = Array("Hello, \(requiredCredential.user)".utf8)
                    return try await respond(with: text, type: "text/plain", charset: "utf-8", &delivery)
                }
                challenge.previousError = PluginError(
                    .authenticationRequired, message: "the user or the password is wrong; give those that the URL names")
            case .cancel:
                throw PluginError(.authenticationCancelled, message: "the challenge for a user and a password was cancelled")
            case .continueWithoutCredential, .performDefault, .rejectProtectionSpace:
                throw PluginError(
                    .authenticationRequired, message: "echo:challenge needs a user and a password; give those that the URL names")
            }
        }
        throw PluginError(
            .authenticationRequired,
            message: "the user or the password was wrong, \(requiredCredential.attempts) of \(requiredCredential.attempts) times; "
                + "give those that the URL names")
    }
}

extension Command.RequiredCredential {
    /// Always compares both user and password, so that the duration does not reveal which one was wrong.
    fileprivate func accepts(_ credential: PluginCredential) -> Bool {
        let isUser = credential.user.isEqual(to: Array(user.utf8))
        let isPassword = credential.password.isEqual(to: Array(password.utf8))
        return isUser && isPassword
    }
}
