// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The destination of a body.
///
/// The calls are serial, in this order: `begin` (again for each part), `write`, then `complete` or `abandon`. Only
/// `abandon` may come at any time, and from any thread.
protocol BodyOutput: AnyObject, Sendable {
    /// Whether the output is a terminal. Valid after `begin`.
    var isTerminal: Bool { get }
    /// Whether a new output can write the load from its start again. `false` if bytes went out that cannot be taken
    /// back.
    var canStartAgain: Bool { get }
    /// Opens the output; called when the response has arrived.
    func begin(_ response: Response) throws(Failure)
    /// Writes the borrowed bytes before it returns.
    func write(_ bytes: borrowing RawSpan) throws(Failure)
    /// Finishes a complete body.
    func complete() throws(Failure)
    /// Discards an incomplete body, and removes its partial file. Idempotent; no effect after `complete`.
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

/// Discards the body: for heads alone, and for events that carry the body themselves.
final class DiscardingOutput: BodyOutput {
    func begin(_ response: Response) {}
    func write(_ bytes: borrowing RawSpan) {}
    func complete() {}
    func abandon() {}
}
