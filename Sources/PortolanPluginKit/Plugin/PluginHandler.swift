// SPDX-License-Identifier: Apache-2.0

/// A plugin: loads the URLs of its schemes. The host creates one instance each time that it starts the plugin.
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
/// Export it with one line, and `public import PortolanPluginKit` at the top of its file:
///
///     @_cdecl("portolan_plugin_entry") public func entry(_ major: UInt32) -> PluginEntry? { Hello.entry(major) }
public protocol PluginHandler: Sendable {
    /// The plugin's metadata. The host reads it once, when it opens the library. Must match the manifest.
    static var description: PluginDescription { get }

    /// Starts an instance. Read the settings here, and throw if they are unusable (REG-06).
    init(host: PluginHost) throws

    /// Performs one load. The load finishes when this returns, and fails when this throws: with a ``PluginError``, or
    /// with the code `unknown` for any other error.
    ///
    /// This function is a task that runs inside the host's calls into the load. It can suspend for any time, but must
    /// not block its thread. When the load is stopped, the task is cancelled, and every call of the client throws
    /// `CancellationError`. Child tasks also run inside the host's calls, one at a time. Put long computations into a
    /// detached task. Code of the main actor runs only if the program runs its main queue. The command `portolan` does
    /// not run it, so `MainActor.run` never returns there.
    func load(_ request: PluginRequest, client: PluginClient) async throws
}

/// A handler that does not accept every request of its schemes.
public protocol RequestChoosing: PluginHandler {
    /// Whether the handler loads this request. Must be fast and always return the same result for the same request. Any
    /// thread (CAN-01 to CAN-09).
    func canInit(_ request: PluginRequest) -> Bool
}

/// A handler whose requests have a canonical form, which is the key of a stored response.
public protocol RequestCanonicalizing: PluginHandler {
    /// Returns the changes that give the canonical form. `nil` if the request is canonical. Must not depend on anything
    /// but the request, and must return `nil` for its own result (CANON-01).
    func canonicalRequest(for request: PluginRequest) -> PluginRequestChanges?
}

/// A handler that decides whether a stored response matches another request. The default compares URLs.
public protocol CacheComparing: PluginHandler {
    /// Must not depend on anything but the two requests, nor on their order (CANON-04, CANON-05).
    func isCacheEquivalent(_ a: PluginRequest, to b: PluginRequest) -> Bool
}

/// The plugin's metadata.
public struct PluginDescription: Sendable {
    public enum Schemes: Sendable, ExpressibleByArrayLiteral {
        /// In lower case, without duplicates.
        case only([String])
        /// An interposer: the host offers it every request.
        case any

        public init(arrayLiteral schemes: String...) { self = .only(schemes) }
    }

    /// The identifier in reverse DNS notation, the same as in the manifest.
    public let identifier: String
    /// The names to show to people.
    public let name, vendor: String
    /// The plugin's version (Semantic Versioning).
    public let version: String
    public let schemes: Schemes
    /// Whether one load can deliver several responses, each with its data.
    public let isMultipart: Bool
    /// Whether loads send and store cookies, like loads of `http:`: the request has a `Cookie` field, and the host
    /// stores the `Set-Cookie` fields of responses and redirects. The manifest must have the permission `cookies`
    /// (MANIF-08), or the host ignores this. The host also ignores this for ``Schemes/any``.
    public let usesCookies: Bool
    /// Whether the host can store responses whose ``PluginResponse/storage`` allows it. The host then looks for a
    /// stored response before it makes a load. One that is not fresh is ``PluginClient/cachedResponse``. The host
    /// ignores this for ``Schemes/any``.
    public let isCacheable: Bool

    public init(
        identifier: String, name: String, vendor: String, version: String, schemes: Schemes, isMultipart: Bool = false,
        usesCookies: Bool = false, isCacheable: Bool = false
    ) {
        self.identifier = identifier
        self.name = name
        self.vendor = vendor
        self.version = version
        self.schemes = schemes
        self.isMultipart = isMultipart
        self.usesCookies = usesCookies
        self.isCacheable = isCacheable
    }
}
