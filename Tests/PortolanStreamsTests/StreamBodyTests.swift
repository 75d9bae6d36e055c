// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanStreams
import PortolanTestSupport
import TestThreads
import Testing

@Suite(.blocking, .timeLimit(.minutes(2))) struct StreamBodyTests {
    private let folder: StreamFixture

    init() throws { folder = try StreamFixture() }

    /// Reads a body as a load does.
    private func contents(of body: Body) throws -> [UInt8] { try readAll(ByteInputStream(body), atMost: 7) }

    @Test(arguments: InputKind.allCases)
    func streamIsABody(kind: InputKind) throws {
        let bytes = numberedBytes(100)
        let stream = try kind.make(bytes, in: folder)
        let body = Body.stream(stream)
        #expect(try contents(of: body) == bytes)
        let canSeek = [.memory, .file, .partOfFile].contains(kind)
        #expect(body.isRewindable == canSeek && body.length == nil)
        if canSeek {
            #expect(try contents(of: body) == bytes)
        } else {
            #expect { try contents(of: body) } throws: { ($0 as? LoadError)?.code == .bodyFailed }
        }
    }

    @Test func bodyBeginsAtTheOffsetOfTheStream() throws {
        let stream = ByteInputStream(numberedBytes(10))
        try stream.setProperty(7, for: .currentOffset)
        let body = Body.stream(stream, length: 3)
        for _ in 1...2 { #expect(try contents(of: body) == [7, 8, 9]) }
    }

    @Test(arguments: [9, 11])
    func wrongLengthFailsTheBody(length: Int64) throws {
        let body = Body.stream(ByteInputStream(numberedBytes(10)), length: length)
        #expect { try contents(of: body) } throws: { ($0 as? LoadError)?.code == .bodyFailed }
    }

    @Test func discardedBodyClosesTheStream() throws {
        let (input, output) = ByteInputStream.boundPair()
        Body.stream(input).discard()
        output.open()
        #expect(input.status == .closed)
        #expect { try output.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .connectionLost }
    }

    @Test func streamWithEventsCannotBeABody() throws {
        let (input, output) = ByteInputStream.boundPair()
        output.open()
        let body = Body.stream(input)
        try input.schedule(on: .background) { _, _ in }
        #expect { try contents(of: body) } throws: {
            let error = $0 as? LoadError
            return error?.code == .bodyFailed && (error?.underlyingError as? LoadError)?.code == .streamInUse
        }
    }

    @Test func errorOfAStreamFailsTheBody() throws {
        let body = Body.stream(ByteInputStream(path: folder.path(of: "missing")))
        #expect { try contents(of: body) } throws: {
            (($0 as? LoadError)?.underlyingError as? LoadError)?.code == .notFound
        }
    }

    @Test func sequenceIsAStream() throws {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for number: UInt8 in 0..<5 { continuation.yield([number, number]) }
        continuation.finish()
        #expect(try readAll(ByteInputStream(.stream(chunks))) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    }
}

@Suite struct StreamsPageTests {
    /// The page shows the code that InputKind.filter tests.
    @Test func pageContainsTheCompiledExample() throws {
        let thisFile = URL(filePath: #filePath)
        let source = try String(contentsOf: thisFile.deletingLastPathComponent().appending(path: "ChecksumSource.swift"), encoding: .utf8)
        let package = (0..<3).reduce(thisFile) { folder, _ in folder.deletingLastPathComponent() }
        let page = try String(contentsOf: package.appending(path: "Sources/Portolan/Portolan.docc/streams.md"), encoding: .utf8)
        let code = try #require(source.components(separatedBy: "example of streams.md.\n\n").last)
        #expect(code.count > 500 && page.contains("```swift\n" + code + "```"))
    }

    /// RFC 1950 §8.2; the value is that of zlib's adler32().
    @Test func checksumOfTheExampleIsRight() throws {
        let source = ChecksumSource(ByteInputStream(Array("Wikipedia".utf8)).makeSource())
        #expect(try readAll(ByteInputStream(source), atMost: 2) == Array("Wikipedia".utf8))
        #expect(source.checksum == 0x11E6_0398)
    }
}
