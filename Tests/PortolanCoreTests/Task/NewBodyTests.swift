// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct NewBodyTests {
    /// A delegate that never provides a body: it releases the closure without a call.
    private final class Silent: LoadDelegate {
        func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {}
    }

    /// Returns, for each load that needs a new body, whether it received one.
    private func answers(_ load: (ManualHandler) throws -> Void) throws -> [Bool] {
        let answers = Mutex<[Bool]>([])
        let handler = ManualHandler { load in
            load.client.needsNewBody { body in answers.withLock { $0.append(body != nil) } }
        }
        try load(handler)
        return answers.withLock { $0 }
    }

    @Test func rewindableBodyIsProvidedAgain() throws {
        let hasBody = try answers { handler in
            let request = try Request("x:a", method: .post, body: .text("again"))
            loader(handler).task(for: request, delegate: RecordingDelegate()).resume()
        }
        #expect(hasBody == [true])
    }

    @Test func releasedClosureProvidesNoBody() throws {
        let hasBody = try answers { handler in loader(handler).task(for: try Request("x:a"), delegate: Silent()).resume() }
        #expect(hasBody == [false])
    }

    @Test func cancelBeforeTheDelegateCallProvidesNoBody() throws {
        let hasBody = try answers { handler in
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
