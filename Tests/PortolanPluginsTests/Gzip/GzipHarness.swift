// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import PortolanCore
import PortolanData
import PortolanPlugins
import PortolanTestSupport

/// A loader with the gzip plugin and a handler for `nestedHandler:` URLs.
struct GzipHarness {
    let plugin: Plugin
    let loader: Loader
    private let violatedRules = ConditionLock<[ContractRule]>([])

    init(_ nestedHandler: any ProtocolHandler, settings: String = "{}", change: (inout Loader.Configuration) -> Void = { _ in }) throws {
        plugin = try Fixtures.plugin("gzip", PluginConfiguration(json: settings))
        let registry = ProtocolRegistry()
        for handler in [nestedHandler, DataHandler()] + plugin.handlers { registry.register(handler) }
        var configuration = Loader.Configuration()
        configuration.logger.logLevel = .critical
        configuration.violationObserver = { [violatedRules] rule, _ in violatedRules.withLock { $0.append(rule) } }
        change(&configuration)
        loader = Loader(configuration: configuration, registry: registry)
    }

    init(_ pieces: [[UInt8]], settings: String = "{}") throws {
        try self.init(
            PortolanTestSupport.StubHandler(schemes: .only(["inner"])) { _ in .pieces(pieces) }, settings: settings)
    }

    /// The rules that were violated so far. Waits until no load of the plugin is open.
    var violations: [ContractRule] {
        plugin.waitUntilIdle()
        return violatedRules.withLock { $0 }
    }

    /// Loads `url` and returns the body.
    func load(_ url: String = "gzip:inner:x") -> Result<[UInt8], LoadError> {
        Result { () throws(LoadError) in
            let (body, _) = try loader.waitForData(for: Request(url))
            return unsafe body.withUnsafeBytes { unsafe Array($0) }
        }
    }

    func response(to request: Request) throws(LoadError) -> Response {
        try loader.waitForData(for: request).1
    }
}

extension Result where Failure == LoadError {
    var error: LoadError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}

extension Array where Element == UInt8 {
    func pieces(of count: Int) -> [[UInt8]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}

extension LoadError {
    /// The codes of the error and of its causes.
    var codes: [Code] {
        [code] + ((underlyingError as? LoadError)?.codes ?? [])
    }
}
