// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanFileSystem
import PortolanTestSupport
import PortolanURL
import Synchronization
import TestThreads
import Testing

@testable import PortolanDownloads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct ResumeTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 27)
        bytes = generator.bytes(20_000)
    }

    private var destination: DownloadDestination { .file(folder.path(of: "a")) }
    private func contents(of name: String = "a") throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: folder.path(of: name)))) }
    private var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } }

    /// The error of a download that the connection's loss ends.
    private func interrupted(
        _ origin: FileOrigin, after count: Int, to destination: DownloadDestination? = nil, resuming data: ResumeData? = nil
    ) async throws -> LoadError {
        origin.change { $0.cut = count }
        defer { origin.change { $0.cut = nil } }
        do throws(LoadError) {
            try await origin.loader.download(for: Request(FileOrigin.url), to: destination ?? self.destination, resuming: data)
        } catch {
            return error
        }
        throw LoadError(.unknown, message: "the download was complete")
    }

    private func resume(_ origin: FileOrigin, _ data: ResumeData?) async throws(LoadError) -> DownloadedFile {
        try await origin.loader.download(for: Request(FileOrigin.url), to: destination, resuming: data)
    }

    @Test func downloadCutAtAThousandOffsetsIsContinued() async throws {
        var generator = SeededGenerator(seed: 28)
        let origin = FileOrigin(bytes)
        for _ in 0..<1000 {
            let cut = Int.random(in: 1..<bytes.count, using: &generator)
            let data = try #require(try await interrupted(origin, after: cut).resumeData)
            #expect(data.bytesReceived == Int64(cut) && data.expectedBytes == 20_000)
            let stored = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
            #expect(stored == data)
            let file = try await resume(origin, stored)
            guard try contents() == bytes, file.resumedBytes == Int64(cut), file.size == 20_000 else {
                Issue.record("wrong after a cut at \(cut)")
                return
            }
        }
        #expect(try names == ["a"])
        #expect(folder.openDescriptorCount == 0)
        let last = try #require(origin.requests.last)
        #expect(last.fields[.ifRange] == "\"1\"" && last.fields[.range]?.hasPrefix("bytes=") == true)
    }

    /// The server does not know the size of the file, only the last byte of the part.
    @Test(arguments: [0, 1, 2, 94, 95, 96, 200])
    func partWithoutASizeIsCompleteWithItsLastByte(_ count: Int) async throws {
        let handler = AsyncHandler(identifier: "test.parts", schemes: ["http"]) { [bytes] request, client in
            let isFirst = !request.fields.contains(.range)
            let fields: HTTPFields = isFirst ? [.eTag: "\"1\""] : [.eTag: "\"1\"", .contentRange: "bytes 5-99/*"]
            try await client.didReceive(
                Response(url: request.url, expectedLength: nil, status: isFirst ? .ok : .partialContent, fields: fields))
            try await client.didLoad(Array(isFirst ? bytes[..<5] : bytes[5..<5 + count]))
            if isFirst { throw LoadError(.connectionLost, message: "lost") }
        }
        let loader = loader(handler)
        let first = await downloadFailure { () throws(LoadError) in try await loader.download(from: FileOrigin.url, to: destination) }
        let data = try #require(first?.resumeData)
        let request = try Request(FileOrigin.url)
        let error = await downloadFailure { () throws(LoadError) in
            let file = try await loader.download(for: request, to: destination, resuming: data)
            #expect(file.size == 100)
        }
        switch count {
        case 95: #expect(try error == nil && names == ["a"] && contents() == Array(bytes[..<100]))
        case ..<95:
            #expect(try error?.code == .truncated && !names.contains("a"))
            #expect(error?.resumeData?.bytesReceived == Int64(5 + count) && error?.resumeData?.expectedBytes == nil)
        default: #expect(try error?.code == .badResponse && !names.contains("a"))
        }
    }

    @Test(arguments: [("Saturday, 28-Nov-26 10:00:00 GMT", true), ("Sat, 28 Nov 2026 10:00:01 GMT", false), ("yesterday", false)])
    func dateInAnotherFormIsTheSameVersion(_ row: (date: String, isSame: Bool)) async throws {
        let fields: HTTPFields = [.lastModified: "Sat, 28 Nov 2026 10:00:00 GMT", .date: "Sun, 29 Nov 2026 10:00:00 GMT"]
        let origin = FileOrigin(bytes) { ($0.tag, $0.fields, $0.ignoresIfRange) = (nil, fields, true) }
        let data = try #require(try await interrupted(origin, after: 5000).resumeData)
        origin.change { $0.fields[.lastModified] = row.date }
        let file = try await resume(origin, data)
        #expect(try file.resumedBytes == (row.isSame ? 5000 : 0) && contents() == bytes)
    }

    /// The server has said that the file has 100 bytes, and its part would end after them.
    @Test func partThatIsLongerThanTheFileIsRefused() async throws {
        let handler = AsyncHandler(identifier: "test.parts", schemes: ["http"]) { [bytes] request, client in
            let isFirst = !request.fields.contains(.range)
            let fields: HTTPFields = isFirst ? [.eTag: "\"1\""] : [.eTag: "\"1\"", .contentRange: "bytes 50-119/*"]
            try await client.didReceive(
                Response(url: request.url, expectedLength: isFirst ? 100 : nil, status: isFirst ? .ok : .partialContent, fields: fields))
            try await client.didLoad(Array(bytes[..<(isFirst ? 50 : 70)]))
            if isFirst { throw LoadError(.connectionLost, message: "lost") }
        }
        let loader = loader(handler)
        let first = await downloadFailure { () throws(LoadError) in try await loader.download(from: FileOrigin.url, to: destination) }
        let data = try #require(first?.resumeData)
        let request = try Request(FileOrigin.url)
        let error = await downloadFailure { () throws(LoadError) in
            try await loader.download(for: request, to: destination, resuming: data)
        }
        #expect(error?.code == .badResponse && error?.resumeData?.bytesReceived == 50)
    }

    @Test func downloadIsContinuedTenTimes() async throws {
        let origin = FileOrigin(bytes)
        var data: ResumeData?
        for round in 1...10 {
            data = try await interrupted(origin, after: 1500, resuming: data).resumeData
            #expect(data?.bytesReceived == Int64(1500 * round))
        }
        let file = try await resume(origin, data)
        #expect(try file.resumedBytes == 15_000 && contents() == bytes)
    }

    @Test(arguments: [false, true])
    func changedFileIsLoadedFromItsStart(ignoresIfRange: Bool) async throws {
        let origin = FileOrigin(bytes)
        let data = try await interrupted(origin, after: 5000).resumeData
        let newer = Array(bytes.reversed()) + [1, 2, 3]
        origin.change { ($0.bytes, $0.tag, $0.ignoresIfRange) = (newer, "\"2\"", ignoresIfRange) }
        let file = try await resume(origin, data)
        #expect(file.restartReason?.contains("the server has another version now") == true && file.resumedBytes == 0)
        #expect(try contents() == newer && names == ["a"])
        #expect(origin.requests.count == (ignoresIfRange ? 3 : 2))
    }

    @Test func serverWithoutRangesSendsTheWholeFile() async throws {
        let origin = FileOrigin(bytes) { $0.supportsRanges = false }
        let data = try #require(try await interrupted(origin, after: 5000).resumeData)
        let file = try await resume(origin, data)
        #expect(try file.restartReason != nil && contents() == bytes && names == ["a"])
    }

    @Test func shorterFileOnTheServerIsLoadedFromItsStart() async throws {
        let origin = FileOrigin(bytes)
        let data = try await interrupted(origin, after: 5000).resumeData
        origin.change { ($0.bytes, $0.ignoresIfRange) = (Array(bytes[..<100]), true) }
        let file = try await resume(origin, data)
        #expect(try file.restartReason != nil && contents() == Array(bytes[..<100]) && names == ["a"])
    }

    @Test func completePartialFileNeedsNoBytes() async throws {
        let origin = FileOrigin(bytes) { $0.announcesLength = false }
        // The connection is lost after the last byte.
        let data = try await interrupted(origin, after: bytes.count).resumeData
        #expect(data?.bytesReceived == 20_000)
        let file = try await resume(origin, data)
        #expect(try file.resumedBytes == 20_000 && file.response.status == .rangeNotSatisfiable && contents() == bytes)
    }

    @Test func wrongRangeOfTheServerIsNotAppended() async throws {
        let origin = FileOrigin(bytes)
        let data = try await interrupted(origin, after: 5000).resumeData
        origin.change { $0.rangeError = 1 }
        let file = try await resume(origin, data)
        #expect(try file.restartReason?.contains("other bytes") == true && contents() == bytes)
    }

    @Test(
        arguments: [
            (nil, [:]), ("W/\"1\"", [:]), ("\"1\"", [.contentEncoding: "gzip"]), ("not a tag", [:]),
        ] as [(String?, HTTPFields)])
    func versionWithoutStrongValidatorIsNotContinued(_ row: (tag: String?, fields: HTTPFields)) async throws {
        let origin = FileOrigin(bytes) { ($0.tag, $0.fields) = (row.tag, row.fields) }
        #expect(try await interrupted(origin, after: 5000).resumeData == nil)
        #expect(try names == [])
    }

    @Test func strongDateIsAValidator() async throws {
        let fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:49:37 GMT", .lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"]
        let origin = FileOrigin(bytes) { ($0.tag, $0.fields) = (nil, fields) }
        #expect(try await interrupted(origin, after: 5000).resumeData?.validator == "Sun, 06 Nov 1994 08:00:00 GMT")
    }

    @Test func retentionSaysWhenAPartialFileStays() async throws {
        let origin = FileOrigin(bytes)
        let path = folder.path(of: "a")
        #expect(try await interrupted(origin, after: 5000, to: .file(path, partialFile: .never)).resumeData == nil)
        #expect(try names == [])
        for (retention, isKept) in [(DownloadDestination.PartialFileRetention.afterFailure, false), (.always, true), (.never, false)] {
            let task = try cancelledAfterAPiece(origin, .file(path, partialFile: retention)) { $0.cancel() }
            let error = try await task.end()
            #expect(error?.code == .cancelled && (error?.resumeData != nil) == isKept)
            error?.resumeData?.discard(from: .file(path))
            #expect(try names == [])
        }
    }

    /// Calls a function when the first bytes are in the file, and keeps the end.
    private final class Ending: DownloadDelegate {
        private let result = ConditionLock<LoadError??>(nil)
        private let cancel: Mutex<(@Sendable (LoadTask) -> Void)?>

        init(_ cancel: @escaping @Sendable (LoadTask) -> Void) { self.cancel = Mutex(cancel) }

        func loadTaskDidReceiveBytes(_ task: LoadTask) { cancel.withLock { $0.take() }?(task) }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { result.withLockBroadcasting { $0 = .some(error) } }
        func end() async throws -> LoadError? { try await inOwnThread { [result] in result.wait { $0 } } }
    }

    /// Starts a download, and calls `cancel` when its first bytes are in the file.
    private func cancelledAfterAPiece(
        _ origin: FileOrigin, _ destination: DownloadDestination, _ cancel: @escaping @Sendable (LoadTask) -> Void
    ) throws -> Ending {
        let ending = Ending(cancel)
        // The load ends only by the cancel.
        origin.change { state in
            state.beforePiece = { sent in if sent >= 10_000 { try await Task.sleep(for: .seconds(3600)) } }
        }
        try origin.loader.downloadTask(for: Request(FileOrigin.url), to: destination, delegate: ending).resume()
        return ending
    }

    @Test func cancelProducesResumeData() async throws {
        let origin = FileOrigin(bytes)
        let data: ResumeData? = try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try cancelledAfterAPiece(origin, .file(folder.path(of: "a"), partialFile: .never)) { task in
                    task.cancel { continuation.resume(returning: $0) }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        let received = try #require(data?.bytesReceived)
        #expect(received > 0)
        origin.change { $0.beforePiece = nil }
        let file = try await resume(origin, data)
        #expect(try file.resumedBytes == received && contents() == bytes)
    }

    @Test func cancelOfAnotherTaskProducesNothing() async throws {
        let task = FileOrigin(bytes).loader.task(for: try Request(FileOrigin.url), delegate: ClosureDelegate())
        #expect(await task.cancelByProducingResumeData() == nil)
    }

    // MARK: - Crashes

    /// What a killed process leaves: the partial file and its record.
    private func leaveInterruptedDownload(_ origin: FileOrigin, after count: Int) async throws -> ResumeData {
        let data = try #require(try await interrupted(origin, after: count).resumeData)
        return data
    }

    @Test func downloadOfAKilledProcessIsFound() async throws {
        let origin = FileOrigin(bytes)
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a")) == nil)
        _ = try await leaveInterruptedDownload(origin, after: 7000)
        let data = try #require(ResumeData(interruptedDownloadTo: folder.path(of: "a")))
        #expect(data.bytesReceived == nil && data.expectedBytes == 20_000 && data.url.string == FileOrigin.url)
        let file = try await resume(origin, data)
        #expect(try file.resumedBytes == 7000 && contents() == bytes && names == ["a"])
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a")) == nil)
    }

    /// The record of an old version beside bytes of a new one would join them.
    @Test func recordHasTheVersionOfTheBytes() async throws {
        let origin = FileOrigin(bytes)
        let first = try await interrupted(origin, after: 7000).resumeData
        let newer = Array(bytes.reversed())
        origin.change { ($0.bytes, $0.tag) = (newer, "\"2\"") }
        let error = try await interrupted(origin, after: 3000, resuming: first)
        let second = error.resumeData
        #expect(error.code == .connectionLost, "\(error)")
        #expect(second?.validator == "\"2\"" && second?.bytesReceived == 3000)
        let found = try #require(ResumeData(interruptedDownloadTo: folder.path(of: "a")))
        #expect(found.validator == "\"2\"")
        origin.change { ($0.bytes, $0.tag) = (bytes, "\"1\"") }
        let file = try await resume(origin, found)
        #expect(try file.resumedBytes == 0 && contents() == bytes)
    }

    @Test func runningDownloadIsNotFoundAndNotContinued() async throws {
        let origin = FileOrigin(bytes)
        let data = try await leaveInterruptedDownload(origin, after: 7000)
        let path = folder.path(of: data.partialName)
        let descriptor = unsafe open(path, O_RDWR)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a")) == nil)
        await #expect(throws: LoadError.self) { try await resume(origin, data) }
        close(descriptor)
        #expect(try await resume(origin, data).resumedBytes == 7000)
    }

    @Test func missingPartialFileMeansFromTheStart() async throws {
        let origin = FileOrigin(bytes)
        let data = try await leaveInterruptedDownload(origin, after: 7000)
        try FileManager.default.removeItem(atPath: folder.path(of: data.partialName))
        let file = try await resume(origin, data)
        #expect(try file.restartReason == "the file with the received bytes is gone" && contents() == bytes)
    }

    @Test func bytesBehindTheReceivedOnesAreDropped() async throws {
        let origin = FileOrigin(bytes)
        let data = try await leaveInterruptedDownload(origin, after: 7000)
        let handle = try #require(FileManager.default.contents(atPath: folder.path(of: data.partialName)))
        try (handle + [9, 9, 9]).write(to: URL(filePath: folder.path(of: data.partialName)))
        #expect(try await resume(origin, data).resumedBytes == 7000)
        #expect(try contents() == bytes)
    }

    // MARK: - Hostile data

    private func encoded(_ change: (inout [String: Any]) -> Void) throws -> Data {
        var members: [String: Any] = [
            "version": 1, "url": FileOrigin.url, "fields": [["Accept", "*/*"]], "validator": "\"1\"",
            "partialName": ".a.0123456789abcdef.part", "bytesReceived": 10, "expectedBytes": 20,
        ]
        change(&members)
        return Data(Self.json(members).utf8)
    }

    private static func json(_ value: Any) -> String {
        switch value {
        case let text as String:
            let escapes: [Character: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
            return "\"\(text.map { escapes[$0] ?? String($0) }.joined())\""
        case let list as [Any]: return "[\(list.map(json).joined(separator: ","))]"
        case let members as [String: Any]: return "{\(members.map { "\(json($0.key)):\(json($0.value))" }.joined(separator: ","))}"
        default: return "\(value)"
        }
    }

    @Test(arguments: [
        ("version", 3 as any Sendable), ("version", 2), ("url", "no url"), ("url", ""), ("validator", ""), ("validator", "a\u{0A}b"),
        ("partialName", "../../etc/passwd"), ("partialName", "a/b"), ("bytesReceived", -1), ("expectedBytes", 5),
        ("fields", [["Authorization", "Basic x"]] as [[String]]), ("fields", [["Range", "bytes=0-1"]] as [[String]]),
        ("fields", [["A b", "c"]] as [[String]]), ("fields", [["A"]] as [[String]]),
        ("fields", [["A", String(repeating: "x", count: 70_000)]] as [[String]]),
        ("partialName", String(repeating: "x", count: 300)),
    ])
    func invalidDataIsNotDecoded(_ row: (key: String, value: any Sendable)) throws {
        _ = try JSONDecoder().decode(ResumeData.self, from: encoded { _ in })
        let data = try encoded { $0[row.key] = row.value }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ResumeData.self, from: data) }
    }

    @Test func dataWithoutPasswordsIsStored() async throws {
        let origin = FileOrigin(bytes)
        var request = try Request("http://user:secret@files.test/archive.bin")
        request.fields = [.authorization: "Bearer secret", .cookie: "a=secret", .accept: "x/y"]
        origin.change { $0.cut = 5000 }
        do throws(LoadError) {
            try await origin.loader.download(for: request, to: destination)
            Issue.record("the download was complete")
        } catch {
            let text = String(decoding: try JSONEncoder().encode(#require(error.resumeData)), as: UTF8.self)
            #expect(!text.contains("secret") && text.contains("Accept"))
        }
        for name in try names { #expect(!String(decoding: try contents(of: name).filter { $0 < 128 }, as: UTF8.self).contains("secret")) }
    }

    @Test(arguments: ["victim", ".victim", ".a.part", ".a.0123456789ABCDEF.part", ".b.0123456789abcdef.part", ".a.0123456789abcdef.partx"])
    func onlyPartialFilesOfTheDestinationAreContinued(name: String) async throws {
        try folder.write(bytes[..<10], to: name)
        let data = try JSONDecoder().decode(ResumeData.self, from: encoded { $0["partialName"] = name })
        await #expect(throws: LoadError.self) { try await resume(FileOrigin(bytes), data) }
        #expect(try contents(of: name) == Array(bytes[..<10]) && names == [name])
    }

    @Test func linksAndFilesWithOtherNamesAreNotContinued() async throws {
        let name = ".a.0123456789abcdef.part"
        let data = try JSONDecoder().decode(ResumeData.self, from: encoded { _ in })
        try folder.write(bytes[..<10], to: "victim")
        try folder.makeLink(name, to: folder.path(of: "victim"))
        await #expect(throws: LoadError.self) { try await resume(FileOrigin(bytes), data) }
        try FileManager.default.removeItem(atPath: folder.path(of: name))
        #expect(unsafe link(folder.path(of: "victim"), folder.path(of: name)) == 0)
        await #expect(throws: LoadError.self) { try await resume(FileOrigin(bytes), data) }
        try FileManager.default.removeItem(atPath: folder.path(of: name))
        try folder.makeFIFO(name)
        await #expect(throws: LoadError.self) { try await resume(FileOrigin(bytes), data) }
        #expect(try contents(of: "victim") == Array(bytes[..<10]))
    }

    @Test func dataOfAnotherURLIsRefused() async throws {
        let data = try JSONDecoder().decode(ResumeData.self, from: encoded { $0["url"] = "http://files.test/other" })
        await #expect(throws: LoadError.self) { try await resume(FileOrigin(bytes), data) }
    }

    /// A kill can come after the record is made, and before the partial file is.
    @Test func recordWithoutAPartialFileIsRemoved() throws {
        let partial = ".a.0123456789abcdef.part"
        let others = [".b.0123456789abcdef.part.json", ".a.part.json", "a.json"]
        for name in others + [partial + ".json"] { try folder.write(Array("{}".utf8), to: name) }
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a")) == nil)
        #expect(try names == others.sorted())
    }

    @Test func recordIsMadeBeforeThePartialFile() throws {
        var isThere: Bool?
        let file = try PartialFile(for: folder.path(of: "a"), collision: .replaces) { path, finalPath in
            isThere = !FileSystem.isMissing(path) || finalPath != folder.path(of: "a")
        }
        #expect(isThere == false && !FileSystem.isMissing(file.path))
        file.discard()
        file.close()
    }

    @Test func recordOfAnotherFormIsIgnored() throws {
        for (name, text) in [(".a.0123456789abcdef.part.json", "no json"), (".a.0123456789abcdee.part.json", "{}")] {
            try folder.write(Array(text.utf8), to: name)
            try folder.write([1], to: String(name.dropLast(5)))
        }
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a")) == nil)
    }
}
