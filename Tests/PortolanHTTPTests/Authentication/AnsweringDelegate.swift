// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTP
import PortolanTransport
import Synchronization

/// A delegate that calls a closure of the test to answer each challenge, and records the challenges.
final class AnsweringDelegate: LoadDelegate {
    typealias Answer = @Sendable (AuthenticationChallenge) -> ChallengeAnswer?

    struct ReceivedChallenge: Equatable, Sendable {
        let space: ProtectionSpace
        let failureCount: Int
        let previousError: LoadError?
    }

    private let answer: Answer
    private let receivedChallenges = Mutex<[ReceivedChallenge]>([])
    private let unansweredList = Mutex<[AuthenticationChallenge]>([])
    private let whenChallenged: @Sendable () -> Void

    /// - Parameters:
    ///   - answer: returns the answer, or `nil` to leave the challenge unanswered (see ``unansweredChallenges``).
    ///   - whenChallenged: is called after each challenge.
    init(_ answer: @escaping Answer, whenChallenged: @escaping @Sendable () -> Void = {}) {
        self.answer = answer
        self.whenChallenged = whenChallenged
    }

    /// Answers the first challenge with the first password for `user`, and each further challenge with the next
    /// password. After the last password, the load continues without a credential.
    convenience init(user: String = "user", passwords: String...) {
        self.init { challenge in
            let number = challenge.previousFailureCount
            return number < passwords.count ? .use(.password(user: user, password: passwords[number])) : .continueWithoutCredential
        }
    }

    var challenges: [ReceivedChallenge] { receivedChallenges.withLock { $0 } }
    /// The challenges for which the closure returned `nil`. The test can answer them later.
    var unansweredChallenges: [AuthenticationChallenge] { unansweredList.withLock { $0 } }

    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        receivedChallenges.withLock {
            $0.append(
                ReceivedChallenge(
                    space: challenge.protectionSpace, failureCount: challenge.previousFailureCount, previousError: challenge.previousError))
        }
        if let answer = answer(challenge) { challenge.answer(answer) } else { unansweredList.withLock { $0.append(challenge) } }
        whenChallenged()
    }
}

extension Loader {
    /// A loader with an HTTP handler of its own. The handler has one event loop, and uses the proxies of `proxies`.
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
