// SPDX-License-Identifier: Apache-2.0

/// How a plugin is lent memory: in pages of its own, always.
enum ArgumentMemory: Hashable, Sendable {
    /// With zeros behind each struct, and nothing that stops who writes.
    case freely
    /// Each struct ends where a page ends, before one that nobody may touch.
    case flush
    /// What is `const` can't be written.
    case readOnly
}
