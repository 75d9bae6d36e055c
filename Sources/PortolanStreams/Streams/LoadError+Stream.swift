// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension LoadError {
    /// The `LoadError.domain` of the codes that only streams use. All other errors of streams have the published
    /// codes, such as `LoadError.Code.notFound` for a file.
    public static let streamDomain = "org.portolan.stream"

    static func stream(_ code: Code, _ message: String) -> LoadError { LoadError(code, domain: streamDomain, message: message) }
}

/// Codes in the domain `LoadError.streamDomain`.
extension LoadError.Code {
    /// The stream is not open: it was not opened, or it is closed.
    public static let streamNotOpen = Self(rawValue: 1)
    /// The stream is already used in another way: by events, by a thread that waits, or by a task.
    public static let streamInUse = Self(rawValue: 2)
    /// The buffer of fixed size has no space left.
    public static let streamFull = Self(rawValue: 3)
    /// The property does not exist for this stream, or can't be set.
    public static let streamPropertyNotSettable = Self(rawValue: 4)
}
