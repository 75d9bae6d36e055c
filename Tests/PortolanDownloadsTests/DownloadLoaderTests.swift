// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import PortolanURL
import Synchronization
import Testing

@testable import PortolanDownloads

/// Downloads with the settings of a loader, and tasks that are suspended and cancelled.
@Suite(.timeLimit(.minutes(2))) struct DownloadLoaderTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]
    private static let url = "http://h.test/a"

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 32)
        bytes = generator.bytes(20_000)
    }

    private var destination: DownloadDestination { .file(folder.path(of: "a")) }

    private final class CountingDelegate: LoaderDelegate {
        let ends = Mutex(0)
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { ends.withLock { $0 += 1 } }
    }

    @Test func delegateOfTheLoaderReceivesTheEndOfADownload() async throws {
        let folder = try TemporaryFolder()
        var configuration = Loader.Configuration()
        configuration.handlers = [StubHandler { _ in .text("x") }]
        let delegate = CountingDelegate()
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry(), delegate: delegate)
        try await loader.download(from: "http://h.test/a", to: .file(folder.path(of: "a")))
        #expect(delegate.ends.withLock { $0 } == 1)
    }

    @Test func relativeURLRefersToTheBase() async throws {
        let base = try URLRecord(parsing: "http://h.test/v1/")
        let loader = loader(StubHandler { .text($0.url.string) }) { $0.baseURL = base }
        try await loader.download(from: "b", to: destination)
        #expect(try folder.contents(of: "a") == Array("http://h.test/v1/b".utf8))
    }

    /// The fields that redirects to other origins lose, and the default fields of the loader.
    @Test func resumeDataHasNoSecretFields() async throws {
        let (key, token) = (try #require(HTTPField.Name("X-Api-Key")), try #require(HTTPField.Name("X-Token")))
        let handler = AsyncHandler(identifier: "test.cut", schemes: ["http"]) { request, client in
            try await client.didReceive(Response(url: request.url, expectedLength: 9, status: .ok, fields: [.eTag: "\"1\""]))
            try await client.didLoad("text")
            throw LoadError(.connectionLost, message: "lost")
        }
        let loader = loader(handler) {
            $0.redirects.originFields = [key]
            $0.defaultFields[token] = "secret2"
        }
        var request = try Request(Self.url)
        request.fields = [key: "secret1", .accept: "x/y"]
        let error = await downloadFailure { [request] () throws(LoadError) in try await loader.download(for: request, to: destination) }
        let data = try #require(error?.resumeData)
        let text = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
        #expect(!text.contains("secret") && data.request.fields[.accept] == "x/y", "\(text)")
        let record = String(decoding: try folder.contents(of: data.partialName + ".json"), as: UTF8.self)
        #expect(!record.contains("secret") && record.contains("Accept"), "\(record)")
    }

    @Test func suspendedDownloadProducesResumeData() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let observer = ByteObserver { task in
            task.suspend()
            continuation.finish()
        }
        let task = try FileOrigin(bytes).loader.downloadTask(for: Request(FileOrigin.url), to: destination, delegate: observer)
        task.resume()
        for await _ in stream {}
        let data = await task.cancelByProducingResumeData()
        #expect(data?.bytesReceived.map { $0 > 0 } == true)
    }

    /// Nothing says that they are of no use.
    @Test func cancelBeforeTheResponseKeepsTheEarlierBytes() async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let (end, source) = AsyncStream.makeStream(of: Void.self)
        let task = try origin.loader.downloadTask(
            for: Request(FileOrigin.url), to: destination, resuming: data, delegate: ClosureDelegate(onEnd: { _, _ in source.finish() }))
        task.cancel()
        for await _ in end {}
        #expect(try await origin.continuedDownload(to: destination, data).resumedBytes == 5000)
    }

    /// The server has another version, so the task loads the whole file.
    @Test(arguments: [true, false]) func cancelEndsADownloadThatHasStartedOver(producesResumeData: Bool) async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let first = Mutex<LoadTask?>(nil)
        let (received, source) = AsyncStream.makeStream(of: ResumeData?.self)
        origin.change { state in
            (state.tag, state.ignoresIfRange) = ("\"2\"", true)
            state.beforePiece = { [weak origin] sent in
                guard origin?.requests.last?.fields.contains(.range) == false else { return }
                while first.withLock({ $0 }) == nil { await Task.yield() }
                // The download ends only by the cancel.
                if sent == 5000 { try await Task.sleep(for: .seconds(3600)) }
            }
        }
        let observer = ByteObserver { _ in
            if producesResumeData { return first.withLock { $0 }?.cancel { source.yield($0) } ?? () }
            first.withLock { $0 }?.cancel()
        }
        let (loader, request) = (origin.loader, try Request(FileOrigin.url))
        let result: Result<DownloadedFile, LoadError> = await withCheckedContinuation { continuation in
            do throws(LoadError) {
                let task = try loader.download(request, to: destination, resuming: data, delegate: observer) {
                    continuation.resume(returning: $0)
                }
                first.withLock { $0 = task }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        let error = #expect(throws: LoadError.self) { try result.get() }
        #expect(error?.code == .cancelled && origin.requests.count == 3)
        first.withLock { $0 = nil }
        guard producesResumeData else { return #expect(try error?.resumeData == nil && folder.names == []) }
        for await data in received {
            #expect(data?.validator == "\"2\"" && data?.bytesReceived.map { 1...5000 ~= $0 } == true)
            break
        }
    }

    /// The whole file is requested by the same task, so a loader that ends waits for it.
    @Test func loaderWaitsForADownloadThatHasStartedOver() async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let loader = origin.loader
        origin.change { state in
            (state.tag, state.ignoresIfRange) = ("\"2\"", true)
            state.beforeResponse = { [weak loader] in loader?.finishTasksAndInvalidate() }
        }
        let file = try await loader.download(for: Request(FileOrigin.url), to: destination, resuming: data)
        #expect(try file.restartReason != nil && folder.contents(of: "a") == bytes)
    }

    /// A task with a delegate of its own starts over, too.
    @Test func downloadTaskStartsOver() async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        origin.change { ($0.tag, $0.ignoresIfRange) = ("\"2\"", true) }
        let (end, source) = AsyncStream.makeStream(of: LoadError?.self)
        let delegate = ClosureDelegate(onEnd: {
            source.yield($1)
            source.finish()
        })
        let loader = origin.loader(defaultFields: [.accept: "x/y"])
        let task = try loader.downloadTask(for: Request(FileOrigin.url), to: destination, resuming: data, delegate: delegate)
        task.resume()
        for await error in end { #expect(error == nil) }
        #expect(try origin.requests.count == 3 && folder.names == ["a"] && folder.contents(of: "a") == bytes)
        #expect(origin.requests.last?.fields == [.accept: "x/y", .acceptEncoding: "identity"])
        #expect(task.metrics.requestCount == 2 && !task.currentRequest.fields.contains(.range))
    }
}
