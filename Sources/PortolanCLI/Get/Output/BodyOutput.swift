// SPDX-License-Identifier: Apache-2.0

import Portolan

/// The destination of a body.
///
/// The calls are serial, in this order: `begin` (again for each part), `write`, then `complete` or `abandon`. Only
/// `abandon` can be called at any time, and from any thread.
protocol BodyOutput: AnyObject, Sendable {
    /// Whether the output is a terminal. Valid after `begin`.
    var isTerminal: Bool { get }
    /// Whether the next attempt can write the body from its start. `false` if a reader has received bytes of this
    /// attempt.
    var canStartAgain: Bool { get }
    /// The path of the output as the user gave it; `nil` for standard output, and before `begin` if the response gives
    /// the name.
    var path: String? { get }
    /// Whether `begin` decides about the status of the response, and not `--fail`.
    func checksStatus(of response: Response) -> Bool
    /// Whether the output is complete without the body. Valid after `begin`.
    var needsNoBody: Bool { get }
    /// Opens the output for the heads of a load that has failed before `begin`. Returns `false` if such a load leaves
    /// no output.
    func beginHeads(of response: Response) throws(Failure) -> Bool
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
    var path: String? { nil }
    var needsNoBody: Bool { false }

    func checksStatus(of response: Response) -> Bool { false }
    func beginHeads(of response: Response) throws(Failure) -> Bool { false }

    func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws(Failure) {
        let span = bytes.span
        try unsafe write(span.bytes)
    }
}

/// Discards the body. Used if the events on standard output contain the body (`--events`).
final class DiscardingOutput: BodyOutput {
    func begin(_ response: Response) {}
    func write(_ bytes: borrowing RawSpan) {}
    func complete() {}
    func abandon() {}
}
