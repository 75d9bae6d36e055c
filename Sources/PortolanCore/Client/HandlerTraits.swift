// SPDX-License-Identifier: Apache-2.0

/// What a handler declares about its loads.
public struct HandlerTraits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A load may deliver more than one response. Each response begins a new part.
    public static let multipart = Self(rawValue: 1 << 0)
    /// The load runs on its own thread, which may be calling the client when the load is stopped.
    public static let blocking = Self(rawValue: 1 << 1)
    /// The load runs on a shared thread or event loop, and may be calling the client, or about to, when it is stopped.
    /// `stopLoading()` then only schedules the stop. Events delivered before the stop runs are dropped.
    public static let stopsInTurn = Self(rawValue: 1 << 2)
    /// The loads send the request's `Cookie` field and deliver `Set-Cookie` fields, so the loader's stored cookies
    /// apply to them.
    public static let cookies = Self(rawValue: 1 << 3)
}
