// SPDX-License-Identifier: Apache-2.0

/// Enforces the order of one load's events. The host enforces it too, and ends a load that breaks it. This state
/// machine throws in the author's code instead, and the host does not receive the event.
///
///     before → body → trailers → over
///        └──── confirmed ───────┘
struct PluginEventStateMachine {
    enum Phase: Hashable {
        /// No response yet.
        case before
        case body
        case trailers
        /// The stored response was confirmed.
        case confirmed
        /// The load has ended, or was notified that it is over.
        case over
    }

    private(set) var phase = Phase.before
    private let isMultipart: Bool
    /// A response to HEAD announces a length, but no body follows.
    private let isHeadOnly: Bool
    private let bodyLength: Int64?
    private var expected: Int64?
    private var delivered: Int64 = 0
    private var sent: Int64 = 0

    init(isMultipart: Bool, isHeadOnly: Bool = false, bodyLength: Int64?) {
        self.isMultipart = isMultipart
        self.isHeadOnly = isHeadOnly
        self.bodyLength = bodyLength
    }

    /// Data, the most frequent event.
    mutating func data(_ count: Int) throws(PluginError) {
        guard phase == .body else { throw wrong("data", phase == .before ? "before a response" : "after the trailers") }
        let (total, overflows) = delivered.addingReportingOverflow(Int64(count))
        if overflows || total > expected ?? .max {
            throw PluginError(.badResponse, message: "the body has more than the \(expected ?? .max) bytes that its response announced")
        }
        delivered = total
    }

    mutating func response(expecting length: Int64?) throws(PluginError) {
        guard phase == .before || (phase == .body && isMultipart) else { throw wrong("a response", "after a response, or after the body") }
        if phase == .body { try checkLength() }
        phase = .body
        expected = length
        delivered = 0
    }

    /// Interim responses and redirects, which come before the response.
    func preliminary(_ what: String) throws(PluginError) {
        guard phase == .before else { throw wrong(what, "after the response") }
    }

    func question() throws(PluginError) {
        guard phase == .before || phase == .body else { throw wrong("a challenge", "after the body") }
    }

    mutating func trailers() throws(PluginError) {
        guard phase == .body else { throw wrong("trailers", "before a response, or a second time") }
        try checkLength()
        phase = .trailers
    }

    mutating func confirmation(hasStored: Bool) throws(PluginError) {
        guard phase == .before, hasStored else {
            throw wrong("a confirmation", hasStored ? "after a response" : "without a stored response")
        }
        phase = .confirmed
    }

    mutating func sent(_ total: Int64) throws(PluginError) {
        guard total >= sent, total <= bodyLength ?? .max else {
            throw PluginError(
                .unknown, message: "\(total) bytes were reported as sent, after \(sent); the total can only rise, up to the body's length")
        }
        sent = total
    }

    mutating func rewound() { sent = 0 }

    /// The plugin's load function has returned.
    mutating func finish() throws(PluginError) {
        guard phase != .before else {
            throw PluginError(.unknown, message: "the plugin's load returned without a response; deliver one, or throw what went wrong")
        }
        if phase == .body { try checkLength() }
        phase = .over
    }

    mutating func end() { phase = .over }

    private func checkLength() throws(PluginError) {
        if let expected, delivered < expected, !(isHeadOnly && delivered == 0) {
            throw PluginError(.truncated, message: "the body ended after \(delivered) of the \(expected) bytes that its response announced")
        }
    }

    private func wrong(_ what: String, _ place: String) -> PluginError {
        PluginError(.unknown, message: "the plugin delivered \(what) \(place); see the order of events in portolan/client.h")
    }
}
