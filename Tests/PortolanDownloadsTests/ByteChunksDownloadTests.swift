// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanDownloads

/// A load whose body goes to a file after its response is known.
@Suite struct ByteChunksDownloadTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 26)
        bytes = generator.bytes(10_500)
    }

    private func contents(of name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: folder.path(of: name)))) }
    private var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } }

    private func failure(_ body: () async throws(LoadError) -> Void) async -> LoadError? {
        do throws(LoadError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func bodyIsWrittenToTheFile() async throws {
        let (chunks, response) = try await FileOrigin(bytes).loader.bytes(from: FileOrigin.url)
        let file = try await chunks.download(for: response, to: .folder(folder.path))
        #expect(file.path == folder.path(of: "archive.bin") && file.size == 10_500 && file.response.status == .ok)
        #expect(try contents(of: "archive.bin") == bytes && names == ["archive.bin"])
        #expect(chunks.task.progress.bytesWritten == 10_500)
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func emptyBodyMakesAnEmptyFile() async throws {
        let (chunks, response) = try await FileOrigin([]).loader.bytes(from: FileOrigin.url)
        let file = try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        #expect(try file.size == 0 && contents(of: "a") == [])
    }

    @Test(arguments: [1, 999, 1000, 1001, 10_499])
    func lostConnectionCanBeContinuedByADownload(_ cut: Int) async throws {
        let origin = FileOrigin(bytes) { $0.cut = cut }
        let (chunks, response) = try await origin.loader.bytes(from: FileOrigin.url)
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == .connectionLost)
        let data = try #require(error?.resumeData)
        #expect(data.bytesReceived == Int64(cut))
        #expect(try !names.contains("a"))
        origin.change { $0.cut = nil }
        let file = try await origin.loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), resuming: data)
        #expect(file.resumedBytes == Int64(cut))
        #expect(try contents(of: "a") == bytes && names == ["a"])
    }

    /// The request of a task has the default fields of the loader. They can be secret.
    @Test func resumeDataHasNoDefaultFields() async throws {
        let token = try #require(HTTPField.Name("X-Token"))
        let origin = FileOrigin(bytes) { ($0.cut, $0.supportsRanges) = (5000, false) }
        let loader = origin.loader(defaultFields: [token: "secret"])
        var request = try Request(FileOrigin.url)
        request.fields[.accept] = "x/y"
        let destination = DownloadDestination.file(folder.path(of: "a"))
        let (chunks, response) = try await loader.bytes(for: request)
        let errors = [
            await failure { () throws(LoadError) in try await chunks.download(for: response, to: destination) },
            await failure { [request] () throws(LoadError) in
                try await loader.download(for: request, to: destination, parallelRequests: 2)
            },
        ]
        #expect(origin.requests.map { $0.fields[token] } == ["secret", "secret"])
        for error in errors {
            let data = try #require(error?.resumeData)
            let text = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
            #expect(!text.contains("secret") && data.request.fields[.accept] == "x/y", "\(text)")
        }
    }

    @Test func decodedBodyIsCompleteAndCanNotBeContinued() async throws {
        let origin = FileOrigin(bytes) {
            $0.fields[.contentEncoding] = "gzip"
            $0.cut = 5000
        }
        let (chunks, response) = try await origin.loader.bytes(from: FileOrigin.url)
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == .connectionLost && error?.resumeData == nil)
        #expect(try names == [])
    }

    @Test func bodyThatWasPartlyReadIsAnError() async throws {
        let (chunks, response) = try await FileOrigin(bytes).loader.bytes(from: FileOrigin.url)
        var iterator = chunks.makeAsyncIterator()
        let first = try await iterator.next()
        #expect(first?.isEmpty == false)
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == .badRequest && error?.message.contains("was read before") == true)
        #expect(try names == [])
        // The rest can still be read.
        #expect(try await [UInt8](chunks.collect()).count + (first?.count ?? 0) == 10_500)
    }

    @Test func onlyOneDownloadHasTheBody() async throws {
        let (chunks, response) = try await FileOrigin(bytes).loader.bytes(from: FileOrigin.url)
        let codes = await withTaskGroup(of: LoadError.Code?.self) { group in
            for name in ["a", "b", "c"] {
                group.addTask { [self] in
                    await failure { () throws(LoadError) in
                        try await chunks.download(for: response, to: .file(folder.path(of: name)))
                    }?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count == 1 && codes.filter { $0 == .badRequest }.count == 2)
        #expect(try names.count == 1 && contents(of: #require(names.first)) == bytes)
    }

    @Test func severalBodiesAreAnError() async throws {
        let handler = AsyncHandler(identifier: "test.parts", schemes: ["http"], isMultipart: true) { request, client in
            var response = Response(url: request.url, status: .ok)
            response.isBodyPart = true
            for _ in 1...2 {
                try await client.didReceive(response)
                try await client.didLoad("part")
            }
        }
        let (chunks, response) = try await loader(handler).bytes(from: "http://h.test/")
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == .badRequest && error?.message.contains("several bodies") == true)
        #expect(try names == [])
    }

    @Test func errorStatusWritesNothingAndCancelsTheLoad() async throws {
        let origin = FileOrigin(bytes) { $0.status = .notFound }
        let (chunks, response) = try await origin.loader.bytes(from: FileOrigin.url)
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == .notFound && chunks.task.state == .ended)
        #expect(try names == [])
    }

    @Test func unwritableTargetCancelsTheLoad() async throws {
        let (chunks, response) = try await FileOrigin(bytes).loader.bytes(from: FileOrigin.url)
        let error = await failure { () throws(LoadError) in
            try await chunks.download(for: response, to: .file(folder.path(of: "none/a")))
        }
        #expect(error?.code == .ioFailed && error?.message.contains("does not exist") == true)
        #expect(chunks.task.state == .ended)
    }

    @Test func cancelledSwiftTaskKeepsAPartOnlyIfTheDestinationSaysSo() async throws {
        for retention in [DownloadDestination.PartialFileRetention.afterFailure, .always] {
            let origin = FileOrigin(bytes) { state in
                state.beforePiece = { sent in
                    guard sent >= 3000 else { return }
                    // The load is cancelled while the server waits.
                    try await Task.sleep(for: .seconds(600))
                }
            }
            let (chunks, response) = try await origin.loader.bytes(from: FileOrigin.url)
            let target = folder.path(of: "\(retention)")
            let download = Task { [self] in
                await failure { () throws(LoadError) in
                    try await chunks.download(for: response, to: .file(target, partialFile: retention))
                }
            }
            for await progress in chunks.task.progressUpdates(every: .milliseconds(1)) where progress.bytesWritten == 3000 { break }
            download.cancel()
            let error = await download.value
            #expect(error?.code == .cancelled)
            #expect((error?.resumeData == nil) == (retention == .afterFailure))
        }
        #expect(try names.allSatisfy { $0.hasPrefix(".") })
    }
}
