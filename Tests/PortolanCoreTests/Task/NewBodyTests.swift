// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct NewBodyTests {
    /// A delegate that provides no body, because it releases the closure without calling it.
    private final class SilentDelegate: LoadDelegate {
        func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {}
    }

    /// Whether each load received a new body. The loads ask for a new body when they start.
    ///
    /// - Parameter startLoads: starts loads of the handler.
    private func receivesNewBody(_ startLoads: (ManualHandler) throws -> Void) throws -> [Bool] {
        let answers = Mutex<[Bool]>([])
        let handler = ManualHandler { load in
            load.client.needsNewBody { body in answers.withLock { $0.append(body != nil) } }
        }
        try startLoads(handler)
        return answers.withLock { $0 }
    }

    @Test func rewindableBodyIsProvidedAgain() throws {
        let hasBody = try receivesNewBody { handler in
            let request = try Request("x:a", method: .post, body: .text("again"))
            loader(handler).task(for: request, delegate: RecordingDelegate()).resume()
        }
        #expect(hasBody == [true])
    }

    @Test func releasedClosureProvidesNoBody() throws {
        let hasBody = try receivesNewBody { handler in loader(handler).task(for: try Request("x:a"), delegate: SilentDelegate()).resume() }
        #expect(hasBody == [false])
    }

    @Test func cancelBeforeTheDelegateCallProvidesNoBody() throws {
        let hasBody = try receivesNewBody { handler in
            let jobs = Mutex<[@Sendable () -> Void]>([])
            let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
            let task = loader(handler).task(for: try Request("x:a"), delegate: RecordingDelegate(), on: queue)
            task.resume()
            task.cancel()
            while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        }
        #expect(hasBody == [false])
    }
}
