// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanTestSupport
import ServerSupport

/// A loader with its own `https:` handler for HTTP/1.1, which trusts the tests' certificate authority.
struct SecureLoaderFixture {
    let loader: Loader
    let handler: HTTPHandler

    init(_ change: (inout HTTPConfiguration) throws -> Void = { _ in }) throws {
        var http = HTTPConfiguration()
        http.allowsHTTP2 = false
        http.threadCount = 1
        http.tls.trustRoots = .only([.file(path: try certificates().path("authority.pem"))])
        try change(&http)
        handler = HTTPHandler(configuration: http)
        var configuration = Loader.Configuration()
        configuration.handlers = [handler]
        loader = Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// A task that has ended, with its recorded events.
    struct Outcome {
        let task: LoadTask
        let delegate: RecordingDelegate

        /// The error's message if the load failed; otherwise the body.
        var text: String { delegate.error?.message ?? delegate.text }
        var code: LoadError.Code? { delegate.error?.code }
        var challengeCount: Int { delegate.events.count { $0 == .challenge } }
    }

    /// Loads the URL, and waits for the end.
    func load(
        _ url: String, onChallenge: @escaping @Sendable (AuthenticationChallenge) -> Void = { $0.answer(.performDefault) }
    ) async throws -> Outcome {
        let delegate = RecordingDelegate(onChallenge: onChallenge)
        let task = loader.task(for: try Request(url), delegate: delegate)
        task.resume()
        await delegate.ended()
        return Outcome(task: task, delegate: delegate)
    }

    /// Loads the URL, and waits for the end. The test answers the challenges of `pendingChallenges` in the meantime.
    func load(_ url: String, pending pendingChallenges: PendingChallenges) async throws -> Outcome {
        defer { pendingChallenges.close() }
        return try await load(url) { pendingChallenges.add($0) }
    }

    /// Loads the URL with one answer to all challenges.
    func load(_ url: String, answering answer: ChallengeAnswer) async throws -> Outcome {
        try await load(url) { $0.answer(answer) }
    }
}

extension AuthenticationChallenge {
    /// The server's certificates in DER; `nil` if the challenge does not ask for server trust.
    var serverChain: [[UInt8]]? {
        if case .serverTrust(let chain) = protectionSpace.kind { chain } else { nil }
    }

    var asksForCertificate: Bool {
        if case .clientCertificate = protectionSpace.kind { true } else { false }
    }
}

/// A queue of challenges that the test answers.
final class PendingChallenges: Sendable {
    private let stream: AsyncStream<AuthenticationChallenge>
    private let continuation: AsyncStream<AuthenticationChallenge>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func add(_ challenge: AuthenticationChallenge) { continuation.yield(challenge) }

    /// The next challenge. Waits until the load receives one, and throws if the load ends without one.
    func next() async throws -> AuthenticationChallenge {
        for await challenge in stream { return challenge }
        throw NoChallenge()
    }

    /// The load ended without a challenge.
    struct NoChallenge: Error {}

    func close() { continuation.finish() }
}
