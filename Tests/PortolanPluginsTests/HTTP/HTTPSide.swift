// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanPlugins
import PortolanTestSupport
import TestThreads

/// What loads `http:` URLs: the handler that is built in, or the fixture behind the C contract, in one of its two styles.
enum HTTPSide: CaseIterable, Sendable {
    case builtIn, blocking, eventDriven

    static let plugins: [Self] = [.blocking, .eventDriven]
}

/// A loader in which one side has `http:`.
struct HTTPHarness: Sendable {
    let loader: Loader
    private let plugin: Plugin?
    private let builtIn = HTTPHandler(configuration: Self.plain)
    private let broken = ConditionLock<[ContractRule]>([])

    /// The fixture is registered after the built-in handler, and so takes the scheme from it.
    init(_ side: HTTPSide, _ change: (inout Loader.Configuration) -> Void = { _ in }) throws {
        let registry = ProtocolRegistry()
        registry.register(builtIn)
        plugin = side == .builtIn ? nil : try Fixtures.plugin("http")
        let identifier = side == .blocking ? "org.portolan.fixture.http" : "org.portolan.fixture.http.events"
        for handler in plugin?.handlers ?? [] where handler.identifier == identifier { registry.register(handler) }
        var configuration = Loader.Configuration()
        configuration.logger.logLevel = .critical
        // A test that waits for a thread of Swift's stands still, and its load with it.
        configuration.timeouts = Timeouts()
        configuration.violationObserver = { [broken] rule, _ in broken.withLock { $0.append(rule) } }
        change(&configuration)
        loader = Loader(configuration: configuration, registry: registry)
    }

    /// Adds nothing of its own to a request.
    private static var plain: HTTPConfiguration {
        var plain = HTTPConfiguration()
        plain.proxies = .direct
        plain.threadCount = 1
        plain.userAgent = nil
        plain.accept = nil
        plain.asksForContentCodings = false
        plain.expectation.threshold = nil
        plain.expectation.wait = .seconds(100)
        return plain
    }

    /// Of the built-in handler.
    func closeIdleConnections() { builtIn.closeIdleConnections() }

    /// The rules that were broken, once no load of the plugin is left.
    func violations() async throws -> [ContractRule] {
        if let plugin { try await inOwnThread { plugin.waitUntilIdle() } }
        return broken.withLock { $0 }
    }
}
