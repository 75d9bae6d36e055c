// SPDX-License-Identifier: Apache-2.0

/// What a handler declares about its loads.
public struct HandlerTraits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A load may deliver more than one response. Each response begins a new part.
    public static let multipart = Self(rawValue: 1 << 0)
    /// Each load runs on its own thread. The thread can be inside a call of the client when the load is stopped.
    public static let blocking = Self(rawValue: 1 << 1)
    /// Loads stop asynchronously: they run on a shared thread or event loop, and `stopLoading()` can return before the
    /// load has stopped. The client drops the events that arrive in between.
    public static let stopsAsynchronously = Self(rawValue: 1 << 2)
    /// Loads send the request's `Cookie` field and deliver `Set-Cookie` fields. The loader then adds its stored cookies
    /// to the requests of the loads, and stores the cookies of the responses.
    public static let cookies = Self(rawValue: 1 << 3)
    /// Responses can be stored: the loader looks for a stored response before it makes a load, and a load can confirm
    /// the stored response that it receives. Without this trait, the loader stores no response of the handler, whatever
    /// its storage policy.
    public static let cacheable = Self(rawValue: 1 << 4)
    /// The fields of a response say whether it may be stored, whatever its storage policy. Loads send the conditions in
    /// the fields of a request to the server, and do not confirm stored responses themselves (RFC 9111).
    package static let httpFields = Self(rawValue: 1 << 5)
}
