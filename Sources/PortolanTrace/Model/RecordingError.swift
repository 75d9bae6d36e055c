// SPDX-License-Identifier: Apache-2.0

/// Why a file is no recording that can be played.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line: where, what is wrong there, and how to mend it.
    public let description: String

    package init(_ description: String) { self.description = description }
}
