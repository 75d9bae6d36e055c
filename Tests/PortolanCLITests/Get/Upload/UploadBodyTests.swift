// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanFileSystem
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite(.timeLimit(.minutes(10))) struct UploadBodyTests {
    /// Reads a body to its end, in buffers of `capacity` bytes.
    private func text(of body: Body, capacity: Int = 100) async throws -> String {
        let reader = try body.makeReader()
        var bytes: [UInt8] = []
        while true {
            let (readySignals, readySource) = AsyncStream<Void>.makeStream()
            var result = BodyRead.end
            bytes += [UInt8](capacity: capacity) { output in result = reader.read(into: &output) { readySource.finish() } }
            switch result {
            case .bytes: continue
            case .wait: for await _ in readySignals {}
            case .end: return String(decoding: bytes, as: UTF8.self)
            case .failed(let error): throw error
            }
        }
    }

    @Test func pipeIsReadAsAStream() async throws {
        let (source, sink) = try Pipe.open()
        let body = Body.reading(source, name: "a pipe")
        #expect(body.length == nil && !body.isRewindable)
        async let receivedText = text(of: body)
        try sink.write(all: Array("first ".utf8))
        try sink.write(all: Array("second".utf8))
        try sink.close()
        #expect(try await receivedText == "first second")
        try source.close()
    }

    @Test func folderIsRefused() {
        let failure = Failure(.uploadFailed, "'.' is a directory, and only a file can be sent; name a file in it")
        #expect(throws: failure) { try UploadBody.file(".") }
        #expect(throws: failure) { try UploadBody.form(of: [DataArgument(.data, "@.")]) }
    }

    /// RFC 9110 §14.5
    @Test func restOfAFileSaysWhichPartItIs() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Array("0123456789".utf8), to: "f")
        for (point, rest, range) in [
            (nil, "0123456789", nil), (.byte(0), "0123456789", nil), (.byte(3), "3456789", "bytes 3-9/10"), (.byte(9), "9", "bytes 9-9/10"),
            (.endOfFile, "0123456789", "bytes 0-9/10"),
        ] as [(ResumePoint?, String, String?)] {
            let body = try UploadBody.file(path, continuingAt: point)
            #expect(try await text(of: body.body) == rest)
            #expect(body.fields.map(\.value) == (range.map { [$0] } ?? []))
        }
        #expect(try UploadBody.file(folder.write([], to: "empty"), continuingAt: .endOfFile).fields.isEmpty)
        for (path, point) in [(path, .byte(10)), (path, .byte(11)), ("-", .byte(1)), ("/dev/null", .byte(1)), ("-", .endOfFile)]
            as [(String, ResumePoint)]
        {
            #expect(throws: Failure.self) { try UploadBody.file(path, continuingAt: point) }
        }
    }

    @Test(arguments: [
        ("http://h/dir/", "a/b c?.txt", "http://h/dir/b%20c%3F.txt"), ("http://h/", "x", "http://h/x"), ("http://h/f", "x", "http://h/f"),
        ("http://h/dir/?q", "x", "http://h/dir/x?q"), ("http://h/", "-", "http://h/"), ("http://h/", "..", "http://h/"),
    ])
    func folderURLGetsTheFileName(url: String, path: String, expected: String) throws {
        #expect(try UploadBody.url(URLRecord(parsing: url), for: path).description == expected)
    }
}
