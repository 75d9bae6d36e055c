// SPDX-License-Identifier: Apache-2.0

import Logging
package import PortolanCore

/// Loaders for tests: with these handlers, the first of which is asked first, and nothing shared.
package func loader(handlers: [any ProtocolHandler], configure: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
    var configuration = Loader.Configuration.default
    configuration.handlers = handlers
    configuration.logger.logLevel = .critical
    configure(&configuration)
    return Loader(configuration: configuration, registry: ProtocolRegistry())
}

package func loader(_ handlers: any ProtocolHandler..., configure: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
    loader(handlers: handlers, configure: configure)
}
