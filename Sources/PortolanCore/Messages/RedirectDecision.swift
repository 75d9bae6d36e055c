// SPDX-License-Identifier: Apache-2.0

/// What the caller says to a redirect.
public enum RedirectDecision: Sendable {
    /// Load this request next; usually the one that was proposed.
    case follow(Request)
    /// Deliver the redirect's own response.
    case deliver
}
