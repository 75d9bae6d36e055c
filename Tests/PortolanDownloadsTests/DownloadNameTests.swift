// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanDownloads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The names and the permissions of the files.
@Suite struct DownloadNameTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]
    private static let url = "http://h.test/a"

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 31)
        bytes = generator.bytes(20_000)
    }

    private var destination: DownloadDestination { .file(folder.path(of: "a")) }

    /// - Parameter name: the name that the response suggests.
    private func namedLoader(_ name: String) -> Loader {
        loader(
            AsyncHandler(identifier: "test.named", schemes: ["http"]) { request, client in
                try await client.didReceive(Response(url: request.url, suggestedFilename: name, status: .ok))
                try await client.didLoad("text")
            })
    }

    /// The permission bits of a file.
    private func mode(of name: String) -> mode_t? {
        var information = stat()
        return unsafe stat(folder.path(of: name), &information) == 0 ? information.st_mode & 0o7777 : nil
    }

    @Test func markBehindTheDotMakesNoHiddenFile() async throws {
        try await namedLoader(".\u{301}bashrc").download(from: Self.url, to: .folder(folder.path))
        #expect(try folder.names.map { Array($0.utf8) } == [Array("_\u{301}bashrc".utf8)])
    }

    @Test(arguments: [String(repeating: "n", count: 255), "n" + String(repeating: "\u{e9}", count: 127)])
    func longNameIsShortenedBeforeTheNumber(name: String) async throws {
        for _ in 0..<2 { try await namedLoader(name).download(from: Self.url, to: .folder(folder.path)) }
        let stem = name.unicodeScalars.first == name.unicodeScalars.last ? name.dropLast(2) : name.dropLast(1)
        #expect(try Set(folder.names) == [name, String(stem) + ".1"])
    }

    @Test func continuedFileHasItsLongName() async throws {
        let name = String(repeating: "n", count: 230)
        let count = Mutex(0)
        let loader = loader(
            AsyncHandler(identifier: "test.named", schemes: ["http"]) { request, client in
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                let fields: HTTPFields = isFirst ? [.eTag: "\"1\""] : [.eTag: "\"1\"", .contentRange: "bytes 2-3/4"]
                try await client.didReceive(
                    Response(
                        url: request.url, expectedLength: isFirst ? 4 : 2, suggestedFilename: name,
                        status: isFirst ? .ok : .partialContent, fields: fields))
                try await client.didLoad(isFirst ? "te" : "xt")
                if isFirst { throw LoadError(.connectionLost, message: "lost") }
            })
        let error = await downloadFailure { () throws(LoadError) in try await loader.download(from: Self.url, to: .folder(folder.path)) }
        let data = try #require(error?.resumeData)
        let stored = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        try await loader.download(for: Request(Self.url), to: .folder(folder.path), resuming: stored)
        #expect(try folder.names == [name] && folder.contents(of: name) == Array("text".utf8))
    }

    @Test func partialFileOfAnotherLongNameIsNotUsed() async throws {
        let name = String(repeating: "n", count: 210)
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: .file(folder.path(of: name + "A")), after: 5000))
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: name + "A")) != nil)
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: name + "B")) == nil)
        let error = await downloadFailure { () throws(LoadError) in
            try await origin.continuedDownload(to: .file(folder.path(of: name + "B")), data)
        }
        #expect(error?.code == .badRequest && folder.openDescriptorCount == 0)
    }

    @Test func pathWithANULIsAnError() async throws {
        let error = await downloadFailure { () throws(LoadError) in
            try await FileOrigin(bytes).loader.download(from: FileOrigin.url, to: .file(folder.path(of: "a\0.txt")))
        }
        #expect(try error != nil && folder.names == [], "\(String(describing: error))")
    }

    /// Another program removes the partial file during the download.
    @Test(arguments: [DownloadDestination.ExistingFile.fail, .keepBoth])
    func failedDownloadLeavesNoEmptyFile(existingFile: DownloadDestination.ExistingFile) async throws {
        let path = folder.path
        let observer = ByteObserver { _ in
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
                try? FileManager.default.removeItem(atPath: path + "/" + name)
            }
        }
        let request = try Request(FileOrigin.url)
        let error = await downloadFailure { () throws(LoadError) in
            try await FileOrigin(bytes).loader.download(
                for: request, to: .file(folder.path(of: "a"), existingFile: existingFile), delegate: observer)
        }
        #expect(try error?.code == .ioFailed && folder.names == [], "\(String(describing: error))")
    }

    /// The download is complete, but its file can't get its name. A later download needs no byte of the body.
    @Test(arguments: [DownloadDestination.ExistingFile.replace, .fail])
    func bytesStayIfTheFileCanNotGetItsName(existingFile: DownloadDestination.ExistingFile) async throws {
        let origin = FileOrigin(bytes)
        let (path, request) = (folder.path(of: "a"), try Request(FileOrigin.url))
        let destination = DownloadDestination.file(path, existingFile: existingFile)
        let observer = ByteObserver { _ in
            // `try?` because this is called for each piece.
            try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        let error = await downloadFailure { () throws(LoadError) in
            try await origin.loader.download(for: request, to: destination, delegate: observer)
        }
        let data = try #require(error?.resumeData)
        #expect(error?.code == .ioFailed && data.bytesReceived == Int64(bytes.count))
        #expect(ResumeData(interruptedDownloadTo: path)?.partialName == data.partialName && folder.openDescriptorCount == 0)
        try FileManager.default.removeItem(atPath: path)
        let file = try await origin.loader.download(for: request, to: destination, resuming: data)
        #expect(try file.resumedBytes == Int64(bytes.count) && folder.names == ["a"] && folder.contents(of: "a") == bytes)
        #expect(origin.requests.last?.fields[.range] == "bytes=\(bytes.count)-")
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func bytesOfAFileWithoutItsNameAreDiscarded() async throws {
        let path = folder.path(of: "a")
        let observer = ByteObserver { _ in
            // `try?` because this is called for each piece.
            try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        let error = await downloadFailure { () throws(LoadError) in
            try await FileOrigin(bytes).loader.download(for: Request(FileOrigin.url), to: .file(path), delegate: observer)
        }
        try #require(error?.resumeData).discard(from: .file(path))
        #expect(try folder.names == ["a"])
    }

    @Test func fileThatAppearsDuringTheDownloadIsNotReplaced() async throws {
        let path = folder.path(of: "a")
        let observer = ByteObserver { _ in _ = FileManager.default.createFile(atPath: path, contents: Data([7])) }
        let destination = DownloadDestination.file(path, existingFile: .fail)
        let error = await downloadFailure { () throws(LoadError) in
            try await FileOrigin(bytes).loader.download(for: Request(FileOrigin.url), to: destination, delegate: observer)
        }
        #expect(error?.code == .ioFailed)
        error?.resumeData?.discard(from: destination)
        #expect(try folder.names == ["a"] && folder.contents(of: "a") == [7])
    }

    /// They belong to the old contents.
    @Test func setuidAndSetgidBitsAreDropped() async throws {
        let path = try folder.write([1], to: "a")
        #expect(unsafe chmod(path, 0o6754) == 0)
        let file = try await FileOrigin(bytes).loader.download(from: FileOrigin.url, to: destination)
        #expect(mode(of: "a") == 0o754)
        #expect(file.warnings == ["the new '\(path)' lost properties of the old file: the permission bits 06000"])
    }

    /// The record has the fields of the request.
    @Test func recordIsPrivate() async throws {
        let data = try #require(await FileOrigin(bytes).interruptedDownload(to: destination, after: 5000))
        #expect(mode(of: data.partialName + ".json") == 0o600)
    }

    @Test(arguments: [0, 1]) func latestRecordIsFound(latest: Int) async throws {
        let origin = FileOrigin(bytes)
        var records: [ResumeData] = []
        for count in [1000, 2000] { records.append(try #require(await origin.interruptedDownload(to: destination, after: count))) }
        for (index, data) in records.enumerated() {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: index == latest ? 2000 : 1000)],
                ofItemAtPath: folder.path(of: data.partialName + ".json"))
        }
        #expect(ResumeData(interruptedDownloadTo: folder.path(of: "a"))?.partialName == records[latest].partialName)
    }

    @Test func firstDownloadIsLockedWhileItRuns() async throws {
        let path = folder.path(of: "a")
        let found = Mutex<[Bool]>([])
        let observer = ByteObserver { _ in
            let data = ResumeData(interruptedDownloadTo: path)
            found.withLock { $0.append(data != nil) }
        }
        try await FileOrigin(bytes).loader.download(for: Request(FileOrigin.url), to: destination, delegate: observer)
        #expect(Set(found.withLock { $0 }) == [false])
    }
}
