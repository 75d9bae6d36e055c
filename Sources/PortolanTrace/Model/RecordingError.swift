// SPDX-License-Identifier: Apache-2.0

/// The reason why a file is no recording that can be replayed.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line: the location, the problem, and how to correct it.
    public let description: String

    package init(_ description: String) { self.description = description }
}
