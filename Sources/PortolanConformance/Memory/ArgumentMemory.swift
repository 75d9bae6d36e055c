// SPDX-License-Identifier: Apache-2.0

/// How the memory that a plugin borrows is laid out and protected. It is always on separate pages.
enum ArgumentMemory: Hashable, Sendable {
    /// Zeros follow each struct, and writes succeed.
    case freely
    /// Each struct ends at the end of a page, before an inaccessible page.
    case flush
    /// `const` arguments cannot be written.
    case readOnly
}
