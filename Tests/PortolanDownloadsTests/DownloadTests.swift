// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanDownloads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct DownloadTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 26)
        bytes = generator.bytes(10_500)
    }

    private func contents(of name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: folder.path(of: name)))) }
    private var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } }

    /// The error of a download.
    private func failure(_ body: () async throws(LoadError) -> Void) async -> LoadError? {
        do throws(LoadError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func fileIsWrittenCompletely() async throws {
        let origin = FileOrigin(bytes)
        let file = try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        #expect(file.path == folder.path(of: "a") && file.size == 10_500 && file.resumedBytes == 0 && file.restartReason == nil)
        #expect(try contents(of: "a") == bytes)
        #expect(try names == ["a"])
        #expect(origin.requests.map { $0.fields[.acceptEncoding] } == ["identity"])
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func emptyFileIsWritten() async throws {
        let file = try await FileOrigin([]).loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        #expect(try file.size == 0 && contents(of: "a") == [])
    }

    @Test func targetNeverHasAPartOfTheFile() async throws {
        let names = Mutex<Set<[String]>>([])
        let target = folder.path
        let origin = FileOrigin(bytes) { state in
            state.beforePiece = { _ in
                let found = try FileManager.default.contentsOfDirectory(atPath: target).filter { !$0.hasPrefix(".") }
                names.withLock { _ = $0.insert(found) }
            }
        }
        try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        #expect(names.withLock { $0 } == [[]])
    }

    @Test func existingFileIsReplacedKeptOrAnError() async throws {
        let origin = FileOrigin(bytes)
        try folder.write([1, 2, 3], to: "a")
        let error = await failure { () throws(LoadError) in
            try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a"), existingFile: .fail))
        }
        #expect(error?.code == .ioFailed && error?.message.contains("exists and is not overwritten") == true)
        #expect(try contents(of: "a") == [1, 2, 3])
        for name in ["a.1", "a.2"] {
            let file = try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a"), existingFile: .keepBoth))
            #expect(file.path == folder.path(of: name))
        }
        try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        #expect(try contents(of: "a") == bytes && names == ["a", "a.1", "a.2"])
    }

    @Test func lostLinkOfAReplacedFileIsAWarning() async throws {
        let origin = FileOrigin(bytes)
        try folder.write([1, 2, 3], to: "a")
        #expect(unsafe link(folder.path(of: "a"), folder.path(of: "b")) == 0)
        let file = try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        #expect(file.warnings == ["'\(folder.path(of: "a"))' was one of 2 hard links to a file; the others keep the old contents"])
        #expect(try contents(of: "a") == bytes && contents(of: "b") == [1, 2, 3])
        #expect(try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "c"))).warnings.isEmpty)
    }

    @Test(arguments: [
        ("a b.txt", "a b.txt"), (".bashrc", "_bashrc"), ("../x", "_._x"), ("", "download"), ("..", "download"),
    ])
    func nameOfTheResponseStaysInTheFolder(_ row: (suggested: String, name: String)) async throws {
        let handler = AsyncHandler(identifier: "test.named", schemes: ["http"]) { request, client in
            try await client.didReceive(Response(url: request.url, suggestedFilename: row.suggested, status: .ok))
            try await client.didLoad("text")
        }
        let file = try await loader(handler).download(from: "http://h.test/", to: .folder(folder.path))
        #expect(try file.path == folder.path(of: row.name) && names == [row.name])
    }

    @Test(arguments: [
        (404, LoadError.Code.notFound), (410, .notFound), (403, .accessDenied), (401, .authenticationRequired), (500, .badResponse),
        (416, .rangeNotSatisfiable),
    ])
    func errorStatusWritesNothing(_ row: (status: Int, code: LoadError.Code)) async throws {
        let origin = FileOrigin(bytes) { $0.status = HTTPResponse.Status(code: row.status) }
        let error = await failure { () throws(LoadError) in
            try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a")))
        }
        #expect(error?.code == row.code && error?.resumeData == nil)
        #expect(error?.message.contains("\(row.status)") == true)
        #expect(try names == [])
    }

    @Test func missingFolderAndFolderAsTargetAreClearErrors() async throws {
        let origin = FileOrigin(bytes)
        let missing = await failure { () throws(LoadError) in
            try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path(of: "none/a")))
        }
        #expect(missing?.code == .ioFailed && missing?.message.contains("the folder '\(folder.path(of: "none"))' does not exist") == true)
        let isFolder = await failure { () throws(LoadError) in
            try await origin.loader.download(from: FileOrigin.url, to: .file(folder.path))
        }
        #expect(isFolder?.code == .ioFailed && isFolder?.message.contains("is not a regular file") == true)
    }

    @Test func delegateDecidesTheDestinationAndReceivesTheFile() async throws {
        final class Delegate: DownloadDelegate {
            let target: String
            let log = Mutex<[String]>([])
            init(_ target: String) { self.target = target }
            func loadTask(
                _ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination
            ) -> DownloadDestination {
                log.withLock { $0.append("destination for \(response.suggestedFilename)") }
                return .file(target)
            }
            func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
                Issue.record("a download delivers no response")
                return .stopped
            }
            func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile) { log.withLock { $0.append("file of \(file.size)") } }
            func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { log.withLock { $0.append("end \(error?.name ?? "complete")") } }
        }
        let delegate = Delegate(folder.path(of: "b"))
        let loader = FileOrigin(bytes).loader
        let file = try await loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), delegate: delegate)
        #expect(file.path == folder.path(of: "b"))
        #expect(delegate.log.withLock { $0 } == ["destination for archive.bin", "file of 10500", "end complete"])
        #expect(try names == ["b"])
    }

    @Test func completionAndBlockingFormsWriteTheFile() async throws {
        let loader = FileOrigin(bytes).loader
        let (a, b) = (folder.path(of: "a"), folder.path(of: "b"))
        let request = try Request(FileOrigin.url)
        let result: Result<DownloadedFile, LoadError> = await withCheckedContinuation { continuation in
            do throws(LoadError) {
                try loader.download(request, to: .file(a)) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        #expect(try result.get().path == a)
        _ = try await inOwnThread { try loader.waitForDownload(for: request, to: .file(b)) }
        #expect(try contents(of: "a") == bytes && contents(of: "b") == bytes)
    }

    @Test func progressCountsTheFileAndItsRate() async throws {
        let origin = FileOrigin(bytes)
        let delegate = ClosureDelegate()
        let task = try origin.loader.downloadTask(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), delegate: delegate)
        task.resume()
        var last: LoadProgress?
        for await progress in task.progressUpdates(every: .milliseconds(1)) { last = progress }
        #expect(last?.bytesWritten == 10_500 && last?.expectedBytesToWrite == 10_500 && last?.fractionReceived == 1)
        #expect(task.state == .ended)
    }
}
