// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Lets through to another output what begins at the byte that was asked for, and nothing else.
final class ContinuedStream: BodyOutput {
    private let next: any BodyOutput
    private let continuation: Continuation
    private let isComplete = Atomic(false)

    init(_ continuation: Continuation, next: any BodyOutput) {
        self.continuation = continuation
        self.next = next
    }

    var isTerminal: Bool { next.isTerminal }
    var canStartAgain: Bool { next.canStartAgain }

    func begin(_ response: Response) throws(Failure) {
        if try continuation.judge(response) == .complete { isComplete.store(true, ordering: .relaxed) }
        try next.begin(response)
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        if !isComplete.load(ordering: .relaxed) { try next.write(bytes) }
    }

    func complete() throws(Failure) { try next.complete() }
    func abandon() { next.abandon() }
}
