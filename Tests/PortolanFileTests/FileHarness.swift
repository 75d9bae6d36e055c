// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

/// A temporary folder, and a `file:` handler. The loads are handler loads, which check the order of events.
struct FileHarness: Sendable {
    let folder: TemporaryFolder
    let threads: LoadThreadPool
    let handler: FileHandler

    /// - Parameter threadLimit: the maximum number of threads. With one thread, the loads run one after another.
    init(threadLimit: Int = 1, types: MIMETypeDatabase = MIMETypeDatabase(dataFolders: [], mimeTypesFile: nil)) throws {
        folder = try TemporaryFolder()
        threads = LoadThreadPool(limit: threadLimit)
        handler = FileHandler(threads: threads, types: types)
    }

    func url(of name: String) -> String {
        "file://" + folder.path(of: name)
    }

    /// Loads a URL to its end.
    ///
    /// - Parameter onEvent: receives the number of each event, and the handler load. It returns the client's flow.
    func load(
        _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
        onEvent: @escaping @Sendable (_ event: Int, _ handlerLoad: HandlerLoad) -> Flow = { _, _ in .keepGoing }
    ) async throws -> FileRecordingClient.Recording {
        let request = try Request(url, method: method, fields: fields)
        let handover = ThreadHandover()
        let recording = await withCheckedContinuation { continuation in
            let prepared = prepare(request, onEvent: onEvent) { recording in
                handover.pass()
                continuation.resume(returning: recording)
            }
            prepared.start()
        }
        handover.pass()
        return recording
    }

    /// Makes a load that is ready to start. When the load ends, `onEnd` is called once.
    func prepare(
        _ request: Request, onEvent: @escaping @Sendable (_ event: Int, _ handlerLoad: HandlerLoad) -> Flow = { _, _ in .keepGoing },
        onEnd: @escaping @Sendable (FileRecordingClient.Recording) -> Void
    ) -> PreparedLoad {
        let prepared = PreparedLoad()
        let client = FileRecordingClient(
            onEvent: { event in prepared.handlerLoad.map { onEvent(event, $0) } ?? .stopped },
            onEnd: {
                if let recording = prepared.finish() { onEnd(recording) } else { Issue.record("a load ended twice") }
            })
        let handlerLoad = HandlerLoad(
            handler: handler.identifier, traits: handler.traits, request: request, offersCachedResponse: false, next: client,
            observer: client)
        prepared.set(client, handlerLoad, handler.makeLoad(for: request, cachedResponse: nil, client: handlerLoad))
        return prepared
    }

    /// Returns when the jobs that are queued now have ended. The harness must have only one thread.
    func waitUntilIdle() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do throws(LoadError) {
                try threads.run { continuation.resume() }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

/// A lock that shows ThreadSanitizer that one thread continues after another. Without the lock, ThreadSanitizer misses
/// this if a continuation is resumed before it is awaited, because the runtime of Swift 6.3 does not report it.
private final class ThreadHandover: Sendable {
    private let lock = Mutex(())

    func pass() {
        lock.withLock { _ in }
    }
}

/// A handler load with its client and its protocol load. It releases all three at the end of the load.
final class PreparedLoad: Sendable {
    private struct Parts: Sendable {
        let client: FileRecordingClient
        let handlerLoad: HandlerLoad
        let protocolLoad: any ProtocolLoad
    }
    private let parts = Mutex<Parts?>(nil)

    var handlerLoad: HandlerLoad? { parts.withLock { $0?.handlerLoad } }

    fileprivate func set(_ client: FileRecordingClient, _ handlerLoad: HandlerLoad, _ protocolLoad: any ProtocolLoad) {
        parts.withLock { $0 = Parts(client: client, handlerLoad: handlerLoad, protocolLoad: protocolLoad) }
    }

    func start() {
        guard let parts = parts.withLock({ $0 }) else { return }
        parts.handlerLoad.start(parts.protocolLoad)
    }

    /// Releases the client and the loads, which breaks the retain cycle of the client and `onEvent`.
    ///
    /// - Returns: the recording; `nil` at the second call.
    fileprivate func finish() -> FileRecordingClient.Recording? {
        let parts = parts.withLock { parts in
            defer { parts = nil }
            return parts
        }
        return parts?.client.recording
    }
}
