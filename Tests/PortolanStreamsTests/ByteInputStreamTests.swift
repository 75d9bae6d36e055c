// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
@testable import PortolanStreams
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@Suite(.blocking, .timeLimit(.minutes(2))) struct ByteInputStreamTests {
    private let folder: StreamFixture

    init() throws { folder = try StreamFixture() }

    // MARK: Every kind

    @Test(arguments: InputKind.allCases, [1, 2, 7, 4096, 300_000])
    func readsReturnAllBytes(kind: InputKind, size: Int) throws {
        let isSlow = size < 100 || [.slow, .early, .tinyBoundPair].contains(kind)
        let bytes = numberedBytes(isSlow ? 500 : 150_000)
        let stream = try kind.make(bytes, in: folder)
        #expect(try readAll(stream, atMost: size) == bytes)
        #expect(stream.status == .atEnd)
        #expect(try stream.read(atMost: 1) == [])
        #expect(!stream.hasBytesAvailable)
        stream.close()
        #expect(stream.status == .closed && stream.error == nil)
    }

    @Test(arguments: InputKind.allCases, 0...9)
    func streamOfEachLengthEnds(kind: InputKind, length: Int) throws {
        let stream = try kind.make(numberedBytes(length), in: folder)
        #expect(try readAll(stream, atMost: 3) == numberedBytes(length))
    }

    @Test(arguments: InputKind.allCases, [1, 5, 100_000])
    func borrowedBytesAreReadOnce(kind: InputKind, used: Int) throws {
        let bytes = numberedBytes(kind == .slow || kind == .early ? 100 : 2000)
        let stream = try kind.make(bytes, in: folder)
        stream.open()
        var all: [UInt8] = []
        while try stream.withAvailableBytes({ span in
            let part = unsafe span.withUnsafeBytes { unsafe Array($0.prefix(used)) }
            all += part
            return part.count
        }) {}
        #expect(all == bytes)
        #expect(stream.status == .atEnd)
    }

    @Test(arguments: InputKind.allCases)
    func borrowAndReadAlternate(kind: InputKind) throws {
        let bytes = numberedBytes(60)
        let stream = try kind.make(bytes, in: folder)
        stream.open()
        var all: [UInt8] = []
        while true {
            guard
                try stream.withAvailableBytes({ span in
                    unsafe all.append(span.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
                    return 1
                })
            else { break }
            all += try stream.read(atMost: 2)
        }
        #expect(all == bytes)
    }

    @Test(arguments: InputKind.allCases, [1, 16, 100_000])
    func taskReadsAllChunks(kind: InputKind, size: Int) async throws {
        let bytes = numberedBytes(kind == .slow || kind == .early ? 100 : 3000)
        let stream = try kind.make(bytes, in: folder)
        stream.open()
        var all: [UInt8] = []
        for try await chunk in stream.chunks(ofAtMost: size) {
            #expect(1...size ~= chunk.count)
            all += chunk
        }
        #expect(all == bytes)
    }

    @Test(arguments: InputKind.allCases)
    func hasBytesAvailableBecomesTrue(kind: InputKind) throws {
        let stream = try kind.make([7], in: folder)
        stream.open()
        while !stream.hasBytesAvailable { sched_yield() }
        #expect(stream.status == .open)
        #expect(try stream.read(atMost: 10) == [7])
    }

    @Test(arguments: InputKind.allCases)
    func unopenedStreamCannotBeRead(kind: InputKind) throws {
        // The streams of descriptors are already open.
        guard ![.pipe, .nonBlockingPipe, .socket, .fileDescriptor].contains(kind) else { return }
        let stream = try kind.make([7], in: folder)
        #expect(stream.status == .notOpen)
        #expect(throws: LoadError(.streamNotOpen, domain: LoadError.streamDomain, message: "the stream is not open; call open() first")) {
            try stream.read(atMost: 1)
        }
        #expect(!stream.hasBytesAvailable)
    }

    @Test(arguments: InputKind.allCases)
    func closedStreamCannotBeRead(kind: InputKind) throws {
        let stream = try kind.make(numberedBytes(100), in: folder)
        stream.open()
        #expect(!(try stream.read(atMost: 1)).isEmpty)
        stream.close()
        stream.close()
        stream.open()
        #expect(throws: LoadError(.streamNotOpen, domain: LoadError.streamDomain, message: "the stream is closed")) {
            try stream.read(atMost: 1)
        }
        #expect(!stream.hasBytesAvailable && stream.status == .closed)
    }

    @Test func fullBufferIsAnError() throws {
        let stream = ByteInputStream([1])
        stream.open()
        #expect(throws: LoadError.self) { try stream.read(atMost: 0) }
        #expect(try stream.read(atMost: 1) == [1])
    }

    // MARK: Files

    @Test(arguments: [
        (0..<3, [0, 1, 2]), (2..<4, [2, 3]), (4..<100, [4]), (5..<9, []), (7..<9, []), (0..<0, []),
    ])
    func rangeOfAFile(range: Range<Int64>, bytes: [UInt8]) throws {
        let path = try folder.write(numberedBytes(5), to: "five")
        #expect(try readAll(ByteInputStream(path: path, range: range), atMost: 2) == bytes)
    }

    @Test func fileThatCannotBeReadFailsTheStream() throws {
        for (path, code) in [
            (folder.path(of: "missing"), LoadError.Code.notFound), (folder.path, .isDirectory), ("", .badRequest), ("a\0b", .badRequest),
            ("/dev/null", .notRegularFile),
        ] {
            let stream = ByteInputStream(path: path)
            stream.open()
            #expect(stream.status == .error && stream.error?.code == code, "\(path)")
            #expect { try stream.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == code }
            stream.close()
            #expect(stream.status == .closed && stream.error?.code == code)
        }
        let stream = ByteInputStream(path: try folder.write([1], to: "one"), range: -1..<5)
        stream.open()
        #expect(stream.error?.code == .badRequest)
    }

    @Test func fileIsClosedWithItsStream() throws {
        let path = try folder.write(numberedBytes(5), to: "five")
        var stream: ByteInputStream? = ByteInputStream(path: path)
        stream?.open()
        #expect(folder.openDescriptorCount == 1)
        stream?.close()
        #expect(folder.openDescriptorCount == 0)
        stream = ByteInputStream(path: path)
        stream?.open()
        #expect(folder.openDescriptorCount == 1)
        stream = nil
        #expect(folder.openDescriptorCount == 0)
    }

    // MARK: Properties

    @Test(arguments: [InputKind.memory, .file])
    func offsetCanBeReadAndSet(kind: InputKind) throws {
        let stream = try kind.make(numberedBytes(100), in: folder)
        #expect(stream.property(.currentOffset) == 0)
        try stream.setProperty(10, for: .currentOffset)
        stream.open()
        #expect(try stream.read(atMost: 2) == [10, 11])
        // The stream has read ahead.
        #expect(stream.hasBytesAvailable)
        #expect(stream.property(.currentOffset) == 12)
        #expect(try stream.read(atMost: 1) == [12])
        try stream.setProperty(98, for: .currentOffset)
        #expect(try readAll(stream) == [98, 99])
        #expect(stream.status == .atEnd)
        try stream.setProperty(0, for: .currentOffset)
        #expect(stream.status == .open)
        #expect(try readAll(stream) == numberedBytes(100))
    }

    @Test func propertyThatCannotBeSetIsAnError() throws {
        let stream = ByteInputStream([1, 2])
        stream.open()
        for value: Int64 in [-1, 3, .max] {
            #expect { try stream.setProperty(value, for: .currentOffset) } throws: {
                ($0 as? LoadError)?.code == .streamPropertyNotSettable
            }
        }
        #expect(
            throws: LoadError(
                .streamPropertyNotSettable, domain: LoadError.streamDomain,
                message: "the property 'org.portolan.stream.native-descriptor' can't be set: it is read-only")
        ) { try stream.setProperty(1, for: .nativeDescriptor) }
        #expect { try stream.setProperty("x", for: StreamPropertyKey("org.example.other")) } throws: {
            ($0 as? LoadError)?.message.hasSuffix("this stream does not have it, or not with this value") ?? false
        }
        #expect(stream.property(.nativeDescriptor) == nil)
        #expect(stream.property(StreamPropertyKey<String>("org.example.other")) == nil)
        #expect(try readAll(stream) == [1, 2])
    }

    // MARK: Descriptors

    @Test func descriptorOfTheCallerStaysOpen() throws {
        let ends = try Descriptors.pipe()
        let stream = ByteInputStream.opened(descriptor: ends.read)
        let duplicate = try #require(stream.property(.nativeDescriptor))
        #expect(duplicate != ends.read && fcntl(duplicate, F_GETFD) == FD_CLOEXEC)
        stream.close()
        #expect(fcntl(ends.read, F_GETFD) >= 0)
        ends.closeReadEnd()
        ends.closeWriteEnd()
    }

    @Test func closedDescriptorFailsTheStream() {
        let stream = ByteInputStream.opened(descriptor: -1)
        #expect(stream.error?.code == .ioFailed)
        #expect(stream.error?.message.contains("-1") == true)
    }

    @Test func descriptorThatIsNotForReadingFailsTheStream() throws {
        let descriptor = unsafe open(folder.path(of: "new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let stream = ByteInputStream.opened(descriptor: descriptor)
        #expect { try stream.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .ioFailed }
        #expect(stream.status == .error)
    }

    // MARK: Bound pairs

    @Test func inputThatIsClosedFailsTheOutput() throws {
        let (input, output) = ByteInputStream.boundPair(bufferSize: 4)
        input.open()
        output.open()
        input.close()
        #expect { try output.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .connectionLost }
        #expect(output.status == .error)
    }

    @Test func outputThatIsReleasedTruncatesTheInput() throws {
        var pair: (input: ByteInputStream, output: ByteOutputStream?) = ByteInputStream.boundPair(bufferSize: 4)
        let input = pair.input
        input.open()
        pair.output?.open()
        try pair.output?.write(all: [1, 2])
        pair.output = nil
        #expect(try input.read(atMost: 9) == [1, 2])
        #expect { try input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .truncated }
    }

    @Test func bytesOfAClosedOutputAreRead() throws {
        let (input, output) = ByteInputStream.boundPair(bufferSize: 4)
        input.open()
        output.open()
        try output.write(all: [1, 2, 3])
        output.close()
        #expect(try readAll(input) == [1, 2, 3])
    }

    // MARK: Threads

    @Test func closeEndsAWaitingRead() async throws {
        let (input, output) = ByteInputStream.boundPair()
        input.open()
        output.open()
        let error = try OwnThread { () -> LoadError? in
            do throws(LoadError) {
                _ = try input.read(atMost: 1)
                return nil
            } catch {
                return error
            }
        }
        while !input.core.isWaitedFor { sched_yield() }
        input.close()
        #expect(try error.result()?.code == .streamNotOpen)
    }

    @Test func onlyOneThreadWaits() async throws {
        let (input, output) = ByteInputStream.boundPair()
        input.open()
        output.open()
        let bytes = try OwnThread { try input.read(atMost: 1) }
        while !input.core.isWaitedFor { sched_yield() }
        #expect { try input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .streamInUse }
        #expect { try input.schedule(on: .background) { _, _ in } } throws: { ($0 as? LoadError)?.code == .streamInUse }
        await #expect { try await input.chunks().first { _ in true } } throws: { ($0 as? LoadError)?.code == .streamInUse }
        try output.write(all: [5])
        #expect(try bytes.result() == [5])
    }

    @Test func cancelledTaskClosesTheStream() async throws {
        let (input, output) = ByteInputStream.boundPair()
        input.open()
        output.open()
        try output.write(all: [1])
        let task = Task { () -> LoadError? in
            do throws(LoadError) {
                for try await chunk in input.chunks() { #expect(chunk == [1]) }
                return nil
            } catch {
                return error
            }
        }
        while input.hasBytesAvailable || !input.core.isWaitedFor { await Task.yield() }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(input.status == .closed)
    }

    /// The source reports that it is ready for a reader that was released.
    @Test func releasedStreamClosesItsSource() throws {
        let source = SlowSource([1], isEarly: false)
        var stream: ByteInputStream? = ByteInputStream(source)
        stream?.open()
        // Asks the source, which may be ready before this returns.
        _ = stream?.hasBytesAvailable
        stream = nil
        #expect(source.isClosed)
    }
}
