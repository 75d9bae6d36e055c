// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

@Suite(.timeLimit(.minutes(10))) struct DecodingTests {
    @Test(arguments: CodedBody.valid + CodedBody.malformed) func contentsAreDecoded(body: CodedBody) throws {
        body.check(try body.decode(in: body.bytes.whole))
    }

    @Test(arguments: CodedBody.valid + CodedBody.malformed) func sizesOfPiecesDoNotChangeTheContents(body: CodedBody) throws {
        body.check(try body.decode(in: body.bytes.byteByByte))
        for index in body.bytes.indices.prefix(body.bytes.count > 1000 ? 25 : 80) {
            body.check(try body.decode(in: body.bytes.cut(at: index)))
        }
    }

    @Test(arguments: CodedBody.valid + CodedBody.malformed) func pausesDoNotChangeTheContents(body: CodedBody) throws {
        for endsInPause in [false, true] {
            let pauseAll = try body.decode(in: body.bytes.whole, endsInPause: endsInPause) { _, _ in .pause }
            body.check(pauseAll)
            body.check(try body.decode(in: body.bytes.byteByByte, endsInPause: endsInPause) { _, _ in .pause })
            for point in pauseAll.events.indices {
                body.check(
                    try body.decode(in: body.bytes.whole, endsInPause: endsInPause) { index, _ in index == point ? .pause : .keepGoing })
            }
        }
    }

    /// A body that is cut fails after the contents that it holds. A cut between members does not fail, because no byte
    /// announces another member. A cut in ignored bytes does not fail either.
    @Test(arguments: CodedBody.valid.filter { $0.bytes.count < 1000 }) func truncatedBodyFails(body: CodedBody) throws {
        for count in body.bytes.indices {
            let cut = CodedBody("", body.codings, Array(body.bytes[..<count]), [])
            for pieces in [cut.bytes.whole, cut.bytes.byteByByte] {
                let client = try cut.decode(in: pieces)
                #expect(body.contents.starts(with: client.bytes))
                if client.error == nil {
                    #expect(count == 0 || Self.canEnd(cut), "\(count) bytes")
                } else {
                    #expect(client.error?.code == .truncated && !Self.canEnd(cut), "\(count) bytes")
                    #expect(client.error?.message.contains("ends after") == true)
                }
            }
        }
    }

    private static func canEnd(_ body: CodedBody) -> Bool {
        let coded = [
            CodedBody.gzip, CodedBody.gzipWithAllFields, CodedBody.gzipOfNothing, CodedBody.zlib, CodedBody.raw, CodedBody.rawOfGzip,
        ]
        return coded.contains { body.bytes.starts(with: $0) && areCompleteMembers(Array(body.bytes[$0.count...]), coded) }
    }

    /// Whether the bytes are complete members, followed by bytes that begin no member.
    private static func areCompleteMembers(_ rest: [UInt8], _ coded: [[UInt8]]) -> Bool {
        guard rest.starts(with: [0x1F, 0x8B]) else { return true }
        return coded.contains { rest.starts(with: $0) && areCompleteMembers(Array(rest[$0.count...]), coded) }
    }

    @Test func randomDataInRandomPiecesIsDecoded() throws {
        var generator = SeededGenerator(seed: 77)
        for round in 0..<300 {
            let count = Int.random(in: 0...(round % 10 == 0 ? 300_000 : 3000), using: &generator)
            let alphabet = UInt8.random(in: 0...255, using: &generator)
            let contents = generator.bytes(count).map { $0 & alphabet }
            let wrapping = Deflated.Wrapping.allCases[round % 3]
            let coded = Deflated.make(
                contents, wrapping, level: Int32.random(in: 0...9, using: &generator), strategy: Int32.random(in: 0...4, using: &generator))
            var pieces: [[UInt8]] = []
            var rest = coded[...]
            let longest = Int.random(in: 1...max(1, coded.count), using: &generator)
            while !rest.isEmpty {
                let length = Int.random(in: 1...longest, using: &generator)
                pieces.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            let pausePeriod = Int.random(in: 1...5, using: &generator)
            let body = CodedBody("\(round)", wrapping.coding, coded, contents)
            body.check(
                try body.decode(in: pieces, endsInPause: round % 2 == 0) { index, _ in index % pausePeriod == 0 ? .pause : .keepGoing })
        }
    }

    @Test func outputIsDeliveredAsSoonAsItIsDecoded() throws {
        let body = CodedBody("", "gzip", CodedBody.gzip, CodedBody.hello)
        let client = try body.decode(in: body.bytes.byteByByte)
        #expect(client.events.filter { $0 == .data(1) }.count > 5, "not kept until a buffer is full")
    }
}
