// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Passes a body to another output only if the body starts at the requested byte.
final class ResumedStream: BodyOutput {
    private let next: any BodyOutput
    private let resume: Resume
    private let isComplete = Atomic(false)

    init(_ resume: Resume, next: any BodyOutput) {
        self.resume = resume
        self.next = next
    }

    var isTerminal: Bool { next.isTerminal }
    var canStartAgain: Bool { next.canStartAgain }
    var path: String? { next.path }
    var needsNoBody: Bool { isComplete.load(ordering: .relaxed) }

    func checksStatus(of response: Response) -> Bool { resume.isUnsatisfied(by: response) }
    func beginHeads(of response: Response) throws(Failure) -> Bool { try next.beginHeads(of: response) }

    func begin(_ response: Response) throws(Failure) {
        if try resume.evaluate(response) == .complete { isComplete.store(true, ordering: .relaxed) }
        try next.begin(response)
    }

    func write(_ bytes: borrowing RawSpan) throws(Failure) {
        try next.write(bytes)
    }

    func complete() throws(Failure) { try next.complete() }
    func abandon() { next.abandon() }
}
