// SPDX-License-Identifier: Apache-2.0

import PortolanCookies
import PortolanHSTS
public import PortolanCore
import PortolanData
import PortolanFile
public import PortolanHTTP
public import PortolanPlugins

extension ProtocolRegistry {
    /// The default registry: the built-in handlers, and in front of them the installed plugins
    /// (`PluginCatalogue.shared`). What is registered here is asked before all of them.
    public static let shared = sharedWithPlugins.registry

    /// The installed plugins in ``shared``, by which they can be reloaded.
    public static let sharedPlugins = sharedWithPlugins.plugins

    private static let sharedWithPlugins: (registry: ProtocolRegistry, plugins: [RegisteredPlugin]) = {
        let registry = builtIn()
        return (registry, PluginCatalogue.shared.register(in: registry))
    }()

    /// A registry of its own with the handlers for `data:`, `file:`, `http:` and `https:`, and no plugins.
    ///
    ///     let loader = Loader(configuration: .default, registry: .builtIn())
    ///
    /// - Parameter http: the handler for `http:` and `https:`, for a configuration other than the default.
    public static func builtIn(http: HTTPHandler = HTTPHandler()) -> ProtocolRegistry {
        let registry = ProtocolRegistry()
        registry.register(http)
        registry.register(FileHandler())
        registry.register(DataHandler())
        return registry
    }
}

extension PluginCatalogue {
    /// The plugins that were installed when they were first asked for, in the standard folders.
    public static let shared = PluginCatalogue()
}

extension Loader.Configuration {
    /// Settings with the cookies, the credentials and the HSTS hosts that all loaders of this process share.
    public static var `default`: Self {
        var configuration = Self()
        configuration.cookies = .shared
        configuration.credentials = .shared
        configuration.strictTransportSecurity = .shared
        return configuration
    }

    /// Settings with their own cookies, credentials and HSTS hosts, in memory. Loaders that are made with the same
    /// value share them.
    public static var ephemeral: Self {
        var configuration = Self()
        configuration.cookies = CookieStorage()
        configuration.credentials = CredentialStorage()
        configuration.strictTransportSecurity = HSTSStorage()
        return configuration
    }
}

extension Loader {
    /// A loader with the default configuration and the shared handlers.
    ///
    ///     import Portolan
    ///     let (body, response) = try await Loader.shared.data(from: "file:///etc/hostname")
    public static let shared = Loader()

    /// A loader that shares the handlers of ``ProtocolRegistry/shared``.
    public convenience init(configuration: Configuration = .default) {
        self.init(configuration: configuration, registry: .shared)
    }
}
