// SPDX-License-Identifier: Apache-2.0

/// What a handler declares of its loads.
public struct HandlerTraits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// More than one response may come: each begins a new part.
    public static let multipart = Self(rawValue: 1 << 0)
    /// The load runs on a thread of its own that may be in a call on the client when the load is stopped.
    public static let blocking = Self(rawValue: 1 << 1)
    /// The load has its turns in a thread, or a loop, of others, and may be in one, or about to, when it is stopped: then `stopLoading()` leaves word there.
    /// Of what comes until the word is heard the client hears nothing.
    public static let stopsInTurn = Self(rawValue: 1 << 2)
}
