// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// The request's body after a redirect.
@Suite(.timeLimit(.minutes(10))) struct RedirectBodyTests {
    /// A handler that reads the request's body, and redirects `x://h/` to `x://h/b`.
    private static let bodyReadingHandler = StubHandler(identifier: "reader") { request in
        _ = try request.body?.makeReader()
        return request.url.path == "/" ? .redirect(to: try URLRecord(parsing: "x://h/b")) : .text("landed")
    }

    private static func oneTimeBody() -> Body {
        Body(length: 0, isRewindable: false) { () throws(LoadError) in try Body.bytes([]).makeReader() }
    }

    @Test func redirectFailsIfTheBodyCannotBeReadAgain() async throws {
        let request = try Request("x://h/", method: .put, body: Self.oneTimeBody())
        let error = try await #require(throws: LoadError.self) { try await loader(Self.bodyReadingHandler).data(for: request) }
        #expect(error.code == .bodyFailed)
        #expect(error.message.hasPrefix("the redirect to 'x://h/b' needs the body again, but the body can be read only once"))
    }

    @Test func rewindableBodyIsSentAgain() async throws {
        let request = try Request("x://h/", method: .put, body: .text("again"))
        #expect(try await loader(Self.bodyReadingHandler).data(for: request).1.url.path == "/b")
    }

    @Test(arguments: [true, false])
    func delegateMayReplaceTheBody(decidesLater: Bool) async throws {
        let pendingDecision = Mutex<(@Sendable () -> Void)?>(nil)
        let delegate = RecordingDelegate(onRedirect: { proposed, decide in
            var next = proposed
            next.body = Self.oneTimeBody()
            let decision: @Sendable () -> Void = { [next] in decide(.follow(next)) }
            if decidesLater { pendingDecision.withLock { $0 = decision } } else { decision() }
        })
        let task = loader(Self.bodyReadingHandler).task(
            for: try Request("x://h/", method: .put, body: Self.oneTimeBody()), delegate: delegate)
        task.resume()
        pendingDecision.withLock { $0.take() }?()
        #expect(delegate.events.last == .finished)
    }
}
