// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanDownloads

/// Responses that are no file, or the file of another version.
@Suite struct DownloadVersionTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]
    private static let url = "http://h.test/a"

    init() throws {
        folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 29)
        bytes = generator.bytes(20_000)
    }

    private var destination: DownloadDestination { .file(folder.path(of: "a")) }

    @Test func lastPartOfAMultipartResponseIsTheFile() async throws {
        let handler = AsyncHandler(identifier: "test.parts", schemes: ["http"], isMultipart: true) { request, client in
            for text in ["the first part is longer", "the last part"] {
                try await client.didReceive(Response(url: request.url, status: .ok))
                try await client.didLoad(text)
            }
        }
        let file = try await loader(handler).download(from: Self.url, to: destination)
        #expect(try folder.contents(of: "a") == Array("the last part".utf8) && file.size == 13)
    }

    @Test(arguments: [304, 302, 300]) func responseWithoutAFileReplacesNothing(status: Int) async throws {
        try folder.write(Array("old".utf8), to: "a")
        let loader = loader(StubHandler { _ in .status(.init(code: status)) })
        var request = try Request(Self.url)
        request.fields[.ifNoneMatch] = "\"1\""
        let error = await downloadFailure { [request] () throws(LoadError) in try await loader.download(for: request, to: destination) }
        #expect(error?.code == .badResponse && error?.message.contains("\(status)") == true, "\(String(describing: error))")
        #expect(try folder.contents(of: "a") == Array("old".utf8) && folder.names == ["a"])
    }

    @Test(arguments: [true, false]) func onlyARequestedPartIsAFile(isRequested: Bool) async throws {
        let loader = loader(
            StubHandler { _ in
                var response = StubResponse.text(String(repeating: "x", count: 100))
                (response.status, response.fields[.contentRange]) = (.partialContent, "bytes 100-199/1000")
                return response
            })
        var request = try Request(Self.url)
        if isRequested { request.fields[.range] = "bytes=100-199" }
        let error = await downloadFailure { [request] () throws(LoadError) in try await loader.download(for: request, to: destination) }
        #expect(error?.code == (isRequested ? nil : .badResponse), "\(String(describing: error))")
        #expect(try folder.names == (isRequested ? ["a"] : []))
    }

    /// The server has no entity tags any more, and ignores `If-Range`. Its file has another date or another size.
    @Test(arguments: [true, false]) func partsOfTwoVersionsAreNotJoined(hasDate: Bool) async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let origin = FileOrigin(bytes) { state in
            if hasDate { (state.tag, state.fields) = (nil, [.date: date, .lastModified: "Sun, 06 Nov 1994 08:00:00 GMT"]) }
        }
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let newer = Array(bytes.reversed()) + (hasDate ? [] : [1, 2, 3])
        origin.change { state in
            (state.bytes, state.ignoresIfRange, state.tag) = (newer, true, nil)
            if hasDate { state.fields[.lastModified] = "Sun, 06 Nov 1994 08:30:00 GMT" }
        }
        let file = try await origin.continuedDownload(to: destination, data)
        #expect(try folder.contents(of: "a") == newer && file.resumedBytes == 0, "resumed \(file.resumedBytes) of \(file.size)")
    }

    /// The file on the server is as long as the received bytes now. Its size and its entity tag each say that it is
    /// another one.
    @Test(arguments: [true, false]) func otherVersionOfTheReceivedLengthIsNotComplete(announcesLength: Bool) async throws {
        let origin = FileOrigin(bytes) { $0.announcesLength = announcesLength }
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let newer = Array(bytes.reversed().prefix(5000))
        origin.change { ($0.bytes, $0.tag, $0.ignoresIfRange) = (newer, announcesLength ? nil : "\"2\"", true) }
        let file = try await origin.continuedDownload(to: destination, data)
        #expect(try folder.contents(of: "a") == newer && file.resumedBytes == 0, "status \(file.response.status?.code ?? 0)")
    }

    @Test func codedPartIsNotAppended() async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        origin.change { $0.fields = [.contentEncoding: "gzip"] }
        let file = try await origin.continuedDownload(to: destination, data)
        #expect(file.restartReason?.contains("content coding") == true && file.resumedBytes == 0)
        #expect(try folder.contents(of: "a") == bytes)
    }

    @Test func bytesBehindTheRequestedOnesAreNotWritten() async throws {
        let origin = FileOrigin(bytes)
        let data = try #require(await origin.interruptedDownload(to: destination, after: 5000))
        let handler = AsyncHandler(identifier: "test.surplus", schemes: ["http"]) { [bytes] request, client in
            try await client.didReceive(
                Response(
                    url: request.url, status: .partialContent, fields: [.eTag: "\"1\"", .contentRange: "bytes 5000-19999/20000"]))
            try await client.didLoad(Array(bytes[5000...]))
            try await client.didLoad("more")
        }
        let error = await downloadFailure { () throws(LoadError) in
            try await loader(handler).download(for: Request(FileOrigin.url), to: destination, resuming: data)
        }
        #expect(error?.code == .badResponse && error?.resumeData?.bytesReceived == 20_000, "\(String(describing: error))")
        #expect(try folder.contents(of: data.partialName) == bytes)
    }
}
