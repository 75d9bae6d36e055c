// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// The decoding of valid, malformed and truncated bodies, received in pieces of different sizes and with pauses.
@Suite(.timeLimit(.minutes(10))) struct DecodingTests {
    @Test(arguments: CodedBody.validBodies + CodedBody.malformedBodies) func bodyReceivedInOnePieceIsDecoded(body: CodedBody) throws {
        body.check(try body.decode(in: body.bytes.inOnePiece))
    }

    @Test(arguments: CodedBody.validBodies + CodedBody.malformedBodies) func pieceSizesDoNotChangeTheContents(body: CodedBody) throws {
        body.check(try body.decode(in: body.bytes.byteByByte))
        for index in body.bytes.indices.prefix(body.bytes.count > 1000 ? 25 : 80) {
            body.check(try body.decode(in: body.bytes.split(at: index)))
        }
    }

    @Test(arguments: CodedBody.validBodies + CodedBody.malformedBodies) func pausesDoNotChangeTheContents(body: CodedBody) throws {
        for endsInPause in [false, true] {
            let pausedClient = try body.decode(in: body.bytes.inOnePiece, endsInPause: endsInPause) { _, _ in .pause }
            body.check(pausedClient)
            body.check(try body.decode(in: body.bytes.byteByByte, endsInPause: endsInPause) { _, _ in .pause })
            for pauseIndex in pausedClient.events.indices {
                body.check(
                    try body.decode(in: body.bytes.inOnePiece, endsInPause: endsInPause) { index, _ in
                        index == pauseIndex ? .pause : .keepGoing
                    })
            }
        }
    }

    /// A truncated body fails, after the contents before the truncation are delivered. A body that ends between two
    /// gzip members does not fail, because no byte announces the second member. A body that ends in the ignored bytes
    /// does not fail either.
    @Test(arguments: CodedBody.validBodies.filter { $0.bytes.count < 1000 }) func truncatedBodyFails(body: CodedBody) throws {
        for count in body.bytes.indices {
            let truncatedBody = CodedBody("", body.contentEncoding, Array(body.bytes[..<count]), [])
            for pieces in [truncatedBody.bytes.inOnePiece, truncatedBody.bytes.byteByByte] {
                let client = try truncatedBody.decode(in: pieces)
                #expect(body.expectedContents.starts(with: client.bytes))
                if client.error == nil {
                    #expect(count == 0 || Self.endsAfterCompleteMembers(truncatedBody), "\(count) bytes")
                } else {
                    #expect(client.error?.code == .truncated && !Self.endsAfterCompleteMembers(truncatedBody), "\(count) bytes")
                    #expect(client.error?.message.contains("ends after") == true)
                }
            }
        }
    }

    /// Whether the body is complete gzip members or one complete deflate stream, perhaps followed by ignored bytes.
    private static func endsAfterCompleteMembers(_ body: CodedBody) -> Bool {
        let members = [
            CodedBody.gzip, CodedBody.gzipWithOptionalFields, CodedBody.gzipOfEmptyContents, CodedBody.zlib, CodedBody.rawDeflate,
            CodedBody.rawDeflateOfGzip,
        ]
        return members.contains { body.bytes.starts(with: $0) && areCompleteMembers(Array(body.bytes[$0.count...]), members) }
    }

    /// Whether the bytes are any number of complete `members`, followed by bytes that do not begin another gzip member.
    private static func areCompleteMembers(_ bytes: [UInt8], _ members: [[UInt8]]) -> Bool {
        guard bytes.starts(with: [0x1F, 0x8B]) else { return true }
        return members.contains { bytes.starts(with: $0) && areCompleteMembers(Array(bytes[$0.count...]), members) }
    }

    @Test func randomDataInRandomPiecesIsDecoded() throws {
        var generator = SeededGenerator(seed: 77)
        for round in 0..<300 {
            let count = Int.random(in: 0...(round % 10 == 0 ? 300_000 : 3000), using: &generator)
            let usedBits = UInt8.random(in: 0...255, using: &generator)
            let contents = generator.bytes(count).map { $0 & usedBits }
            let wrapping = Zlib.Wrapping.allCases[round % 3]
            let coded = Zlib.compress(
                contents, wrapping, level: Int32.random(in: 0...9, using: &generator), strategy: Int32.random(in: 0...4, using: &generator))
            var pieces: [[UInt8]] = []
            var remainingBytes = coded[...]
            let maximumLength = Int.random(in: 1...max(1, coded.count), using: &generator)
            while !remainingBytes.isEmpty {
                let length = Int.random(in: 1...maximumLength, using: &generator)
                pieces.append(Array(remainingBytes.prefix(length)))
                remainingBytes = remainingBytes.dropFirst(length)
            }
            let pausePeriod = Int.random(in: 1...5, using: &generator)
            let body = CodedBody("\(round)", wrapping.contentCoding, coded, contents)
            body.check(
                try body.decode(in: pieces, endsInPause: round % 2 == 0) { index, _ in index % pausePeriod == 0 ? .pause : .keepGoing })
        }
    }

    @Test func outputIsDeliveredAsSoonAsItIsDecoded() throws {
        let body = CodedBody("", "gzip", CodedBody.gzip, CodedBody.hello)
        let client = try body.decode(in: body.bytes.byteByByte)
        #expect(client.events.filter { $0 == .data(1) }.count > 5, "the output is delivered before a buffer is full")
    }
}
