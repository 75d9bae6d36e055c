// SPDX-License-Identifier: Apache-2.0

/// What is known about a request whose exchange failed. ``ResendPolicy`` uses it to decide whether the request is sent
/// again.
enum RetryEligibility: Equatable, Sendable {
    /// The server may have acted on it, or has begun to respond.
    case seen
    /// No byte of a response arrived, so the server may never have seen it. An idempotent request may be sent again
    /// (RFC 9110 §9.2.2).
    case noResponse
    /// The server says that it did not process it: `REFUSED_STREAM` (RFC 9113 §8.7).
    case refused
    /// It was never sent, or the server ended the connection before it processed it: `GOAWAY` (RFC 9113 §6.8).
    ///
    /// - Parameter afterOthers: whether the connection has served other requests, or is going to.
    case notProcessed(afterOthers: Bool)
    /// The server did not process it, and requires HTTP/1.1: `HTTP_1_1_REQUIRED` (RFC 9113 §7).
    case needsHTTP1
}
