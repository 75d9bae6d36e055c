// SPDX-License-Identifier: Apache-2.0

/// What is known of a request whose exchange failed: by it ``ResendPolicy`` decides whether the request is sent again.
enum RetryEligibility: Equatable, Sendable {
    /// The server may have acted on it, or has begun to answer.
    case seen
    /// Not one byte of an answer came: a server may never have seen it. An idempotent one may be sent again (RFC 9110 §9.2.2).
    case unanswered
    /// The server says that it did nothing with it: `REFUSED_STREAM` (RFC 9113 §8.7).
    case refused
    /// It never left, or the server ended the connection before it came to it: `GOAWAY` (RFC 9113 §6.8).
    ///
    /// - Parameter afterOthers: whether the connection served others, or is to.
    case notProcessed(afterOthers: Bool)
    /// The server did nothing with it, and wants it over HTTP/1.1: `HTTP_1_1_REQUIRED` (RFC 9113 §7).
    case needsHTTP1
}
