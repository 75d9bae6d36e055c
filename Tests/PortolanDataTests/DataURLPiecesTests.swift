// SPDX-License-Identifier: Apache-2.0

import PortolanData
import PortolanTestSupport
import Testing

/// Decoding of `data:` URLs in pieces, and where the decoder stops.
@Suite struct DataURLPiecesTests {
    /// URLs with bodies of some 200 bytes, one for each form that a body can have, and the decoded bytes.
    static let samples: [(url: String, bytes: [UInt8])] = {
        var generator = SeededGenerator(seed: 7)
        let bytes = generator.bytes(211)
        let plain = Array(String(repeating: "The quick brown fox. ", count: 10).utf8)
        let base64 = ReferenceDecoder.encodeBase64(bytes).map { String(Unicode.Scalar($0)) }
        let base64InLines = base64.enumerated().map { $0.isMultiple(of: 19) ? "%0D%0A\($1)" : $1 }.joined()
        let base64WithEscapes = base64.map { $0 == "+" || $0 == "/" || $0 == "=" ? "%" + String($0.utf8.first ?? 0, radix: 16) : $0 }
            .joined()
        let percentEncoded = bytes.map { $0 < 0x80 ? "x" : "%" + String($0, radix: 16) }.joined()
        return [
            ("data:,\(String(decoding: plain, as: UTF8.self))", plain),
            ("data:,\(percentEncoded)", bytes.map { $0 < 0x80 ? UInt8(ascii: "x") : $0 }),
            ("data:,%41\(String(decoding: plain, as: UTF8.self))%", [0x41] + plain + [0x25]),
            ("data:;base64,\(base64.joined())", bytes),
            ("data:;base64,\(base64InLines)", bytes),
            ("data:;base64,\(base64WithEscapes)", bytes),
            ("data:;base64,\(base64.joined(separator: " "))", bytes),
            ("data:,", []),
            ("data:;base64,", []),
        ]
    }()

    @Test(arguments: samples.indices, 1...70) func everyBufferSizeGivesTheSameBody(sample: Int, size: Int) throws {
        var decoder = try DataURLDecoder(parsing: Self.samples[sample].url)
        #expect(decoder.length == Self.samples[sample].bytes.count)
        #expect(decoder.decodeAll(pieceSize: size) == Self.samples[sample].bytes)
    }

    @Test(arguments: samples.indices) func noByteIsDecodedAfterTheEndOrIntoAnEmptyBuffer(sample: Int) throws {
        var decoder = try DataURLDecoder(parsing: Self.samples[sample].url)
        var emptyBytes: [UInt8] = []
        var emptyBuffer = emptyBytes.mutableSpan
        #expect(decoder.decode(into: &emptyBuffer) == 0)
        #expect(decoder.remaining == decoder.length)
        _ = decoder.decodeAll()
        var threeBytes: [UInt8] = [1, 2, 3]
        var buffer = threeBytes.mutableSpan
        #expect(decoder.decode(into: &buffer) == 0)
        #expect(decoder.remaining == 0)
    }

    @Test(arguments: samples.indices) func copyOfTheDecoderContinuesIndependently(sample: Int) throws {
        var decoder = try DataURLDecoder(parsing: Self.samples[sample].url)
        var bytes = [UInt8](repeating: 0, count: 50)
        var buffer = bytes.mutableSpan
        let count = decoder.decode(into: &buffer)
        var copy = decoder
        let remainingBytes = Array(Self.samples[sample].bytes.dropFirst(count))
        #expect(copy.decodeAll() == remainingBytes)
        #expect(decoder.decodeAll(pieceSize: 7) == remainingBytes)
    }

