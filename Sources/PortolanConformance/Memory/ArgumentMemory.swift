// SPDX-License-Identifier: Apache-2.0

/// How a plugin borrows memory; always on separate pages.
enum ArgumentMemory: Hashable, Sendable {
    /// Zeros follow each struct, and writes succeed.
    case freely
    /// Each struct ends at the end of a page, before an inaccessible page.
    case flush
    /// `const` arguments cannot be written.
    case readOnly
}
