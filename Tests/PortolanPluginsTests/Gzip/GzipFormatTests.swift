// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Testing

/// The files that the gzip plugin accepts, and their decompressed contents.
@Suite(.timeLimit(.minutes(2))) struct GzipFormatTests {
    private static let rich = GzipSample(name: "chart.txt", extra: [1, 2, 3], comment: "north up", hasHeaderCheck: true)
    private static let contents = Array("the first member, the second\n".utf8)
    private static let first = rich.member(Array(contents.prefix(16)))
    private static let second = GzipSample().member(Array(contents.dropFirst(16)))

    private func load(_ file: [UInt8], inPiecesOf count: Int = .max) throws -> Result<[UInt8], LoadError> {
        let harness = try GzipHarness(count == .max ? [file] : file.pieces(of: count))
        let result = harness.load()
        #expect(harness.violations.isEmpty)
        return result
    }

    struct Sound: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: [UInt8]
        let contents: [UInt8]
    }

    static let sound = [
        Sound(testDescription: "two members", file: first + second, contents: contents),
        Sound(testDescription: "an empty one", file: GzipSample().member([]), contents: []),
        Sound(
            testDescription: "empty ones around", file: rich.member([]) + first + GzipSample().member([]) + second + rich.member([]),
            contents: contents),
        Sound(testDescription: "zeros after it", file: first + second + [UInt8](repeating: 0, count: 1000), contents: contents),
        Sound(testDescription: "one zero after it", file: first + [0], contents: Array(contents.prefix(16))),
        Sound(testDescription: "fixed codes", file: GzipSample().zeros(100_000), contents: [UInt8](repeating: 0, count: 100_000)),
    ]

    @Test(arguments: sound, [Int.max, 1, 7]) func validFileIsDecompressed(_ example: Sound, _ pieceSize: Int) throws {
        let result = try load(example.file, inPiecesOf: pieceSize)
        #expect(result == .success(example.contents))
    }

    /// Larger than every buffer involved, and not a multiple of any.
    @Test(arguments: [Int.max, 65_537]) func aLargeFileIsDecompressed(_ pieceSize: Int) throws {
        let contents = (0..<1_500_001).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        let result = try load(GzipSample().member(contents), inPiecesOf: pieceSize)
        #expect(result == .success(contents))
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        let file: [UInt8]
        let phrase: String
        var testDescription: String { phrase }

        init(_ file: [UInt8], _ phrase: String) {
            (self.file, self.phrase) = (file, phrase)
        }
    }

    private static func changed(_ file: [UInt8], at index: Int) -> [UInt8] {
        var file = file
        file[index >= 0 ? index : file.count + index] ^= 0x10
        return file
    }

    static let malformed = [
        Malformed(Array("Hello".utf8), "incorrect header check"),
        Malformed([0, 0x1f, 0x8b], "incorrect header check"),
        Malformed(changed(first, at: 1), "incorrect header check"),
        Malformed(changed(first, at: 2), "unknown compression method"),
        Malformed([0x1f, 0x8b, 8, 0x80, 0, 0], "unknown header flags set"),
        Malformed(changed(first, at: 12), "header crc mismatch"),
        Malformed(changed(second, at: -5), "incorrect data check"),
        Malformed(first + changed(second, at: -1), "incorrect length check"),
        Malformed(first + Array("x".utf8), "something follows its end"),
        Malformed(first + changed(second, at: 0), "something follows its end"),
        Malformed(first + [0, 0] + second, "something follows the zeros after its end"),
    ]

    @Test(arguments: malformed, [Int.max, 1]) func malformedFileFailsWithTheMessageOfZlib(_ example: Malformed, _ pieceSize: Int) throws {
        let error = try #require(load(example.file, inPiecesOf: pieceSize).error)
        #expect(error.code == .decodingFailed)
        #expect(error.message.contains(example.phrase), "\(error.message)")
    }

    /// A cut at any byte except the end of a member is detected (NEST-05, BODY-10).
    @Test(arguments: [Int.max, 1]) func fileCutAtAnyByteIsTruncated(_ pieceSize: Int) throws {
        let file = Self.first + Self.second
        for count in 0..<file.count {
            let result = try load(Array(file.prefix(count)), inPiecesOf: pieceSize)
            if count == Self.first.count {
                #expect(result == .success(Array(Self.contents.prefix(16))))
            } else {
                #expect(result.error?.code == .truncated, "cut after \(count) bytes")
            }
        }
    }

    /// A changed bit causes an error or leaves the contents unchanged. Only the checksums decide whether a load
    /// finishes.
    @Test func changedBitNeverYieldsOtherContents() throws {
        let contents = [UInt8](repeating: 0, count: 600)
        let file = Self.rich.zeros(300) + GzipSample().zeros(300)
        var harmless = 0
        for index in file.indices {
            for bit in 0..<8 {
                var changed = file
                changed[index] ^= 1 << bit
                switch try load(changed) {
                case .success(let bytes):
                    #expect(bytes == contents, "bit \(bit) of byte \(index)")
                    harmless += 1
                case .failure(let error):
                    #expect([.decodingFailed, .truncated].contains(error.code), "bit \(bit) of byte \(index): \(error)")
                }
            }
        }
        // In the second member: the time, the hint, the system, and the text flag. In each member: the bit after its
        // last code.
        #expect(harmless == 6 * 8 + 1 + 2)
    }
}
