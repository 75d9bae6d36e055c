// SPDX-License-Identifier: Apache-2.0

import PortolanCache
import PortolanCookies
import PortolanHSTS
public import PortolanCore
import PortolanData
import PortolanFile
public import PortolanHTTP
public import PortolanPlugins

extension ProtocolRegistry {
    /// The default registry. It contains the built-in handlers and the installed plugins (`PluginCatalogue.shared`).
    /// Plugins take precedence over built-in handlers. A handler that you register here takes precedence over both.
    public static let shared = sharedRegistryAndPlugins.registry

    /// The plugins in ``shared``. Use them to reload a plugin.
    public static let sharedPlugins = sharedRegistryAndPlugins.plugins

    private static let sharedRegistryAndPlugins: (registry: ProtocolRegistry, plugins: [RegisteredPlugin]) = {
        let registry = withBuiltInHandlers()
        return (registry, PluginCatalogue.shared.register(in: registry))
    }()

    /// Makes a registry with the handlers for `data:`, `file:`, `http:` and `https:`, and no plugins.
    ///
    ///     let loader = Loader(configuration: .default, registry: .withBuiltInHandlers())
    ///
    /// - Parameter http: the handler for `http:` and `https:`.
    public static func withBuiltInHandlers(http: HTTPHandler = HTTPHandler()) -> ProtocolRegistry {
        let registry = ProtocolRegistry()
        registry.register(http)
        registry.register(FileHandler())
        registry.register(DataHandler())
        return registry
    }
}

extension Loader.Configuration {
    /// A configuration with `CookieStorage.shared`, `CredentialStorage.shared` and `HSTSStorage.shared`.
    public static var `default`: Self {
        var configuration = Self()
        configuration.cookies = .shared
        configuration.credentials = .shared
        configuration.strictTransportSecurity = .shared
        return configuration
    }

    /// A configuration with new, empty storages for cookies, credentials and HSTS hosts, in memory. Loaders that are
    /// made with the same value share them.
    public static var ephemeral: Self {
        var configuration = Self()
        configuration.cookies = CookieStorage()
        configuration.credentials = CredentialStorage()
        configuration.strictTransportSecurity = HSTSStorage()
        return configuration
    }
}

extension Loader.Configuration {
    /// Whether each top-level site has its own part of the cache, so that a site can't find out what another one has
    /// loaded. `false` by default.
    ///
    /// The site is that of `Request.mainDocumentURL` or, without one, that of the request's own URL. Documents
    /// without a host share a part.
    ///
    /// Fetch, "determine the HTTP cache partition"
    public var partitionsCacheBySite: Bool {
        get { cachePartition != nil }
        set {
            guard newValue else { return cachePartition = nil }
            cachePartition = { request in
                let document = request.mainDocumentURL ?? request.url
                return Site(document)?.description ?? "null"
            }
        }
    }
}

extension Loader {
    /// A loader with the default configuration and the handlers of ``ProtocolRegistry/shared``.
    ///
    ///     import Portolan
    ///     let (body, response) = try await Loader.shared.data(from: "file:///etc/hostname")
    public static let shared = Loader()

    /// Makes a loader with the handlers of ``ProtocolRegistry/shared``.
    ///
    /// - Parameters:
    ///   - configuration: the settings of the loader, which it copies.
    ///   - delegate: receives the events of tasks without a delegate of their own, and the end of the loader.
    public convenience init(configuration: Configuration = .default, delegate: (any LoaderDelegate)? = nil) {
        self.init(configuration: configuration, registry: .shared, delegate: delegate)
    }

    /// Removes all cookies, credentials and stored responses of this loader's storages. Loaders with the same storages
    /// lose them, too. HSTS hosts stay, because without them the next request could be sent in clear text.
    ///
    /// Returns when the removals of a cache on disk are on disk.
    public func reset() async {
        configuration.cookies?.removeAll()
        configuration.credentials?.removeAll()
        configuration.cache?.removeAll()
        await flush()
    }

    /// Waits until the responses that a cache on disk stores are on disk. For cookies, credentials and HSTS hosts on
    /// disk, call `StateFolder.flush()`.
    public func flush() async { await configuration.cache?.flush() }
}
