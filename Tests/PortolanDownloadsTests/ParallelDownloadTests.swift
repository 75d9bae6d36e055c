// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanDownloads

/// Downloads with several range requests at the same time.
@Suite struct ParallelDownloadTests {
    private static let mebibyte = Int(ParallelDownload.smallestPart)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The same random bytes again and again, which are fast to make. The length of a block is a prime number, so bytes
    /// of another place differ.
    private func bytes(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(seed: 9110)
        let block = Data(generator.bytes(4099))
        var data = Data()
        while data.count < count { data.append(block) }
        return [UInt8](data.prefix(count))
    }

    private func contents(of name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: folder.path(of: name)))) }
    private var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } }

    /// An origin that delivers large pieces, because the files are large.
    private func origin(of bytes: [UInt8], _ change: (inout FileOrigin.State) -> Void = { _ in }) -> FileOrigin {
        FileOrigin(bytes) { state in
            state.pieceSize = 100_000
            change(&state)
        }
    }

    private func download(_ origin: FileOrigin, _ count: Int = 4) async throws(LoadError) -> DownloadedFile {
        try await origin.loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), parallelRequests: count)
    }

    private func failure(_ origin: FileOrigin) async -> LoadError? {
        do throws(LoadError) {
            _ = try await download(origin)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        (mebibyte + 1, 4, 2), (2 * mebibyte - 1, 4, 2), (2 * mebibyte, 4, 2), (3 * mebibyte, 4, 3), (3 * mebibyte + 5, 2, 3),
        (6 * mebibyte + 77, 1, 2), (6 * mebibyte + 77, 4, 5), (6 * mebibyte + 77, 16, 6), (mebibyte, 4, 1), (1, 4, 1),
    ])
    func fileIsLoadedInParts(_ row: (size: Int, count: Int, requests: Int)) async throws {
        let origin = origin(of: bytes(row.size))
        let file = try await download(origin, row.count)
        #expect(file.size == Int64(row.size) && file.resumedBytes == 0 && file.response.status == .ok)
        #expect(file.response.expectedLength == Int64(row.size) && file.response.fields[.contentRange] == nil)
        #expect(try contents(of: "a") == bytes(row.size) && names == ["a"])
        let requests = origin.requests
        #expect(requests.count == row.requests)
        #expect(requests.first?.fields[.ifRange] == nil && requests.dropFirst().allSatisfy { $0.fields[.ifRange] == "\"1\"" })
        #expect(requests.allSatisfy { $0.fields[.acceptEncoding] == "identity" })
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func partsCoverTheFileOnce() {
        for size in [1, Self.mebibyte, Self.mebibyte + 1, 7 * Self.mebibyte + 3, 100 * Self.mebibyte] {
            for count in 1...16 {
                let parts = ParallelDownload.split(0..<Int64(size), into: count)
                #expect(parts.first?.lowerBound == 0 && parts.last?.upperBound == Int64(size) && parts.count <= count + 1)
                #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound && !$1.isEmpty })
            }
        }
    }

    @Test("Without ranges, without a validator, or without bytes, one request loads the whole file", arguments: ["ranges", "tag", "bytes"])
    func wholeFileIsLoaded(_ missing: String) async throws {
        let size = missing == "bytes" ? 0 : 2 * Self.mebibyte
        let origin = origin(of: bytes(size)) { state in
            if missing == "ranges" { state.supportsRanges = false }
            if missing == "tag" { state.tag = nil }
        }
        let file = try await download(origin)
        #expect(try file.size == Int64(size) && contents(of: "a") == bytes(size) && names == ["a"])
        #expect(origin.requests.map { $0.fields[.range] } == (missing == "ranges" ? ["bytes=0-1048575"] : ["bytes=0-1048575", nil]))
    }

    @Test(arguments: [5, mebibyte - 1, mebibyte + 7, 3 * mebibyte, 4 * mebibyte - 1, 4 * mebibyte])
    func lostPartKeepsTheBytesBeforeTheFirstGap(_ lostByte: Int) async throws {
        let all = bytes(4 * Self.mebibyte)
        let origin = origin(of: all) { $0.lostByte = lostByte }
        let error = await failure(origin)
        #expect(error?.code == .connectionLost)
        guard let data = error?.resumeData else {
            // A later part was lost before the first one had written anything.
            #expect(try lostByte >= Self.mebibyte && names == [])
            return
        }
        let received = try #require(data.bytesReceived)
        #expect(received > 0 && received <= lostByte)
        // What a killed program would have left says the same.
        #expect(try !names.contains("a") && names.count == 2)
        let interrupted = ResumeData(interruptedDownloadTo: folder.path(of: "a"))
        #expect(interrupted?.bytesReceived == nil && interrupted?.expectedBytes == Int64(all.count))
        origin.change { $0.lostByte = nil }
        let file = try await origin.loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), resuming: data)
        #expect(file.resumedBytes == received)
        #expect(try contents(of: "a") == all && names == ["a"])
    }

    @Test func connectionThatIsLostAfterTheLastByteKeepsAllBytes() async throws {
        let all = bytes(500_000)
        let origin = origin(of: all) { $0.lostByte = all.count }
        let error = await failure(origin)
        #expect(error?.code == .connectionLost && error?.resumeData?.bytesReceived == 500_000)
        let data = try #require(ResumeData(interruptedDownloadTo: folder.path(of: "a")))
        #expect(data.bytesReceived == nil)
        origin.change { $0.lostByte = nil }
        let file = try await origin.loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), resuming: data)
        #expect(file.resumedBytes == 500_000)
        #expect(try contents(of: "a") == all && names == ["a"])
    }

    @Test("While parts are written, the record of the download says that no byte was received")
    func recordOfAFileWithGaps() async throws {
        let records = Mutex<Set<Int64?>>([])
        let path = folder.path
        let origin = origin(of: bytes(4 * Self.mebibyte)) { state in
            state.beforeBytes = { start in
                guard start > 2 << 20 else { return }
                for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(".json") {
                    let data = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
                    let record = try JSONDecoder().decode(ResumeData.self, from: data)
                    records.withLock { _ = $0.insert(record.bytesReceived) }
                }
            }
        }
        _ = try await download(origin)
        #expect(records.withLock { $0 } == [0])
    }

    /// There are no gaps any more, so the record says so, too.
    @Test func recordHasAllBytesIfTheFileCanNotGetItsName() async throws {
        let (path, whole) = (folder.path(of: "a"), bytes(3 * Self.mebibyte))
        let origin = origin(of: whole) { state in
            // Not before the first part, because the partial file does not exist then. `try?` because this is called
            // for each piece.
            state.beforeBytes = { place in
                guard place >= Self.mebibyte else { return }
                try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        }
        #expect(await failure(origin)?.resumeData?.bytesReceived == Int64(whole.count))
        origin.change { $0.beforeBytes = nil }
        try FileManager.default.removeItem(atPath: path)
        let data = try #require(ResumeData(interruptedDownloadTo: path))
        let file = try await origin.continuedDownload(to: .file(path), data)
        #expect(try file.resumedBytes == Int64(whole.count) && contents(of: "a") == whole)
    }

    /// A server that ignores `If-Range` sends 206 with bytes of its new version, a weak one in some rows.
    @Test(arguments: [("\"2\"", false), ("\"2\"", true), ("W/\"2\"", true)])
    func anotherVersionInALaterPartIsAnError(_ row: (tag: String, ignoresIfRange: Bool)) async throws {
        let origin = origin(of: bytes(4 * Self.mebibyte)) { $0.ignoresIfRange = row.ignoresIfRange }
        origin.change { state in
            state.beforeResponse = { [weak origin] in
                // The version changes after the first request.
                guard let origin, origin.requests.count == 1 else { return }
                origin.change { $0.tag = row.tag }
            }
        }
        let error = await failure(origin)
        #expect(error?.code == .badResponse, "\(String(describing: error))")
        #expect(error?.message.contains("another version") == row.ignoresIfRange, "\(String(describing: error))")
        #expect(try !names.contains("a"))
    }

    @Test func weakDateInALaterPartIsAnotherVersion() async throws {
        let origin = origin(of: bytes(4 * Self.mebibyte)) { state in
            (state.tag, state.ignoresIfRange) = (nil, true)
            state.fields = [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Mon, 07 Nov 1994 08:49:37 GMT"]
        }
        origin.change { state in
            state.beforeResponse = { [weak origin] in
                guard let origin, origin.requests.count == 1 else { return }
                origin.change { $0.fields[.lastModified] = "Mon, 07 Nov 1994 08:49:37 GMT" }
            }
        }
        let error = await failure(origin)
        #expect(error?.message.contains("another version") == true, "\(String(describing: error))")
        #expect(try !names.contains("a"))
    }

    @Test("With and without parts, the delegate is not asked for the destination", arguments: [true, false])
    func delegateIsNotAskedForTheDestination(_ supportsRanges: Bool) async throws {
        final class Delegate: DownloadDelegate {
            let ends = Mutex<[String]>([])
            func loadTask(
                _ task: LoadTask, destinationFor response: Response, proposed: DownloadDestination
            ) -> DownloadDestination {
                Issue.record("the delegate is asked")
                return proposed
            }
            func loadTask(_ task: LoadTask, didDownloadTo file: DownloadedFile) { Issue.record("the delegate receives the file") }
            func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { ends.withLock { $0.append(error?.name ?? "complete") } }
        }
        let origin = origin(of: bytes(3 * Self.mebibyte)) { $0.supportsRanges = supportsRanges }
        let delegate = Delegate()
        _ = try await origin.loader.download(
            for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), parallelRequests: 2, delegate: delegate)
        #expect(delegate.ends.withLock { $0 } == [String](repeating: "complete", count: supportsRanges ? 3 : 1))
        #expect(try names == ["a"])
    }

    @Test func serverThatSendsOtherBytesIsAnError() async throws {
        let origin = origin(of: bytes(4 * Self.mebibyte))
        origin.change { state in
            state.beforeResponse = { [weak origin] in
                guard let origin, origin.requests.count == 1 else { return }
                origin.change { $0.rangeError = 1 }
            }
        }
        let error = await failure(origin)
        #expect(
            error?.code == .badResponse && error?.message.contains("another version, or others than") == true,
            "\(String(describing: error))")
    }

    @Test func cancelledSwiftTaskCancelsAllParts() async throws {
        let reached = AsyncStream<Void>.makeStream()
        let origin = origin(of: bytes(4 * Self.mebibyte)) { state in
            state.beforeBytes = { start in
                guard start > 2 << 20 else { return }
                reached.continuation.yield()
                // The load is cancelled while the server waits.
                try await Task.sleep(for: .seconds(600))
            }
        }
        let loader = origin.loader
        let download = Task { [folder] () -> LoadError? in
            do throws(LoadError) {
                try await loader.download(for: Request(FileOrigin.url), to: .file(folder.path(of: "a")), parallelRequests: 4)
                return nil
            } catch {
                return error
            }
        }
        for await _ in reached.stream { break }
        download.cancel()
        #expect(await download.value?.code == .cancelled)
        // The loader removes a task after the delegate has received the end.
        #expect(loader.tasks.allSatisfy { $0.state == .ended })
        #expect(try names == [])
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func otherRequestsAndCountsAreRejected() async throws {
        let loader = origin(of: bytes(10)).loader
        let target = DownloadDestination.file(folder.path(of: "a"))
        var ranged = try Request(FileOrigin.url)
        ranged.fields[.range] = "bytes=1-2"
        for (request, count) in [
            (ranged, 2), (try Request(FileOrigin.url, method: .post, body: .text("x")), 2), (try Request(FileOrigin.url), 0),
            (try Request(FileOrigin.url), 17),
        ] {
            await #expect { try await loader.download(for: request, to: target, parallelRequests: count) } throws: {
                ($0 as? LoadError)?.code == .badRequest
            }
        }
    }
}
