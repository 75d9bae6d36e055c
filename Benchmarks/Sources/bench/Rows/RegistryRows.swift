// SPDX-License-Identifier: Apache-2.0

import CTally
@_spi(Benchmarks) import Portolan
import PortolanHandlers

/// Measures the look-up of the handler for a load among handlers with schemes. It includes all parts of the look-up:
/// the handlers of the loader, loop guards, `canInit`, and the count of the handler's loads.
enum RegistryRows {
    private static let times = 200_000

    static func ofTen(_ fixture: Fixture) throws -> Row {
        Row(
            unit: .nanoseconds, subject: try competitor("portolan", handlers: 10), peers: [try dictionary(entries: 10)],
            budget: .atMost(200, .nanoseconds))
    }

    static func ofTenThousand(_ fixture: Fixture) throws -> Row {
        Row(
            unit: .nanoseconds, subject: try competitor("portolan", handlers: 10_000),
            peers: [try competitor("of 10", handlers: 10), try dictionary(entries: 10_000)],
            budget: .atMost(200, .nanoseconds).and(.atMost(1.25, of: "of 10")))
    }

    /// Looks up the handlers of ten requests in turn.
    private static func competitor(_ name: String, handlers count: Int) throws -> Competitor {
        let registry = ProtocolRegistry()
        for index in 0..<count { registry.register(SilentHandler(scheme: "s\(index)")) }
        let loader = Loader(configuration: .init(), registry: registry)
        let requests = try (0..<10).map { try Request("s\($0 * (count / 10))://host/path") }
        return Competitor(name, amount: times) {
            for index in 0..<times { try loader.lookUp(requests[index % requests.count]) }
            return bench_tally()
        }
    }

    /// The raw loop: one access to a dictionary by scheme, which every registry needs.
    private static func dictionary(entries count: Int) throws -> Competitor {
        let handlers = Dictionary(uniqueKeysWithValues: (0..<count).map { ("s\($0)", SilentHandler(scheme: "s\($0)")) })
        let schemes = (0..<10).map { "s\($0 * (count / 10))" }
        return Competitor("dictionary", amount: times) {
            for index in 0..<times where handlers[schemes[index % schemes.count]] == nil {
                throw MeasurementError("the dictionary has no entry for a scheme")
            }
            return bench_tally()
        }
    }
}

private struct SilentHandler: ProtocolHandler {
    let identifier: String
    let schemes: SchemeSet

    init(scheme: String) {
        identifier = "org.portolan.bench." + scheme
        schemes = .only([scheme])
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ScriptedLoad([.response(Response(url: request.url)), .finish], client: client)
    }
}
