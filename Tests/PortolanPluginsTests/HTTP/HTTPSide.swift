// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanPlugins
import PortolanTestSupport
import TestThreads

/// The handler of `http:` URLs: the built-in one, or the fixture behind the C contract in one of its two styles.
enum HTTPSide: CaseIterable, Sendable {
    case builtIn, blocking, eventDriven

    static let plugins: [Self] = [.blocking, .eventDriven]
}

/// A loader with the given handler for `http:`.
struct HTTPHarness: Sendable {
    let loader: Loader
    private let plugin: Plugin?
    private let builtIn = HTTPHandler(configuration: Self.plain)
    private let broken = ConditionLock<[ContractRule]>([])

    /// Registers the fixture after the built-in handler, so that it takes precedence.
    init(_ side: HTTPSide, _ change: (inout Loader.Configuration) -> Void = { _ in }) throws {
        let registry = ProtocolRegistry()
        registry.register(builtIn)
        plugin = side == .builtIn ? nil : try Fixtures.plugin("http")
        let identifier = side == .blocking ? "org.portolan.fixture.http" : "org.portolan.fixture.http.events"
        for handler in plugin?.handlers ?? [] where handler.identifier == identifier { registry.register(handler) }
        var configuration = Loader.Configuration()
        configuration.logger.logLevel = .critical
        // A test that waits for a thread of Swift's pool stalls, and its load stalls, too.
        configuration.timeouts = Timeouts()
        configuration.violationObserver = { [broken] rule, _ in broken.withLock { $0.append(rule) } }
        change(&configuration)
        loader = Loader(configuration: configuration, registry: registry)
    }

    /// A configuration that adds nothing to a request.
    private static var plain: HTTPConfiguration {
        var plain = HTTPConfiguration()
        plain.proxies = .direct
        plain.threadCount = 1
        plain.userAgent = nil
        plain.accept = nil
        plain.sendsAcceptEncoding = false
        plain.expectContinue.bodySizeThreshold = nil
        plain.expectContinue.timeout = .seconds(100)
        return plain
    }

    /// Closes the idle connections of the built-in handler.
    func closeIdleConnections() { builtIn.closeIdleConnections() }

    /// The violated rules. Waits until the plugin has no loads.
    func violations() async throws -> [ContractRule] {
        if let plugin { try await inOwnThread { plugin.waitUntilIdle() } }
        return broken.withLock { $0 }
    }
}
