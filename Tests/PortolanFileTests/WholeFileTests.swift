// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Testing

/// Loads of whole files.
@Suite struct WholeFileTests {
    static let names: [(name: String, url: String)] = [
        ("plain.txt", "plain.txt"), ("two words.txt", "two%20words.txt"), ("100%.txt", "100%25.txt"), ("größe.txt", "gr%C3%B6%C3%9Fe.txt"),
        ("日本.txt", "%E6%97%A5%E6%9C%AC.txt"), ("a?b#c.txt", "a%3Fb%23c.txt"), ("in/a/folder.txt", "in/a/folder.txt"),
        ("dot.txt", "x/../dot.txt"), ("new\nline.txt", "new%0Aline.txt"), ("back\\slash.txt", "back%5Cslash.txt"),
    ]

    @Test(arguments: names) func filesAreLoadedByName(_ row: (name: String, url: String)) async throws {
        let harness = try FileHarness()
        try harness.folder.write("contents".utf8, to: row.name)
        let recording = try await harness.load(harness.url(of: row.url))
        #expect(recording.error == nil)
        #expect(recording.bytes == Array("contents".utf8))
        #expect(recording.response?.mimeType == .plainText)
        #expect(recording.endCount == 1)
        #expect(recording.violations.isEmpty)
        #expect(recording.unexpectedEvents.isEmpty)
    }

    static let sizes = [1, 4095, 4096, 4097, 1_048_575, 1_048_576, 1_048_577, 2_500_001]

    @Test(arguments: sizes) func bytesAreDeliveredOnceAndInOrder(size: Int) async throws {
        let harness = try FileHarness()
        let bytes = PatternedBytes.make(size)
        try harness.folder.write(bytes, to: "big")
        let recording = try await harness.load(harness.url(of: "big"))
        #expect(recording.hasBytes(bytes))
        #expect(recording.response?.expectedLength == Int64(size))
        #expect(recording.pieceSizes.allSatisfy { $0 <= 1_048_576 })
        #expect(recording.finishCount == 1)
    }

    @Test func emptyFileHasAResponseAndAFinish() async throws {
        let harness = try FileHarness()
        try harness.folder.write([], to: "empty.txt")
        let recording = try await harness.load(harness.url(of: "empty.txt"))
        #expect(recording.response?.expectedLength == 0)
        #expect(recording.pieceSizes.isEmpty)
        #expect(recording.finishCount == 1)
    }

    @Test func responseDescribesTheFile() async throws {
        let harness = try FileHarness()
        try harness.folder.write("<p>hello".utf8, to: "a page.html")
        try harness.folder.setModificationTime("a page.html", secondsSince1970: 784_111_777)
        let response = try #require(try await harness.load(harness.url(of: "a%20page.html")).response)
        #expect(response.mimeType == .html)
        #expect(response.textEncodingName == nil)
        #expect(response.expectedLength == 8)
        #expect(response.suggestedFilename == "a page.html")
        #expect(response.status == nil)
        #expect(
            response.fields == [
                .contentType: "text/html", .contentLength: "8", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .acceptRanges: "bytes",
            ])
    }

    @Test func headDeliversOnlyTheResponse() async throws {
        let harness = try FileHarness()
        try harness.folder.write("12345".utf8, to: "x.txt")
        let recording = try await harness.load(harness.url(of: "x.txt"), method: .head, fields: [.range: "bytes=0-1"])
        #expect(recording.response?.expectedLength == 5)
        #expect(recording.response?.fields[.contentRange] == nil)
        #expect(recording.pieceSizes.isEmpty)
        #expect(recording.finishCount == 1)
        #expect(recording.violations.isEmpty)
    }

    @Test(arguments: ["?query", "#fragment", "?a=b#c"]) func queryAndFragmentAreIgnored(_ suffix: String) async throws {
        let harness = try FileHarness()
        try harness.folder.write("x".utf8, to: "f")
        #expect(try await harness.load(harness.url(of: "f") + suffix).bytes == Array("x".utf8))
    }

    @Test func symbolicLinksAreFollowed() async throws {
        let harness = try FileHarness()
        try harness.folder.write("target".utf8, to: "real/file.json")
        try harness.folder.makeLink("link", to: "real")
        try harness.folder.makeLink("name.txt", to: "link/file.json")
        let recording = try await harness.load(harness.url(of: "name.txt"))
        #expect(recording.bytes == Array("target".utf8))
        #expect(recording.response?.mimeType == .plainText, "the type depends on the name in the URL")
    }

    @Test func unknownExtensionIsOctetStream() async throws {
        let harness = try FileHarness()
        try harness.folder.write("x".utf8, to: "no-ending")
        #expect(try await harness.load(harness.url(of: "no-ending")).response?.mimeType == .octetStream)
    }

    @Test func kernelFileWithoutASizeIsReadToItsEnd() async throws {
        let harness = try FileHarness()
        let recording = try await harness.load("file:///proc/version", fields: [.range: "bytes=0-3"])
        #expect(recording.bytes == FileManager.default.contents(atPath: "/proc/version").map(Array.init))
        #expect(!recording.bytes.isEmpty)
        #expect(recording.response?.expectedLength == nil)
        #expect(recording.response?.fields[.acceptRanges] == nil)
        #expect(recording.finishCount == 1)
    }

    @Test func sparseFileKeepsItsSize() async throws {
        let harness = try FileHarness()
        try harness.folder.write([], to: "hole")
        try harness.folder.resize("hole", to: 100_000)
        let recording = try await harness.load(harness.url(of: "hole"))
        #expect(recording.response?.expectedLength == 100_000)
        #expect(recording.hasBytes([UInt8](repeating: 0, count: 100_000)))
    }
}
