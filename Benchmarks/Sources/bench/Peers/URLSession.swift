// SPDX-License-Identifier: Apache-2.0

// The peer "URLSession": Foundation's loader on Linux, with a session without a cache, and one with a cache for each
// row of the cache. In most rows a load is an awaited `data(from:)`, with the whole body in memory. Large bodies
// stream to a delegate. Concurrent loads are data tasks with completion handlers, each of which starts the next one. A
// data: URL is parsed from text for each load, as Portolan does. URLSession has no file: here.

import CTally
import Foundation
import FoundationNetworking
import Synchronization

enum URLSessionPeer {
    static let name = "URLSession"

    static let configuration = makeConfiguration(cache: nil)

    private static func makeConfiguration(cache: URLCache?) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = 1024
        return configuration
    }

    private static let session = URLSession(configuration: configuration)

    enum Cache {
        case none
        case inMemory
        case onDisk(folder: String)
    }

    private static func session(_ cache: Cache) -> URLSession {
        switch cache {
        case .none: session
        case .inMemory:
            URLSession(configuration: makeConfiguration(cache: URLCache(memoryCapacity: 64 << 20, diskCapacity: 0, diskPath: nil)))
        case .onDisk(let folder):
            URLSession(configuration: makeConfiguration(cache: URLCache(memoryCapacity: 0, diskCapacity: 64 << 20, diskPath: folder)))
        }
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw MeasurementError("Foundation does not parse \(text.prefix(40)) as a URL") }
        return url
    }

    static func load(_ text: String) async throws -> bench_tally {
        let (body, _) = try await session.data(from: Self.url(text))
        return bench_tally(of: body.bytes)
    }

    /// `times` loads, one after another.
    static func competitor(loading text: String, times: Int, amount: Int) -> Competitor {
        Competitor(name, amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times { tally += try await load(text) }
            return tally
        }
    }

    static func chained(_ target: HTTPTarget, times: Int, inFlight count: Int, cache: Cache = .none) throws -> Competitor {
        let (url, session) = (try Self.url(target.url), session(cache))
        return Competitor(name, amount: times) {
            try await withCheckedThrowingContinuation { continuation in
                let chains = DataTaskChains(url, times: times, inFlight: count, session, continuation)
                for _ in 0..<count { chains.loadNext() }
            }
        }
    }

    /// One load that streams to a delegate.
    static func streamed(_ target: HTTPTarget, amount: Int) throws -> Competitor {
        let url = try Self.url(target.url)
        return Competitor(name, amount: amount) { try await CountingDelegate.load(url) }
    }
}

/// Runs data tasks one after another, several at a time.
private final class DataTaskChains: Sendable {
    private struct State {
        var remainingCount: Int
        var runningCount: Int
        var tally = bench_tally()
        var error: (any Error)?
    }

    private let url: URL
    private let session: URLSession
    private let state: Mutex<State>
    private let continuation: CheckedContinuation<bench_tally, any Error>

    init(
        _ url: URL, times: Int, inFlight count: Int, _ session: URLSession, _ continuation: CheckedContinuation<bench_tally, any Error>
    ) {
        (self.url, self.session, self.continuation) = (url, session, continuation)
        state = Mutex(State(remainingCount: times, runningCount: count))
    }

    func loadNext() {
        let hasMore = state.withLock { state in
            state.remainingCount -= 1
            return state.remainingCount >= 0
        }
        guard hasMore else { return end() }
        session.dataTask(with: url) { [self] body, _, error in
            state.withLock { state in
                state.tally += bench_tally(of: (body ?? Data()).bytes)
                state.error = state.error ?? error
                if error != nil { state.remainingCount = 0 }
            }
            loadNext()
        }.resume()
    }

    private func end() {
        let finalState = state.withLock { state -> State? in
            state.runningCount -= 1
            return state.runningCount == 0 ? state : nil
        }
        guard let finalState else { return }
        if let error = finalState.error {
            continuation.resume(throwing: error)
        } else {
            continuation.resume(returning: finalState.tally)
        }
    }
}

/// The delegate of a session that runs one load at a time.
@safe
private final class CountingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {  // … because its calls are serial
    private struct Load {
        var tally = bench_tally()
        let continuation: CheckedContinuation<bench_tally, any Error>
    }

    private static let shared = CountingDelegate()
    private static let session = URLSession(configuration: URLSessionPeer.configuration, delegate: shared, delegateQueue: nil)

    private let load = Mutex<Load?>(nil)

    static func load(_ url: URL) async throws -> bench_tally {
        try await withCheckedThrowingContinuation { continuation in
            shared.load.withLock { $0 = Load(continuation: continuation) }
            session.dataTask(with: url).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        load.withLock { $0?.tally.add(data.bytes) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let load = load.withLock({ $0.take() }) else { return }
        if let error { load.continuation.resume(throwing: error) } else { load.continuation.resume(returning: load.tally) }
    }
}
