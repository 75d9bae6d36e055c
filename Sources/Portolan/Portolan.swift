// SPDX-License-Identifier: Apache-2.0

@_exported public import HTTPTypes
@_exported public import PortolanCore
import PortolanData
import PortolanFile
@_exported public import PortolanPlugins

extension ProtocolRegistry {
    /// The registry of loaders that name no other, with the built-in handlers for `data:` and `file:` in it. What is registered here is asked
    /// before them.
    public static let shared: ProtocolRegistry = {
        let registry = ProtocolRegistry()
        registry.register(FileHandler())
        registry.register(DataHandler())
        return registry
    }()
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
