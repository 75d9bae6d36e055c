// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanDownloads

/// Downloads that end, and others that begin, at the same time.
@Suite(.timeLimit(.minutes(5))) struct DownloadRaceTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 30)
        bytes = generator.bytes(20_000)
    }

    private var destination: DownloadDestination { .file(folder.path(of: "a")) }

    /// While a download ends, another one tries to continue its partial file.
    @Test(arguments: [DownloadDestination.ExistingFile.replace, .keepBoth])
    func completeFileIsNotShortenedByAnotherDownload(existingFile: DownloadDestination.ExistingFile) async throws {
        let (small, path, request) = (Array(bytes[..<3000]), folder.path, try Request(FileOrigin.url))
        var damaged: [Int] = []
        for round in 0..<500 {
            let name = "t\(round)"
            let destination = DownloadDestination.file(folder.path(of: name), existingFile: existingFile)
            let partial = Mutex<String?>(nil)
            let isOver = Mutex(false)
            let origin = FileOrigin(small) { state in
                state.beforePiece = { sent in
                    guard sent == 2000 else { return }
                    let found = try FileManager.default.contentsOfDirectory(atPath: path)
                        .first { $0.hasPrefix(".\(name).") && $0.hasSuffix(".part") }
                    partial.withLock { $0 = found }
                }
            }
            async let other: Void = inOwnThread {
                while !isOver.withLock({ $0 }) {
                    guard let partialName = partial.withLock({ $0 }) else { continue }
                    let data = ResumeData(
                        request, validator: "\"1\"", partialName: partialName, finalName: name, bytesReceived: 10, expectedBytes: 3000)
                    do {
                        _ = try ResumedPart(data, to: destination)
                        return
                    } catch {
                        // The other download still has the lock.
                    }
                }
            }
            try await origin.loader.download(from: FileOrigin.url, to: destination)
            isOver.withLock { $0 = true }
            try await other
            let result = try folder.contents(of: name)
            if result != small { damaged.append(result.count) }
        }
        #expect(damaged.isEmpty, "\(damaged.count) of 500 complete files were shortened: \(damaged.prefix(3))")
    }

    @Test func cancelAtAnyMomentLeavesTheFileOrItsBeginning() async throws {
        for round in 0..<600 {
            let origin = FileOrigin(bytes)
            let task = try origin.loader.downloadTask(for: Request(FileOrigin.url), to: destination, delegate: ClosureDelegate())
            task.resume()
            for _ in 0..<(round % 150) { await Task.yield() }
            let data = await task.cancelByProducingResumeData()
            let left = try folder.names
            if let data {
                let count = try folder.contents(of: data.partialName).count
                #expect(left == [data.partialName, data.partialName + ".json"] && data.bytesReceived == Int64(count))
                data.discard(from: destination)
                #expect(try folder.names == [])
            } else if left == ["a"] {
                #expect(try folder.contents(of: "a") == bytes)
                try FileManager.default.removeItem(atPath: folder.path(of: "a"))
            } else {
                #expect(left == [])
            }
        }
        #expect(folder.openDescriptorCount == 0)
    }

    @Test(arguments: [(DownloadDestination.ExistingFile.replace, 20, 1), (.keepBoth, 20, 20), (.fail, 1, 1)])
    func twentyDownloadsToOneName(_ row: (existingFile: DownloadDestination.ExistingFile, successes: Int, files: Int)) async throws {
        let loader = FileOrigin(bytes).loader
        let destination = DownloadDestination.file(folder.path(of: "a"), existingFile: row.existingFile)
        let files = await withTaskGroup(of: DownloadedFile?.self) { group in
            for _ in 0..<20 { group.addTask { try? await loader.download(from: FileOrigin.url, to: destination) } }
            return await group.reduce(into: [DownloadedFile]()) { if let file = $1 { $0.append(file) } }
        }
        #expect(files.count == row.successes && Set(files.map(\.path)).count == row.files)
        // The others keep their bytes in hidden files.
        let names = try folder.names.filter { !$0.hasPrefix(".") }
        #expect(try names.count == row.files && names.allSatisfy { try folder.contents(of: $0) == bytes })
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func cancelledSwiftTaskEndsTheDownload() async throws {
        let (started, source) = AsyncStream.makeStream(of: Void.self)
        let origin = FileOrigin(bytes) { state in
            state.beforePiece = { sent in
                guard sent >= 5000 else { return }
                source.finish()
                try await Task.sleep(for: .seconds(3600))
            }
        }
        let (loader, destination) = (origin.loader, destination)
        let download = Task { try await loader.download(from: FileOrigin.url, to: destination) }
        for await _ in started {}
        download.cancel()
        let error = try await #require(throws: LoadError.self) { try await download.value }
        #expect(try error.code == .cancelled && folder.names == [])
    }
}
