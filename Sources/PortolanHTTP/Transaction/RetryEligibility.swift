// SPDX-License-Identifier: Apache-2.0

/// Whether the server can have processed the request of a failed transaction. With this value, ``ResendPolicy`` decides
/// whether the request is sent again.
enum RetryEligibility: Equatable, Sendable {
    /// The server can have acted on the request, or has begun to respond.
    case possiblyProcessed
    /// No byte of a response arrived. The server can have processed the request or not. An idempotent request can be
    /// sent again (RFC 9110 §9.2.2).
    case noResponse
    /// The server reported that it did not process the request: `REFUSED_STREAM` (RFC 9113 §8.7).
    case refused
    /// The request was not sent, or the server ended the connection before it processed the request: `GOAWAY` (RFC 9113
    /// §6.8).
    ///
    /// - Parameter afterOthers: whether the connection has served, or will serve, other requests.
    case notProcessed(afterOthers: Bool)
    /// The server did not process the request, and requires HTTP/1.1: `HTTP_1_1_REQUIRED` (RFC 9113 §7).
    case needsHTTP1
}
