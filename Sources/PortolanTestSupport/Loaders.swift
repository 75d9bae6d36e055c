// SPDX-License-Identifier: Apache-2.0

import Logging
package import PortolanCore

/// Makes a loader for tests that has only these handlers, and shares nothing with other loaders. The first handler has
/// precedence.
package func loader(handlers: [any ProtocolHandler], configure: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
    var configuration = Loader.Configuration()
    configuration.handlers = handlers
    configuration.logger.logLevel = .critical
    configure(&configuration)
    return Loader(configuration: configuration, registry: ProtocolRegistry())
}

package func loader(_ handlers: any ProtocolHandler..., configure: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
    loader(handlers: handlers, configure: configure)
}
