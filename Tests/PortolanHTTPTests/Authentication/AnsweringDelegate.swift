// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTP
import PortolanTransport
import Synchronization

/// Answers each challenge with a closure of the test, and records the challenges.
final class AnsweringDelegate: LoadDelegate {
    typealias Answer = @Sendable (AuthenticationChallenge) -> ChallengeAnswer?

    struct ReceivedChallenge: Equatable, Sendable {
        let space: ProtectionSpace
        let failures: Int
        let previousError: LoadError?
    }

    private let answer: Answer
    private let received = Mutex<[ReceivedChallenge]>([])
    private let unanswered = Mutex<[AuthenticationChallenge]>([])
    private let whenChallenged: @Sendable () -> Void

    /// - Parameter answer: returns `nil` to retain the challenge without an answer.
    init(_ answer: @escaping Answer, whenChallenged: @escaping @Sendable () -> Void = {}) {
        self.answer = answer
        self.whenChallenged = whenChallenged
    }

    /// Answers with these passwords for `user`, one after the other, and then continues without a password.
    convenience init(user: String = "user", passwords: String...) {
        self.init { challenge in
            let number = challenge.previousFailureCount
            return number < passwords.count ? .use(.password(user: user, password: passwords[number])) : .continueWithoutCredential
        }
    }

    var challenges: [ReceivedChallenge] { received.withLock { $0 } }
    /// The challenges without an answer.
    var open: [AuthenticationChallenge] { unanswered.withLock { $0 } }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        received.withLock {
            $0.append(
                ReceivedChallenge(
                    space: challenge.protectionSpace, failures: challenge.previousFailureCount, previousError: challenge.previousError))
        }
        if let answer = answer(challenge) { challenge.answer(answer) } else { unanswered.withLock { $0.append(challenge) } }
        whenChallenged()
    }
}

extension Loader {
    /// A loader with its own handler, which uses the proxies of the policy.
    static func http(_ proxies: ProxyPolicy = .direct, _ change: (inout HTTPConfiguration) -> Void = { _ in }) -> Loader {
        var http = HTTPConfiguration()
        http.proxies = proxies
        http.threadCount = 1
        change(&http)
        var configuration = Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }
}
