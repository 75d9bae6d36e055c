// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct NewBodyTests {
    /// Releases every answer closure without a call.
    private final class Silent: LoadDelegate {
        func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {}
    }

    /// For each request of a load for a new body, returns whether the answer had a body.
    private func answers(_ load: (ManualHandler) throws -> Void) throws -> [Bool] {
        let answers = Mutex<[Bool]>([])
        let handler = ManualHandler { load in
            load.client.needsNewBody { body in answers.withLock { $0.append(body != nil) } }
        }
        try load(handler)
        return answers.withLock { $0 }
    }

    @Test func rewindableBodyIsProvidedAgain() throws {
        let given = try answers { handler in
            let request = try Request("x:a", method: .post, body: .text("again"))
            loader(handler).task(for: request, delegate: RecordingDelegate()).resume()
        }
        #expect(given == [true])
    }

    @Test func requestReleasedByTheDelegateGetsNoBody() throws {
        let given = try answers { handler in loader(handler).task(for: try Request("x:a"), delegate: Silent()).resume() }
        #expect(given == [false])
    }

    @Test func requestRemovedFromTheQueueByACancelGetsNoBody() throws {
        let given = try answers { handler in
            let jobs = Mutex<[@Sendable () -> Void]>([])
            let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
            let task = loader(handler).task(for: try Request("x:a"), delegate: RecordingDelegate(), on: queue)
            task.resume()
            task.cancel()
            while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        }
        #expect(given == [false])
    }
}
