// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Where a body goes.
///
/// The calls are serial and in this order: `begin` (again for each part), `write`, and then `complete` or `abandon`; only `abandon` may
/// come at any time, and from any thread.
protocol BodyOutput: AnyObject, Sendable {
    /// Whether a person looks at what is written. To be asked after `begin`.
    var isTerminal: Bool { get }
    /// Whether another load of the same can be written by a new output as if this one had not been: not where bytes went out for good.
    var canStartAgain: Bool { get }
    /// The response has come: now there is something to open a file for.
    func begin(_ response: Response) throws(Failure)
    /// Writes the lent bytes before it returns.
    func write(_ bytes: borrowing RawSpan) throws(Failure)
    /// The body is whole.
    func complete() throws(Failure)
    /// The body will not be whole: what lies in a file of its own is removed. Idempotent; after `complete` does nothing.
    func abandon()
}

extension BodyOutput {
    var isTerminal: Bool { false }
    var canStartAgain: Bool { true }

    func write(_ text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        try unsafe write(span.bytes)
    }
}

/// Takes a body and keeps nothing: for heads alone, and for events that carry the body themselves.
final class DiscardingOutput: BodyOutput {
    func begin(_ response: Response) {}
    func write(_ bytes: borrowing RawSpan) {}
    func complete() {}
    func abandon() {}
}
