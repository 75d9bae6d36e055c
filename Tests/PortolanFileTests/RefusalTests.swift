// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Testing

/// URLs, methods and files that the `file:` handler refuses.
@Suite struct RefusalTests {
    static let badURLs: [(url: String, phrase: String)] = [
        ("file://server/share/x", "host 'server'"), ("file://a.localhost/x", "host 'a.localhost'"), ("file://localhost../x", "host"),
        ("file://127.0.0.1/x", "file:///"), ("file:///a%", "%25"), ("file:///a%2", "%25"),
        ("file:///a%zz", "at byte 2"), ("file:///a%00b", "%00"), ("file:///a%2Fb", "%2F"), ("file:///a%2fb", "%2F"),
    ]

    @Test(arguments: badURLs) func malformedURLsAreRefused(_ row: (url: String, phrase: String)) async throws {
        let error = try #require(try await FileHarness().load(row.url).error)
        #expect(error.code == .badURL)
        #expect(error.message.contains(row.phrase), "\(error)")
    }

    /// With a trailing dot, `localhost` is the same name (RFC 6761 §6.3). The URL Standard keeps the dot in the URL.
    @Test(arguments: ["localhost", "localhost.", "LOCALHOST.", "%6cocalhost."]) func localhostIsThisMachine(_ host: String) async throws {
        let harness = try FileHarness()
        try harness.folder.write("here".utf8, to: "file")
        let url = harness.url(of: "file")
        let recording = try await harness.load("file://\(host)\(url.dropFirst("file://".count))")
        #expect(recording.error == nil)
        #expect(recording.hasBytes(Array("here".utf8)))
    }

    @Test(arguments: ["file://user@localhost/x", "file://user:word@/x", "file://localhost:80/x"])
    func userInformationAndPortAreRefused(_ url: String) {
        #expect { try Request(url) } throws: { ($0 as? LoadError)?.code == .badURL }
    }

    static let methods: [HTTPRequest.Method] = [.post, .put, .delete, .options, .patch]

    @Test(arguments: methods) func otherMethodsAreRefused(_ method: HTTPRequest.Method) async throws {
        let error = try #require(try await FileHarness().load("file:///etc/passwd", method: method).error)
        #expect(error.code == .badRequest)
        #expect(error.message.contains("'\(method.rawValue)'"))
    }

    static let entries: [(name: String, code: LoadError.Code, phrase: String)] = [
        ("missing", .notFound, "missing"), ("file/below", .notFound, "not a directory"), ("file/", .notFound, "not a directory"),
        (String(repeating: "n", count: 300), .notFound, "longer"), ("folder", .isDirectory, "lists no directories"),
        ("folder/", .isDirectory, "lists no directories"), ("fifo", .notRegularFile, "a FIFO"), ("socket", .notRegularFile, "a socket"),
        ("circle", .ioFailed, "form a loop"), ("dangling", .notFound, "dangling"),
    ]

    @Test(arguments: entries) func missingAndIrregularFilesAreRefused(_ row: (name: String, code: LoadError.Code, phrase: String))
        async throws
    {
        let harness = try FileHarness()
        let folder = harness.folder
        try folder.write("x".utf8, to: "file")
        try FileManager.default.createDirectory(atPath: folder.path(of: "folder"), withIntermediateDirectories: false)
        try folder.makeFIFO("fifo")
        try folder.makeSocket("socket")
        try folder.makeLink("circle", to: "circle")
        try folder.makeLink("dangling", to: "nowhere")
        let recording = try await harness.load(harness.url(of: row.name))
        let error = try #require(recording.error)
        #expect(error.code == row.code)
        #expect(error.message.contains(row.phrase), "\(error)")
        #expect(recording.responses.isEmpty)
        #expect(recording.endCount == 1)
        #expect(folder.openDescriptorCount == 0)
    }

    @Test(arguments: ["file:///dev/null", "file:///dev/zero", "file:///dev/tty"]) func devicesAreRefused(_ url: String) async throws {
        let error = try #require(try await FileHarness().load(url).error)
        #expect(error.code == .notRegularFile)
        #expect(error.message.contains("a device"))
    }

    @Test func messageIsOnOneLine() async throws {
        let harness = try FileHarness()
        let error = try #require(try await harness.load(harness.url(of: "a%0Ab%1B%E2%80%AE")).error)
        #expect(error.code == .notFound)
        #expect(
            error.message.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
            })
    }

    @Test func handlerNamesItsScheme() {
        let handler = FileHandler()
        #expect(handler.identifier == "org.portolan.file")
        #expect(handler.schemes == .only(["file"]))
        #expect(handler.traits == [.blocking])
    }
}
