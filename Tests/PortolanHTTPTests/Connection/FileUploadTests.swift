// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

@testable import PortolanHTTP

/// Bodies that the kernel sends from a file.
@Suite("Files as bodies", .timeLimit(.minutes(10)))
final class FileUploadTests {
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"

    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: file) }

    /// Writes `count` bytes, which depend on their position, to the file, and returns them.
    private func writeFile(_ count: Int) throws -> [UInt8] {
        // A prime number of bytes again and again, because a pattern of each byte takes a debug build seconds.
        let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += block.prefix(count - bytes.count) }
        try Data(bytes).write(to: file)
        return bytes
    }

    private func request(_ server: ScriptedServer) throws -> Request {
        var request = try Request(server.url(), method: .put)
        request.body = try .file(path: file.path)
        return request
    }

    /// The bytes that the server received after the head of the request.
    private static func body(_ connection: ScriptedConnection, _ number: Int = 0) -> [UInt8] {
        let end = Array("\r\n\r\n".utf8)
        let received = connection.received
        let start = received.indices.first { received[$0...].starts(with: end) }
        return start.map { Array(received[($0 + 4)...]) } ?? []
    }

    @Test(arguments: [1, 255, 256 << 10, 256 << 10 + 1, 9 << 20]) func wholeFileIsSent(_ count: Int) async throws {
        let bytes = try writeFile(count)
        let mayContinue = try Gate()
        let server = try ScriptedServer([.receiveHead, .wait(mayContinue), .receive(count), .send(text: Self.yes)])
        let sent = Mutex<Int64>(0)
        let delegate = RecordingDelegate { event, task in
            if event == .sent { sent.withLock { $0 = task.progress.bytesSent } }
            return .keepGoing
        }
        let load = Task { [request = try request(server)] in try await Loader.http().data(for: request, delegate: delegate) }
        try await server.waitForBytes(20)
        mayContinue.open()
        #expect(String(decoding: try await load.value.0, as: UTF8.self) == "yes")
        try #require(!server.connections.isEmpty)
        #expect(Self.body(server.connections[0]) == bytes)
        #expect(sent.withLock { $0 } == Int64(count))
        #expect(String(decoding: server.connections[0].received.prefix(400), as: UTF8.self).contains("\r\nContent-Length: \(count)\r\n"))
    }

    /// RFC 9110 §14.5
    @Test(arguments: [1, 255, 256 << 10 + 1]) func restOfAFileIsSent(_ count: Int) async throws {
        let bytes = try writeFile(count + 1000)
        let server = try ScriptedServer([.receiveHead, .receive(count), .send(text: Self.yes)])
        var request = try request(server)
        request.body = try .file(path: file.path, from: 1000)
        #expect(request.body?.length == Int64(count))
        _ = try await Loader.http().data(for: request)
        try #require(!server.connections.isEmpty)
        #expect(Self.body(server.connections[0]) == Array(bytes[1000...]))
    }

    @Test func bodyBeginsWithinItsFile() throws {
        _ = try writeFile(5)
        #expect(try Body.file(path: file.path, from: 5).length == 0)
        for offset: Int64 in [-1, 6, .min, .max] {
            #expect(throws: LoadError.self) { try Body.file(path: self.file.path, from: offset) }
        }
    }

    /// The other tests of this suite would pass even if the client copied the file.
    @Test func onlyFileBodiesAreSentByTheKernel() throws {
        _ = try writeFile(1)
        #expect(try RequestBodySource(.file(path: file.path)).canSendFromFile)
        #expect(try !RequestBodySource(.bytes([1])).canSendFromFile)
    }

    @Test func fileIsReadAgainForARedirect() async throws {
        let bytes = try writeFile(1 << 20)
        let moved = "HTTP/1.1 307 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer([
            .receiveHead, .receive(bytes.count), .send(text: moved), .receiveHead, .receive(bytes.count), .send(text: Self.yes),
        ])
        #expect(try await String(decoding: Loader.http().data(for: request(server)).0, as: UTF8.self) == "yes")
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].received.suffix(bytes.count).elementsEqual(bytes))
    }

    @Test func fileThatBecomesShorterFailsTheLoad() async throws {
        _ = try writeFile(64 << 20)
        let mayContinue = try Gate()
        let server = try ScriptedServer([.receiveHead, .wait(mayContinue), .receiveToEnd])
        let load = Task { [request = try request(server)] in try await Loader.http().data(for: request) }
        try await server.waitForBytes(20)
        try FileHandle(forWritingTo: file).truncate(atOffset: 1000)
        mayContinue.open()
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(
            error?.code == .bodyFailed && error?.message.contains("became shorter while it was sent") == true, "\(error?.message ?? "")")
    }

    @Test func closeDuringTheUploadFailsTheLoad() async throws {
        _ = try writeFile(32 << 20)
        for _ in 0..<20 {
            let server = try ScriptedServer([.receiveHead, .receive(1000), .close])
            let error = await #expect(throws: LoadError.self) { try await Loader.http().data(for: self.request(server)) }
            #expect(error?.code.general == .connectionLost, "\(error?.message ?? "")")
        }
    }
}
