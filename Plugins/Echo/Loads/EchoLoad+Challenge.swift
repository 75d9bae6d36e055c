// SPDX-License-Identifier: Apache-2.0

extension EchoLoad {
    /// Asks until the answer is right, or was wrong too often.
    func serveChallenge(_ lock: Command.Lock, _ delivery: inout Delivery) throws(Interruption) {
        let user = Array(lock.user.utf8)
        let password = Array(lock.password.utf8)
        var previous: Failure?
        for failures in 0..<lock.attempts {
            let question = Question(
                protocolName: request.scheme, host: request.host ?? "", port: request.port, realm: lock.realm, failureCount: failures,
                previous: previous)
            let reply = try client.ask(question) { givenUser, givenPassword in
                // Both are always compared, so that the time does not tell which was wrong.
                let isUser = Self.equal(givenUser, user)
                let isPassword = Self.equal(givenPassword, password)
                return isUser && isPassword
            }
            switch reply {
            case .right:
                return try answer(Array("Hello, ".utf8) + user, type: "text/plain", charset: "utf-8", &delivery)
            case .wrong:
                previous = Failure(.authenticationRequired, "the user or the password is wrong; give those that the URL names")
            case .none:
                throw .failed(Failure(.authenticationRequired, "echo:challenge needs a user and a password; give those that the URL names"))
            case .cancelled:
                throw .failed(Failure(.authenticationCancelled, "the question for a user and a password was cancelled"))
            }
        }
        throw .failed(
            Failure(
                .authenticationRequired,
                "the user or the password was wrong, \(lock.attempts) of \(lock.attempts) times; give those that the URL names"))
    }

    /// Takes as long for one difference as for many: the time depends on the lengths alone.
    private static func equal(_ given: borrowing RawSpan, _ right: [UInt8]) -> Bool {
        var difference: UInt8 = given.byteCount == right.count ? 0 : 1
        for index in right.indices {
            let byte = index < given.byteCount ? unsafe given.unsafeLoad(fromByteOffset: index, as: UInt8.self) : 0
            difference |= byte ^ right[index]
        }
        return difference == 0
    }
}
