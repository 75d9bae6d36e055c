// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

/// A loader with a cache and a server whose events the test sends one by one. Everything happens on the test's thread.
struct ManualWorld: Sendable {
    let origin: ManualHandler
    let clock = ManualClock()
    /// The time of the rules, which does not advance with ``clock``.
    let time = CachingWorld.Clock()
    let store: any CacheStore
    let cache: ResponseCache
    let loader: Loader

    /// - Parameter onTime: called each time that the rules ask for the time.
    init(
        _ store: any CacheStore = MemoryCacheStore(byteLimit: 32 << 20), onTime: @escaping @Sendable () -> Void = {},
        _ change: (inout Loader.Configuration) -> Void = { _ in }
    ) {
        origin = ManualHandler(schemes: .only(["http"]), traits: [.cacheable, .httpFields, .stopsAsynchronously])
        self.store = store
        cache = ResponseCache(store: store) { [time] in
            onTime()
            return time.now
        }
        var configuration = Loader.Configuration()
        configuration.cache = cache
        configuration.handlers = [origin]
        configuration.clock = clock
        change(&configuration)
        loader = Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// Starts a load.
    @discardableResult
    func start(
        _ load: CacheTestLoad = CacheTestLoad(), at url: String = "http://host.example/a", method: HTTPRequest.Method = .get,
        fields: HTTPFields = HTTPFields(), on queue: DeliveryQueue = .immediate, change: (inout Request) -> Void = { _ in }
    ) throws -> CacheTestLoad {
        var request = try Request(url, method: method, fields: fields)
        change(&request)
        let task = loader.task(for: request, delegate: load, on: queue)
        load.task.withLock { $0 = task }
        task.resume()
        return load
    }

    /// The loads that the server has received.
    var sent: [ManualLoad] { origin.loads }

    /// The load that the server has received after `index` others.
    func load(_ index: Int) throws -> ManualLoad { try #require(sent.dropFirst(index).first, "no load \(index) was sent") }

    /// All entries for a URL.
    func entries(_ url: String = "http://host.example/a") throws -> [CacheEntry] {
        try CacheStoreFixtures.entries(url, in: AnyStore(store: store))
    }
}

/// `some CacheStore` for a store whose type is not known.
struct AnyStore: CacheStore {
    let store: any CacheStore
    func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) { store.lookUp(key, completion) }
    func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? { store.openWriter(opening) }
    func update(_ id: CacheEntry.ID, to stored: StoredResponse) { store.update(id, to: stored) }
    func remove(_ selection: CacheSelection) { store.remove(selection) }
}

extension ManualLoad {
    /// Sends the head of a response, with its fields as lines.
    @discardableResult
    func respond(_ status: Int = 200, _ lines: String..., length: Int64? = nil) -> Flow {
        var response = Response(url: request.url, expectedLength: length, status: HTTPResponse.Status(code: status))
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            if let name = HTTPField.Name(String(parts[0])) {
                response.fields.append(HTTPField(name: name, value: parts[1].trimmingPrefix(" ").description))
            }
        }
        return client.didReceive(response, storage: .allowed)
    }

    func fail(_ code: LoadError.Code = .connectionLost) { client.didFail(with: LoadError(code, message: "cut")) }
    var isStopped: Bool { calls.contains(.stop) }
}

/// The delegate of a load, and what it has received.
class CacheTestLoad: LoadDelegate, @unchecked Sendable {  // … because subclasses have only constants
    struct Received {
        var response: Response?
        var body: [UInt8] = []
        var hasEnded = false
        var error: LoadError?
    }

    private let state = Mutex(Received())
    let task = Mutex<LoadTask?>(nil)

    var received: Received { state.withLock { $0 } }
    var body: String { String(decoding: received.body, as: UTF8.self) }
    var isComplete: Bool { received.hasEnded && received.error == nil }
    var isCollapsed: Bool { if case .forward(let forward) = received.response?.cacheStatus?.source { forward.isCollapsed } else { false } }

    /// The field `Cache-Status` for the response.
    var cacheStatus: String? { received.response?.cacheStatus.map { CacheStatus.fieldValue([$0]) } }

    func cancel() { task.withLock { $0 }?.cancel() }
    func resume() { task.withLock { $0 }?.resume() }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        state.withLock { $0.response = response }
        return flow(after: response)
    }
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        let octets = [UInt8](copying: bytes)
        state.withLock { $0.body += octets }
        return flow(after: octets)
    }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        state.withLock { ($0.hasEnded, $0.error) = (true, error) }
    }

    func flow(after response: Response) -> Flow { .keepGoing }
    func flow(after octets: [UInt8]) -> Flow { .keepGoing }
    func loadTask(
        _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
    ) { decide(response) }
}

/// Pauses after each piece of the body.
final class PausingTestLoad: CacheTestLoad, @unchecked Sendable {  // … because it has no state
    override func flow(after octets: [UInt8]) -> Flow { .pause }
}
