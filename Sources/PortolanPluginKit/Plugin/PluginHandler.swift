// SPDX-License-Identifier: Apache-2.0

/// A plugin: what answers for its schemes. One instance for each time that a host starts it.
///
///     struct Hello: PluginHandler {
///         static let description = PluginDescription(
///             identifier: "org.example.hello", name: "Hello", vendor: "Example", version: "1.0.0", schemes: ["hello"])
///
///         init(host: PluginHost) {}
///
///         func load(_ request: PluginRequest, client: PluginClient) async throws {
///             try await client.didReceive(PluginResponse(mimeType: "text/plain"))
///             try await client.didLoad("Hello, \(request.host ?? "world")")
///         }
///     }
///
/// exported by one line, with `public import PortolanPluginKit` at the head of its file:
///
///     @_cdecl("portolan_plugin_entry") public func entry(_ major: UInt32) -> PluginEntry? { Hello.entry(major) }
public protocol PluginHandler: Sendable {
    /// Read once, when the host opens the library; the same as in the manifest.
    static var description: PluginDescription { get }

    /// Starts an instance. Reads the settings, and refuses what it can't use by throwing (REG-06).
    init(host: PluginHost) throws

    /// One load, whole: returning is its finish, throwing its failure (``PluginError``, or anything: then with the code `unknown`).
    ///
    /// It runs as a task, in the host's calls into the load: it may suspend for as long as it likes, and must not block its thread. When
    /// nobody wants the rest, the task is cancelled, and every call of the client throws `CancellationError`. Child tasks of its own run
    /// there too, one at a time; what computes for long belongs into a detached task. What is isolated to the main actor runs only where the program
    /// runs its main queue; the command `portolan` does not, and there `MainActor.run` never returns.
    func load(_ request: PluginRequest, client: PluginClient) async throws
}

/// A handler that does not take every request of its schemes.
public protocol RequestChoosing: PluginHandler {
    /// Pure and fast; any thread (CAN-01 to CAN-09).
    func canInit(_ request: PluginRequest) -> Bool
}

/// A handler whose stored responses have another key than the request.
public protocol RequestCanonicalizing: PluginHandler {
    /// How the canonical form differs; `nil` where the request is canonical. Pure; canonical of canonical is the same (CANON-01).
    func canonicalRequest(for request: PluginRequest) -> PluginChange?
}

/// A handler that knows better than by equal URLs whether a stored response serves another request.
public protocol CacheComparing: PluginHandler {
    /// Pure, and the same both ways round (CANON-04, CANON-05).
    func isCacheEquivalent(_ a: PluginRequest, to b: PluginRequest) -> Bool
}

/// What a plugin says of itself.
public struct PluginDescription: Sendable {
    public enum Schemes: Sendable, ExpressibleByArrayLiteral {
        /// In lower case, each once.
        case only([String])
        /// An interposer, asked about every request.
        case any

        public init(arrayLiteral schemes: String...) { self = .only(schemes) }
    }

    /// Reverse DNS; the same as in the manifest.
    public let identifier: String
    /// For people.
    public let name, vendor: String
    /// Semantic Versioning.
    public let version: String
    public let schemes: Schemes
    /// Several responses may come in one load, each with its data.
    public let isMultipart: Bool

    public init(identifier: String, name: String, vendor: String, version: String, schemes: Schemes, isMultipart: Bool = false) {
        self.identifier = identifier
        self.name = name
        self.vendor = vendor
        self.version = version
        self.schemes = schemes
        self.isMultipart = isMultipart
    }
}
