// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
@testable import PortolanStreams
import PortolanTestSupport
import ServerSupport
import Synchronization
import TestThreads
import Testing

/// The kinds of output streams that the tests write.
enum OutputKind: CaseIterable {
    case memory, buffer, file, fileOffset, appendedFile, pipe, nonBlockingPipe, socket, fileDescriptor, boundPair, tinyBoundPair, server

    /// Makes a stream, and a function that closes it and returns what was written.
    func make(in folder: StreamFixture) throws -> (stream: ByteOutputStream, finish: () async throws -> [UInt8]) {
        switch self {
        case .memory, .buffer:
            let stream = self == .memory ? ByteOutputStream.toMemory() : .toBuffer(capacity: 1 << 20)
            return (
                stream,
                {
                    stream.close()
                    return try #require(stream.property(.writtenBytes))
                }
            )
        case .file, .fileOffset, .appendedFile, .fileDescriptor:
            let path = try folder.write([1, 2, 3], to: "output")
            let stream: ByteOutputStream
            switch self {
            case .appendedFile: stream = ByteOutputStream(path: path, at: .appending)
            case .fileOffset: stream = ByteOutputStream(path: path, at: .offset(3))
            case .fileDescriptor:
                let descriptor = unsafe open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
                stream = ByteOutputStream(descriptor: descriptor)
                stream.open()
                close(descriptor)
            default: stream = ByteOutputStream(path: path)
            }
            let isReplaced = self == .file || self == .fileDescriptor
            return (
                stream,
                {
                    stream.close()
                    if let error = stream.error { throw error }
                    let all = try readAll(ByteInputStream(path: path))
                    if !isReplaced { #expect(all.prefix(3) == [1, 2, 3]) }
                    return Array(all.dropFirst(isReplaced ? 0 : 3))
                }
            )
        case .pipe, .nonBlockingPipe, .socket:
            let ends = try self == .socket ? Descriptors.socketPair() : .pipe(isNonBlocking: self == .nonBlockingPipe)
            let (input, output) = (ByteInputStream.opened(descriptor: ends.read), ByteOutputStream(descriptor: ends.write))
            output.open()
            ends.closeReadEnd()
            ends.closeWriteEnd()
            return (output, try Self.reader(of: input, from: output))
        case .server: return try Self.bytesOfAServer()
        case .boundPair, .tinyBoundPair:
            let (input, output) = ByteInputStream.boundPair(bufferSize: self == .tinyBoundPair ? 3 : 64 << 10)
            input.open()
            return (output, try Self.reader(of: input, from: output))
        }
    }

    /// Reads what the server has received.
    private static func bytesOfAServer() throws -> (ByteOutputStream, () async throws -> [UInt8]) {
        let server = try ScriptedServer([.receiveToEnd])
        let output = SocketStreams(toHost: "127.0.0.1", port: server.port).output
        return (
            output,
            {
                output.close()
                try await server.waitUntilClosed()
                return server.connections.first?.received ?? []
            }
        )
    }

    /// Reads on another thread.
    private static func reader(of input: ByteInputStream, from output: ByteOutputStream) throws -> () async throws -> [UInt8] {
        let reading = try OwnThread { try readAll(input) }
        return {
            output.close()
            return try reading.result()
        }
    }
}

@Suite(.blocking, .timeLimit(.minutes(2))) struct ByteOutputStreamTests {
    private let folder: StreamFixture

    init() throws { folder = try StreamFixture() }

    // MARK: Every kind

    @Test(arguments: OutputKind.allCases, [1, 7, 5000, 200_000])
    func writesArriveInOrder(kind: OutputKind, size: Int) async throws {
        // More than a pipe holds, if there is a pipe.
        let bytes = numberedBytes(size < 100 ? 1000 : kind == .tinyBoundPair ? 6000 : 150_000)
        let (stream, finish) = try kind.make(in: folder)
        stream.open()
        for start in stride(from: 0, to: bytes.count, by: size) {
            try stream.write(all: Array(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(try await finish() == bytes)
        #expect(stream.status == .closed && stream.error == nil)
    }

    @Test(arguments: OutputKind.allCases)
    func taskWritesInOrder(kind: OutputKind) async throws {
        let bytes = numberedBytes(kind == .tinyBoundPair ? 3000 : 150_000)
        let (stream, finish) = try kind.make(in: folder)
        stream.open()
        try await stream.write(Array(bytes[..<1000]))
        try await stream.write([])
        try await stream.write(Array(bytes[1000...]))
        #expect(try await finish() == bytes)
    }

    @Test(arguments: OutputKind.allCases)
    func streamWithoutBytesIsEmpty(kind: OutputKind) async throws {
        let (stream, finish) = try kind.make(in: folder)
        stream.open()
        #expect(try stream.write(Span()) == 0)
        while stream.status == .opening { await Task.yield() }
        #expect(stream.hasSpaceAvailable)
        #expect(try await finish() == [])
        #expect { try stream.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .streamNotOpen }
    }

    // MARK: Memory

    @Test func fullBufferIsAnError() throws {
        let stream = ByteOutputStream.toBuffer(capacity: 3)
        stream.open()
        try stream.write(all: [1, 2])
        #expect { try stream.write(all: [3, 4]) } throws: { ($0 as? LoadError)?.code == .streamFull }
        #expect(stream.property(.writtenBytes) == [1, 2, 3])
        #expect(stream.status == .error && stream.error?.domain == LoadError.streamDomain)
        #expect { try stream.write(all: [3]) } throws: { ($0 as? LoadError)?.code == .streamFull }
    }

    @Test func bufferThatIsExactlyFilledIsNoError() throws {
        let stream = ByteOutputStream.toBuffer(capacity: 3)
        stream.open()
        try stream.write(all: [1, 2, 3])
        #expect(stream.status == .open)
        stream.close()
        #expect(stream.error == nil && stream.property(.writtenBytes) == [1, 2, 3])
        #expect(stream.property(.currentOffset) == 3)
    }

    // MARK: Files

    @Test func gapBeforeAnOffsetIsZero() throws {
        let stream = ByteOutputStream(path: folder.path(of: "gap"), at: .offset(3))
        stream.open()
        try stream.write(all: [7])
        #expect(stream.property(.currentOffset) == 4)
        #expect { try stream.setProperty(0, for: .currentOffset) } throws: { ($0 as? LoadError)?.code == .streamPropertyNotSettable }
        stream.close()
        #expect(try readAll(ByteInputStream(path: folder.path(of: "gap"))) == [0, 0, 0, 7])
    }

    @Test func fileThatCannotBeWrittenFailsTheStream() throws {
        for (path, code) in [
            (folder.path(of: "missing/file"), LoadError.Code.notFound), (folder.path, .isDirectory), ("", .badRequest),
            ("a\0b", .badRequest),
            ("/dev/null", .notRegularFile),
        ] {
            let stream = ByteOutputStream(path: path)
            stream.open()
            #expect(stream.status == .error && stream.error?.code == code, "\(path): \(stream.error?.message ?? "")")
            #expect { try stream.write(all: [1]) } throws: { ($0 as? LoadError)?.code == code }
        }
        let stream = ByteOutputStream(path: folder.path(of: "new"), at: .offset(-1))
        stream.open()
        #expect(stream.error?.code == .badRequest)
    }

    /// `/dev/full` is not a regular file, so only a descriptor leads to it.
    @Test func fullDeviceFailsTheStream() {
        let descriptor = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let stream = ByteOutputStream(descriptor: descriptor)
        stream.open()
        #expect { try stream.write(all: [1]) } throws: {
            let error = $0 as? LoadError
            return error?.code == .ioFailed && error?.message.contains("No space left on device") == true
        }
    }

    @Test func streamsThatAppendDoNotOverwriteEachOther() throws {
        let streams = (0..<2).map { _ in ByteOutputStream(path: folder.path(of: "log"), at: .appending) }
        for stream in streams { stream.open() }
        for number: UInt8 in 0..<10 { try streams[Int(number) % 2].write(all: [number]) }
        for stream in streams { stream.close() }
        #expect(try readAll(ByteInputStream(path: folder.path(of: "log"))) == Array(0..<10))
    }

    // MARK: Pipes and sockets

    @Test(arguments: [false, true])
    func nobodyReads(isSocket: Bool) throws {
        let ends = try isSocket ? Descriptors.socketPair() : .pipe()
        ends.closeReadEnd()
        let stream = ByteOutputStream(descriptor: ends.write)
        stream.open()
        ends.closeWriteEnd()
        #expect { try stream.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .connectionLost }
        #expect(!stream.hasSpaceAvailable && stream.status == .error)
    }

    @Test(arguments: [false, true])
    func fullPipeHasNoSpace(isNonBlocking: Bool) throws {
        let ends = try Descriptors.pipe(isNonBlocking: isNonBlocking)
        let (input, output) = (ByteInputStream.opened(descriptor: ends.read), ByteOutputStream(descriptor: ends.write))
        output.open()
        var count = 0
        while output.hasSpaceAvailable { count += try output.write([UInt8](repeating: 1, count: 1000).span) }
        #expect(count > 1000)
        var read = 0
        while read < count { read += try input.read(atMost: 100_000).count }
        while !output.hasSpaceAvailable { sched_yield() }
        #expect(read == count)
        ends.closeReadEnd()
        ends.closeWriteEnd()
    }

    @Test func cancelledTaskClosesTheStream() async throws {
        let (input, output) = ByteInputStream.boundPair(bufferSize: 4)
        input.open()
        output.open()
        let task = Task { () -> LoadError? in
            do throws(LoadError) {
                try await output.write(numberedBytes(100_000))
                return nil
            } catch {
                return error
            }
        }
        while !output.core.isWaitedFor { await Task.yield() }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(output.status == .closed)
    }
}
