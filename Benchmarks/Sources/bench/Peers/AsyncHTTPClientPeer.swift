// SPDX-License-Identifier: Apache-2.0

// The peer "AsyncHTTPClient": one client on one event loop, with as many connections as requests in flight. It competes
// with Portolan's delegate form through execute(request:delegate:), its leanest public interface, in which, as with
// Portolan, the end of a request starts the next one. It competes with awaited loads through execute(_:timeout:) and
// the body's collect(upTo:), and, as "AHC future", through the older execute(request:) with an awaited future.
// Preferring an event loop for each request, if there were several, would cost a new connection each time.

#if canImport(AsyncHTTPClient)
    import AsyncHTTPClient
    import CTally
    import NIOCore
    import NIOHTTPCompression
    import NIOPosix
    import NIOSSL
    import Synchronization

    enum AsyncHTTPClientPeer {
        static let name = "AsyncHTTPClient"
        static let nameOfFuture = "AHC future"

        /// The configuration of a client.
        private struct ClientOptions: Hashable {
            var security: HTTPTarget.Security?
            var decodes = false
        }

        // Never shut down, because they live as long as the process.
        private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        private static let clients = Mutex<[ClientOptions: HTTPClient]>([:])

        private static func client(_ options: ClientOptions) -> HTTPClient {
            clients.withLock { clients in
                if let client = clients[options] { return client }
                let client = HTTPClient(eventLoopGroup: group, configuration: configuration(options))
                clients[options] = client
                return client
            }
        }

        private static func configuration(_ options: ClientOptions) -> HTTPClient.Configuration {
            let pool = HTTPClient.Configuration.ConnectionPool(idleTimeout: .minutes(60), concurrentHTTP1ConnectionsPerHostSoftLimit: 1024)
            var configuration = HTTPClient.Configuration(
                connectionPool: pool, decompression: options.decodes ? .enabled(limit: .none) : .disabled)
            guard let security = options.security else { return configuration }
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(security.authority)
            configuration.tlsConfiguration = tls
            configuration.httpVersion = security.usesHTTP2 ? .automatic : .http1Only
            return configuration
        }

        static func chained(_ target: HTTPTarget, times: Int, inFlight count: Int = 1, amount: Int? = nil) throws -> Competitor? {
            let request = try HTTPClient.Request(url: target.url)
            let client = client(ClientOptions(security: target.security))
            return Competitor(name, amount: amount ?? times) {
                try await RequestChains.load(request, times: times, inFlight: count, with: client)
            }
        }

        /// - Parameter decodes: whether the client requests gzip and decodes it.
        static func streamed(_ target: HTTPTarget, amount: Int, decodes: Bool = false) throws -> Competitor? {
            let request = try HTTPClient.Request(url: target.url)
            let client = client(ClientOptions(security: target.security, decodes: decodes))
            return Competitor(name, amount: amount) { try await RequestChains.load(request, times: 1, inFlight: 1, with: client) }
        }

        static func awaited(_ target: HTTPTarget, times: Int, inFlight count: Int = 1) -> Competitor? {
            let request = HTTPClientRequest(url: target.url)
            let client = client(ClientOptions(security: target.security))
            return Competitor(name, amount: times) {
                try await AwaitedLoads.run(times: times, inFlight: count) {
                    let body = try await client.execute(request, timeout: .seconds(60)).body.collect(upTo: target.size)
                    return unsafe body.withUnsafeReadableBytes { unsafe bench_tally(of: RawSpan(_unsafeBytes: $0)) }
                }
            }
        }

        static func awaitedFuture(_ target: HTTPTarget, times: Int) throws -> Competitor? {
            let request = try HTTPClient.Request(url: target.url)
            let client = client(ClientOptions(security: target.security))
            return Competitor(nameOfFuture, amount: times) {
                var tally = bench_tally()
                for _ in 0..<times {
                    guard let body = try await client.execute(request: request).get().body else { continue }
                    tally += unsafe body.withUnsafeReadableBytes { unsafe bench_tally(of: RawSpan(_unsafeBytes: $0)) }
                }
                return tally
            }
        }
    }

    /// Sends requests in several concurrent chains, all on one event loop. The end of a request starts the next one.
    private final class RequestChains: @unchecked Sendable {  // … because its mutable state is used on its event loop only
        private let request: HTTPClient.Request
        private let client: HTTPClient
        private let eventLoop: any EventLoop
        private let continuation: CheckedContinuation<bench_tally, any Error>
        private var remainingCount: Int
        private var runningCount: Int
        private var tally = bench_tally()
        private var error: (any Error)?

        private init(
            _ request: HTTPClient.Request, times: Int, inFlight count: Int, _ client: HTTPClient, _ eventLoop: any EventLoop,
            _ continuation: CheckedContinuation<bench_tally, any Error>
        ) {
            (self.request, self.client, self.eventLoop, self.continuation) = (request, client, eventLoop, continuation)
            (remainingCount, runningCount) = (times, count)
        }

        /// - Returns: the tally of all bodies.
        static func load(_ request: HTTPClient.Request, times: Int, inFlight count: Int, with client: HTTPClient) async throws
            -> bench_tally
        {
            let eventLoop = client.eventLoopGroup.any()
            return try await withCheckedThrowingContinuation { continuation in
                let chains = RequestChains(request, times: times, inFlight: count, client, eventLoop, continuation)
                eventLoop.execute {
                    for _ in 0..<count { chains.loadNext() }
                }
            }
        }

        private func loadNext() {
            guard remainingCount > 0 else { return end() }
            remainingCount -= 1
            let task = client.execute(request: request, delegate: TallyingResponseDelegate(eventLoop))
            task.futureResult.whenComplete { [self] result in
                switch result {
                case .success(let body):
                    tally += body
                    loadNext()
                case .failure(let error):
                    self.error = self.error ?? error
                    remainingCount = 0
                    end()
                }
            }
        }

        private func end() {
            runningCount -= 1
            guard runningCount == 0 else { return }
            if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: tally) }
        }
    }

    /// Consumes the bytes of a response in place.
    @safe
    private final class TallyingResponseDelegate: HTTPClientResponseDelegate, @unchecked Sendable {  // … because one event loop uses it
        private let done: EventLoopFuture<Void>
        /// A pointer, as in the C peers.
        private let tally: UnsafeMutablePointer<bench_tally>

        init(_ eventLoop: any EventLoop) {
            done = eventLoop.makeSucceededVoidFuture()
            unsafe tally = .allocate(capacity: 1)
            unsafe tally.initialize(to: bench_tally())
        }

        deinit { unsafe tally.deallocate() }

        func didReceiveBodyPart(task: HTTPClient.Task<bench_tally>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
            unsafe buffer.withUnsafeReadableBytes { unsafe bench_tally_add(tally, $0.baseAddress, $0.count) }
            return done
        }

        func didFinishRequest(task: HTTPClient.Task<bench_tally>) throws -> bench_tally { unsafe tally.pointee }
    }
#else
    /// Rows leave out this peer, because the package was built without its peers (Package.swift).
    enum AsyncHTTPClientPeer {
        static let name = "AsyncHTTPClient"

        static func chained(_ target: HTTPTarget, times: Int, inFlight count: Int = 1, amount: Int? = nil) throws -> Competitor? { nil }
        static func streamed(_ target: HTTPTarget, amount: Int, decodes: Bool = false) throws -> Competitor? { nil }
        static func awaited(_ target: HTTPTarget, times: Int, inFlight count: Int = 1) -> Competitor? { nil }
        static func awaitedFuture(_ target: HTTPTarget, times: Int) throws -> Competitor? { nil }
    }
#endif
