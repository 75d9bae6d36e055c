// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanPlugins
import PortolanTestSupport
import TestThreads

/// The handler of `http:` URLs: the built-in one, or the fixture behind the C contract in one of its two styles.
enum HTTPHandlerKind: CaseIterable, Sendable {
    case builtIn, blocking, eventDriven

    static let plugins: [Self] = [.blocking, .eventDriven]
}

/// A loader with the given handler for `http:`.
struct HTTPHarness: Sendable {
    let loader: Loader
    private let plugin: Plugin?
    private let builtIn = HTTPHandler(configuration: Self.plainConfiguration)
    private let violatedRules = ConditionLock<[ContractRule]>([])

    /// Registers the fixture after the built-in handler, so that it takes precedence.
    init(_ handlerKind: HTTPHandlerKind, _ change: (inout Loader.Configuration) -> Void = { _ in }) throws {
        let registry = ProtocolRegistry()
        registry.register(builtIn)
        plugin = handlerKind == .builtIn ? nil : try Fixtures.plugin("http")
        let identifier = handlerKind == .blocking ? "org.portolan.fixture.http" : "org.portolan.fixture.http.events"
        for handler in plugin?.handlers ?? [] where handler.identifier == identifier { registry.register(handler) }
        var configuration = Loader.Configuration()
        configuration.logger.logLevel = .critical
        // No time limits, because a test can wait long for a thread of Swift's pool, and its load then waits, too.
        configuration.timeouts = Timeouts()
        configuration.violationObserver = { [violatedRules] rule, _ in violatedRules.withLock { $0.append(rule) } }
        change(&configuration)
        loader = Loader(configuration: configuration, registry: registry)
    }

    /// A configuration that adds nothing to a request.
    private static var plainConfiguration: HTTPConfiguration {
        var plainConfiguration = HTTPConfiguration()
        plainConfiguration.proxies = .direct
        plainConfiguration.threadCount = 1
        plainConfiguration.userAgent = nil
        plainConfiguration.accept = nil
        plainConfiguration.sendsAcceptEncoding = false
        plainConfiguration.expectContinue.bodySizeThreshold = nil
        plainConfiguration.expectContinue.timeout = .seconds(100)
        return plainConfiguration
    }

    /// Closes the idle connections of the built-in handler.
    func closeIdleConnections() { builtIn.closeIdleConnections() }

    /// The rules that were violated so far. Waits until the plugin has no loads.
    func violations() async throws -> [ContractRule] {
        if let plugin { try await inOwnThread { plugin.waitUntilIdle() } }
        return violatedRules.withLock { $0 }
    }
}
