// SPDX-License-Identifier: Apache-2.0

/// Enforces the order of one load's events. The host enforces the order too, but it can only end the load. This state
/// machine throws an error from the wrong call of the plugin, before the host receives the event.
///
///     beforeResponse → body → trailers → ended
///        └────────── confirmed ─────────┘
///
/// Each error names the broken rule of the contract, the call, and what to do instead.
struct PluginEventStateMachine {
    enum Phase: Hashable {
        case beforeResponse
        case body
        case trailers
        /// The load has confirmed the stored response.
        case confirmed
        /// The load has ended, or the host has stopped it.
        case ended
    }

    private(set) var phase = Phase.beforeResponse
    private let isMultipart: Bool
    /// Whether the method is HEAD. The response then announces a length, but no body follows.
    private let isHeadOnly: Bool
    /// The length of the upload body in bytes; `nil` if it is unknown.
    private let uploadLength: Int64?
    private var expectedLength: Int64?
    private var deliveredLength: Int64 = 0
    /// The last total that the load reported as sent.
    private var sentLength: Int64 = 0

    init(isMultipart: Bool, isHeadOnly: Bool = false, uploadLength: Int64?) {
        self.isMultipart = isMultipart
        self.isHeadOnly = isHeadOnly
        self.uploadLength = uploadLength
    }

    /// Records data, the most frequent event.
    mutating func recordData(_ count: Int) throws(PluginError) {
        guard phase == .body else { throw misplacedData }
        let (total, overflows) = deliveredLength.addingReportingOverflow(Int64(count))
        if overflows || total > expectedLength ?? .max {
            throw Self.violation(
                "BODY-02", "the body has more bytes than PluginResponse.expectedLength (\(expectedLength ?? .max))",
                "give the right length, or nil", .badResponse)
        }
        deliveredLength = total
    }

    private var misplacedData: PluginError {
        switch phase {
        case .confirmed:
            Self.violation(
                "CACHE-03", "didLoad was called after cachedResponseIsValid",
                "deliver no data, because the host delivers the stored body")
        case .trailers:
            Self.violation("ORDER-13", "didLoad was called after didReceiveTrailers", "deliver all data before the trailers")
        case .beforeResponse, .body, .ended:
            Self.violation("ORDER-01", "didLoad was called before didReceive", "call didReceive with a PluginResponse first")
        }
    }

    mutating func recordResponse(expectedLength: Int64?) throws(PluginError) {
        switch phase {
        case .beforeResponse: break
        case .body:
            guard isMultipart else {
                throw Self.violation(
                    "ORDER-08", "didReceive was called twice", "deliver one response, or set isMultipart in the PluginDescription")
            }
            try checkLength()
        case .confirmed:
            throw Self.violation(
                "CACHE-02", "didReceive was called after cachedResponseIsValid", "either confirm the stored response or deliver another one"
            )
        case .trailers, .ended:
            throw Self.violation("ORDER-13", "didReceive was called after didReceiveTrailers", "deliver trailers after the last response")
        }
        phase = .body
        self.expectedLength = expectedLength
        deliveredLength = 0
    }

    /// Checks a call that must come before the response: `didReceiveInterim` or `wasRedirected`.
    func checkBeforeResponse(_ call: String) throws(PluginError) {
        switch phase {
        case .beforeResponse: break
        case .body, .trailers, .ended:
            throw Self.violation("ORDER-13", "\(call) was called after didReceive", "call \(call) before the response")
        case .confirmed:
            throw Self.violation(
                "ORDER-13", "\(call) was called after cachedResponseIsValid", "call \(call) before the confirmation")
        }
    }

    func checkChallenge() throws(PluginError) {
        switch phase {
        case .beforeResponse, .body: break
        case .trailers, .confirmed, .ended:
            throw Self.violation(
                "ORDER-13", "didReceiveChallenge was called after \(phase == .confirmed ? "cachedResponseIsValid" : "didReceiveTrailers")",
                "send challenges before the response or during the body")
        }
    }

    mutating func recordTrailers() throws(PluginError) {
        switch phase {
        case .body: break
        case .beforeResponse:
            throw Self.violation(
                "ORDER-01", "didReceiveTrailers was called before didReceive", "call didReceive with a PluginResponse first")
        case .confirmed:
            throw Self.violation(
                "CACHE-03", "didReceiveTrailers was called after cachedResponseIsValid", "finish the load after the confirmation")
        case .trailers, .ended:
            throw Self.violation("ORDER-13", "didReceiveTrailers was called twice", "deliver all trailer fields in one call")
        }
        try checkLength()
        phase = .trailers
    }

    /// - Parameter hasStoredResponse: whether the host has offered a stored response.
    mutating func recordConfirmation(hasStoredResponse: Bool) throws(PluginError) {
        guard hasStoredResponse else {
            throw Self.violation(
                "ORDER-10", "cachedResponseIsValid was called without a stored response", "call it only if cachedResponse is not nil")
        }
        switch phase {
        case .beforeResponse: break
        case .confirmed:
            throw Self.violation("ORDER-13", "cachedResponseIsValid was called twice", "call it once")
        case .body, .trailers, .ended:
            throw Self.violation(
                "CACHE-02", "cachedResponseIsValid was called after didReceive", "either confirm the stored response or deliver another one"
            )
        }
        phase = .confirmed
    }

    mutating func recordSent(_ total: Int64) throws(PluginError) {
        guard total >= sentLength, total <= uploadLength ?? .max else {
            let limit = uploadLength.map { ", and is at most the body's \($0) bytes" } ?? ""
            throw Self.violation(
                "ORDER-09", "didSend was called with a total of \(total) bytes after \(sentLength)",
                "report the number of bytes that were sent since the start of the body; it never falls\(limit)")
        }
        sentLength = total
    }

    mutating func recordRewind() { sentLength = 0 }

    /// Ends the load after the plugin's load function has returned.
    mutating func finish() throws(PluginError) {
        guard phase != .beforeResponse else {
            throw Self.violation(
                "ORDER-01", "the plugin's load function returned without a response",
                "call didReceive with a PluginResponse, or throw a PluginError")
        }
        if phase == .body { try checkLength() }
        phase = .ended
    }

    /// Ends the load without a check: it failed or was stopped.
    mutating func end() { phase = .ended }

    private func checkLength() throws(PluginError) {
        if let expectedLength, deliveredLength < expectedLength, !(isHeadOnly && deliveredLength == 0) {
            throw Self.violation(
                "BODY-02", "the body has \(deliveredLength) bytes, fewer than PluginResponse.expectedLength (\(expectedLength))",
                "deliver all bytes, or throw a PluginError if the source ended early", .truncated)
        }
    }

    /// - Parameters:
    ///   - rule: the ID of the broken rule, such as `ORDER-01`.
    ///   - mistake: what the plugin did, with the name of the call.
    ///   - remedy: what to do instead.
    static func violation(_ rule: String, _ mistake: String, _ remedy: String, _ code: PluginError.Code = .unknown) -> PluginError {
        PluginError(code, message: "\(mistake), which breaks \(rule); \(remedy)")
    }
}
