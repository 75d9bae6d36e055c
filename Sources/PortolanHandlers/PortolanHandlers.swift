// SPDX-License-Identifier: Apache-2.0

// The types that an author of a handler in Swift needs in addition to `import Portolan`: ``ProtocolHandler``,
// ``ProtocolLoad``, ``ProtocolClient``, forwarding clients, scripted loads, clocks and threads. All of them are types
// of PortolanCore. `import Portolan` exports only the types of PortolanCore that a program needs to load URLs. This
// module also declares members that only authors of handlers need. It depends on neither `http:` nor plugins.

@_exported public import HTTPTypes
@_exported public import PortolanCore

extension Body {
    /// Makes a body from a custom source.
    ///
    /// - Parameters:
    ///   - length: in bytes, if it is known. A reader with more or fewer bytes makes the load fail.
    ///   - isRewindable: whether `makeReader` can be called again, each time for a reader at the start.
    ///   - discard: called when the load is over, whether the body was read or not. No reader is made after that. Not
    ///     called for a body that can be read again.
    ///   - makeReader: returns a reader at the start. Called each time the body is sent.
    public init(
        length: Int64?, isRewindable: Bool, discard: (@Sendable () -> Void)? = nil,
        makeReader: @escaping @Sendable () throws(LoadError) -> any BodyReader
    ) {
        self.init(length: length, isRewindable: isRewindable, discard: discard, open: makeReader)
    }

    /// Returns a reader at the first byte. The reader fails if it has more or fewer bytes than `length`.
    ///
    /// - Throws: `LoadError.Code.bodyFailed` if the body cannot be opened, and for the second reader of a body that
    ///   is not rewindable.
    public func openReader() throws(LoadError) -> any BodyReader { try makeReader() }
}

extension Loader.Configuration {
    /// The clock for timeouts and metrics. Tests replace it.
    public var loadClock: any LoadClock {
        get { clock }
        set { clock = newValue }
    }

    /// Receives each violation of the contract, also violations after a load's end, which cannot fail the load. Called
    /// on any thread. The logger logs only the first violation of each load, and the number of its other violations
    /// when the load is released.
    public var onViolation: (@Sendable (_ rule: ContractRule, _ handler: String) -> Void)? {
        get { violationObserver }
        set { violationObserver = newValue }
    }
}

extension LoadError {
    /// The rule that a handler violated, if the core reports `LoadError.Code.protocolViolation`; otherwise `nil`.
    public var violatedRule: ContractRule? { rule }
}
