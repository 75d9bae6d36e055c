// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

/// A folder of files, and loads of them whose order of events is enforced as the core does it.
struct FileHarness: Sendable {
    let folder: TemporaryFolder
    let threads: LoadThreadPool
    let handler: FileHandler

    /// - Parameter threads: the maximum number of threads. With one thread, the loads run one after another.
    init(threads limit: Int = 1, types: MIMETypeDatabase = MIMETypeDatabase(dataFolders: [], mimeTypesFile: nil)) throws {
        folder = try TemporaryFolder()
        threads = LoadThreadPool(limit: limit)
        handler = FileHandler(threads: threads, types: types)
    }

    func url(of name: String) -> String {
        "file://" + folder.path(of: name)
    }

    /// Loads a URL to its end.
    ///
    /// - Parameter answer: returns the client's answer for the event of this number. It may use the attempt.
    func load(
        _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
        answer: @escaping @Sendable (_ event: Int, _ attempt: HandlerLoad) -> Flow = { _, _ in .keepGoing }
    ) async throws -> FileRecordingClient.Recording {
        let request = try Request(url, method: method, fields: fields)
        return await withCheckedContinuation { continuation in
            let begun = begin(request, answer: answer) { recording in continuation.resume(returning: recording) }
            begun.start()
        }
    }

    /// Makes a load that is ready to start. `ended` is called once.
    func begin(
        _ request: Request, answer: @escaping @Sendable (_ event: Int, _ attempt: HandlerLoad) -> Flow = { _, _ in .keepGoing },
        ended: @escaping @Sendable (FileRecordingClient.Recording) -> Void
    ) -> Begun {
        let begun = Begun()
        let client = FileRecordingClient(
            answer: { event in begun.attempt.map { answer(event, $0) } ?? .stopped },
            ended: {
                if let recording = begun.finish() { ended(recording) } else { Issue.record("an attempt ended twice") }
            })
        let attempt = HandlerLoad(
            handler: handler.identifier, traits: handler.traits, request: request, offersCached: false, next: client, observer: client)
        begun.set(client, attempt, handler.makeLoad(for: request, cachedResponse: nil, client: attempt))
        return begun
    }

    /// Returns when the current jobs of the only thread have ended.
    func settle() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do throws(LoadError) {
                try threads.run { continuation.resume() }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

/// A handler load with its client and its protocol load, until its end.
final class Begun: Sendable {
    private struct Parts: Sendable {
        let client: FileRecordingClient
        let attempt: HandlerLoad
        let load: any ProtocolLoad
    }
    private let parts = Mutex<Parts?>(nil)

    var attempt: HandlerLoad? { parts.withLock { $0?.attempt } }

    fileprivate func set(_ client: FileRecordingClient, _ attempt: HandlerLoad, _ load: any ProtocolLoad) {
        parts.withLock { $0 = Parts(client: client, attempt: attempt, load: load) }
    }

    func start() {
        guard let parts = parts.withLock({ $0 }) else { return }
        parts.attempt.start(parts.load)
    }

    /// Releases everything, which breaks the retain cycle of client and answer.
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
