// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanTestSupport
import Testing

@Suite struct BodyFileTests {
    private static let text = "The quick brown fox jumps over the lazy dog"

    @Test(arguments: [1, 7, 16, 43, 44, 1000]) func eachReaderReadsTheWholeFile(_ capacity: Int) throws {
        let folder = try TemporaryFolder()
        let body = try Body.file(path: try folder.write(Self.text.utf8, to: "f"))
        #expect(body.length == 43)
        #expect(body.isRewindable)
        for _ in 0..<2 {
            let (bytes, error) = try drain(body.makeReader(), capacity: capacity)
            #expect(String(decoding: bytes, as: UTF8.self) == Self.text)
            #expect(error == nil)
        }
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func emptyFileEndsImmediately() throws {
        let folder = try TemporaryFolder()
        let body = try Body.file(path: try folder.write([], to: "f"))
        #expect(body.length == 0)
        #expect(try drain(body.makeReader(), capacity: 8).bytes.isEmpty)
    }

    @Test func readerThatHasFailedFailsAgain() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.text.utf8, to: "f")
        let reader = try Body.file(path: path).makeReader()
        try folder.write("The quick".utf8, to: "f")
        for _ in 0..<3 { #expect(drain(reader, capacity: 100).error?.code == .bodyFailed) }
    }

    @Test func fileThatBecameShorterFailsTheBody() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.text.utf8, to: "f")
        let body = try Body.file(path: path)
        try folder.write("The quick".utf8, to: "f")
        let (bytes, error) = try drain(body.makeReader(), capacity: 100)
        #expect(String(decoding: bytes, as: UTF8.self) == "The quick")
        #expect(error?.code == .bodyFailed)
        #expect(error?.message.contains("9 of 43") == true)
        #expect(folder.openDescriptorCount == 0)
    }

    @Test func fileThatBecameLongerIsReadUpToItsFirstLength() throws {
        let folder = try TemporaryFolder()
        let body = try Body.file(path: try folder.write("short".utf8, to: "f"))
        try folder.write("shorter before".utf8, to: "f")
        #expect(try drain(body.makeReader(), capacity: 100).bytes.count == 5)
    }

    @Test func deletedFileFailsTheReader() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("x".utf8, to: "f")
        let body = try Body.file(path: path)
        try FileManager.default.removeItem(atPath: path)
        #expect { try body.makeReader() } throws: { error in
            guard let error = error as? LoadError else { return false }
            return error.code == .bodyFailed && (error.underlyingError as? LoadError)?.code == .notFound
        }
    }

    @Test(arguments: [("missing", LoadError.Code.notFound), ("", .isDirectory), ("a\u{0}b", .badRequest)])
    func unreadableFileIsRefusedWhenTheBodyIsMade(_ name: String, _ code: LoadError.Code) throws {
        let folder = try TemporaryFolder()
        #expect { try Body.file(path: folder.path(of: name)) } throws: { ($0 as? LoadError)?.code == code }
    }

    @Test func closeReleasesTheFileAndEndsTheReads() throws {
        let folder = try TemporaryFolder()
        let reader = try Body.file(path: try folder.write(Self.text.utf8, to: "f")).makeReader()
        #expect(folder.openDescriptorCount == 1)
        reader.close()
        reader.close()
        #expect(folder.openDescriptorCount == 0)
        #expect(drain(reader, capacity: 8).bytes.isEmpty)
    }

    /// Reads with buffers of `capacity` bytes until the reader ends or fails.
    private func drain(_ reader: any BodyReader, capacity: Int) -> (bytes: [UInt8], error: LoadError?) {
        var bytes: [UInt8] = []
        while true {
            var result = BodyRead.end
            let piece = [UInt8](capacity: capacity) { output in
                result = reader.read(into: &output) { Issue.record("the reader of a file must not wait") }
            }
            #expect(piece.count <= capacity)
            bytes += piece
            switch result {
            case .bytes: #expect(!piece.isEmpty)
            case .wait: Issue.record("the reader of a file must not wait")
            case .end: return (bytes, nil)
            case .failed(let error): return (bytes, error)
            }
        }
    }
}