    @Test(arguments: samples.indices) func truncatedURLsAreDecodedLikeTheReference(sample: Int) {
        let url = Array(Self.samples[sample].url.utf8)
        for end in 0...url.count {
            let text = String(decoding: url[..<end], as: UTF8.self)
            let expectedBody: [UInt8]? =
                switch url.firstIndex(of: UInt8(ascii: ",")) {
                case .some(let comma) where comma < end:
                    text.contains(";base64,")
                        ? ReferenceDecoder.decodeBase64(ReferenceDecoder.percentDecode(Array(url[(comma + 1)..<end])))
                        : ReferenceDecoder.percentDecode(Array(url[(comma + 1)..<end]))
                default: nil
                }
            #expect(decodedBody(of: text) == expectedBody, "\(text)")
        }
    }

    @Test func fragmentIsNotDecoded() throws {
        for (url, bytes) in Self.samples {
            var decoder = try DataURLDecoder(parsing: url + "#frag,ment%41", fragmentOffset: url.utf8.count)
            #expect(decoder.decodeAll() == bytes)
        }
        #expect(throws: DataURLError.missingComma(endOffset: 9)) { try DataURLDecoder(parsing: "data:text#,", fragmentOffset: 9) }
        // The decoder does not complete an escape or a base64 group with bytes of the fragment.
        var decoder = try DataURLDecoder(parsing: "data:,%4#1", fragmentOffset: 8)
        #expect(decoder.decodeAll() == Array("%4".utf8))
        decoder = try DataURLDecoder(parsing: "data:;base64,QU#JD", fragmentOffset: 15)
        #expect(decoder.decodeAll() == [0x41])
    }

    @Test(arguments: 0...60) func bytesAfterTheFragmentOffsetAreIgnored(length: Int) throws {
        // Here the bytes after the offset continue the base64 text or the escapes, without a number sign between.
        let text = String(repeating: "QUJD", count: 20)
        var decoder = try? DataURLDecoder(parsing: "data:;base64," + text, fragmentOffset: 13 + length)
        #expect(decoder?.decodeAll() == ReferenceDecoder.decodeBase64(Array(text.utf8.prefix(length))))
        let escapes = String(repeating: "%41", count: 30)
        decoder = try DataURLDecoder(parsing: "data:," + escapes, fragmentOffset: 6 + length)
        #expect(decoder?.decodeAll() == ReferenceDecoder.percentDecode(Array(escapes.utf8.prefix(length))))
    }

    @Test(arguments: [Int.min, -1, 0, 7, 8, Int.max]) func fragmentOffsetOutsideTheURLCausesNoTrap(offset: Int) {
        let decoder = try? DataURLDecoder(parsing: "data:,ab", fragmentOffset: offset)
        #expect(decoder?.length == (offset >= 8 ? 2 : offset == 7 ? 1 : nil))
    }

    @Test func takeVerbatimReturnsRangesOfAnUnencodedBody() throws {
        let url = "data:text/html,Hello, World"
        var decoder = try DataURLDecoder(parsing: url)
        #expect(decoder.takeVerbatim(upTo: 5) == 15..<20)
        #expect(decoder.takeVerbatim(upTo: -1) == 20..<20)
        #expect(decoder.remaining == 7)
        var bytes = [UInt8](repeating: 0, count: 2)
        var buffer = bytes.mutableSpan
        #expect(decoder.decode(into: &buffer) == 2)
        #expect(bytes == Array(", ".utf8))
        #expect(decoder.takeVerbatim(upTo: .max) == 22..<27)
        #expect(decoder.takeVerbatim(upTo: .max) == 27..<27)
        #expect(decoder.remaining == 0)
        #expect(Array(Array(url.utf8)[22..<27]) == Array("World".utf8))
    }

    @Test(arguments: ["data:,a%20b", "data:;base64,QUI", "data:;base64,"]) func takeVerbatimReturnsNilForAnEncodedBody(url: String) throws {
        var decoder = try DataURLDecoder(parsing: url)
        let length = decoder.length
        #expect(decoder.takeVerbatim(upTo: .max) == nil)
        #expect(decoder.remaining == length)
    }

    @Test func decoderIsTooSmallToHoldABuffer() {
        #expect(MemoryLayout<DataURLDecoder>.size <= 128)
    }
}
