// SPDX-License-Identifier: Apache-2.0

/// The caller's decision about a redirect.
public enum RedirectDecision: Sendable {
    /// Load this request next, usually the proposed request.
    case follow(Request)
    /// Deliver the redirect response.
    case deliver
}
