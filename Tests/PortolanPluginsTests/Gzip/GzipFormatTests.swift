// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Testing

/// The files that the gzip plugin accepts, and their decompressed contents.
@Suite(.timeLimit(.minutes(2))) struct GzipFormatTests {
    private static let sampleWithAllFields = GzipSample(name: "chart.txt", extra: [1, 2, 3], comment: "north up", hasHeaderCheck: true)
    private static let contents = Array("the first member, the second\n".utf8)
    private static let firstMember = sampleWithAllFields.member(Array(contents.prefix(16)))
    private static let secondMember = GzipSample().member(Array(contents.dropFirst(16)))

    private func load(_ file: [UInt8], inPiecesOf count: Int = .max) throws -> Result<[UInt8], LoadError> {
        let harness = try GzipHarness(count == .max ? [file] : file.pieces(of: count))
        let result = harness.load()
        #expect(harness.violations.isEmpty)
        return result
    }

    struct ValidFile: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: [UInt8]
        let contents: [UInt8]
    }

    static let validFiles = [
        ValidFile(testDescription: "two members", file: firstMember + secondMember, contents: contents),
        ValidFile(testDescription: "an empty member", file: GzipSample().member([]), contents: []),
        ValidFile(
            testDescription: "empty members around the others",
            file: sampleWithAllFields.member([]) + firstMember + GzipSample().member([]) + secondMember + sampleWithAllFields.member([]),
            contents: contents),
        ValidFile(
            testDescription: "zeros after the last member", file: firstMember + secondMember + [UInt8](repeating: 0, count: 1000),
            contents: contents),
        ValidFile(testDescription: "one zero after the last member", file: firstMember + [0], contents: Array(contents.prefix(16))),
        ValidFile(testDescription: "fixed codes", file: GzipSample().zeros(100_000), contents: [UInt8](repeating: 0, count: 100_000)),
    ]

    @Test(arguments: validFiles, [Int.max, 1, 7]) func validFileIsDecompressed(_ example: ValidFile, _ pieceSize: Int) throws {
        let result = try load(example.file, inPiecesOf: pieceSize)
        #expect(result == .success(example.contents))
    }

    /// The contents are larger than every buffer of the host and the plugin, and no multiple of their sizes.
    @Test(arguments: [Int.max, 65_537]) func largeFileIsDecompressed(_ pieceSize: Int) throws {
        let contents = (0..<1_500_001).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        let result = try load(GzipSample().member(contents), inPiecesOf: pieceSize)
        #expect(result == .success(contents))
    }

    struct MalformedFile: Sendable, CustomTestStringConvertible {
        let file: [UInt8]
        let expectedText: String
        var testDescription: String { expectedText }

        init(_ file: [UInt8], _ expectedText: String) {
            (self.file, self.expectedText) = (file, expectedText)
        }
    }

    /// Changes one bit of a byte. A negative index counts from the end.
    private static func changingBit(_ file: [UInt8], at index: Int) -> [UInt8] {
        var file = file
        file[index >= 0 ? index : file.count + index] ^= 0x10
        return file
    }

    static let malformedFiles = [
        MalformedFile(Array("Hello".utf8), "incorrect header check"),
        MalformedFile([0, 0x1f, 0x8b], "incorrect header check"),
        MalformedFile(changingBit(firstMember, at: 1), "incorrect header check"),
        MalformedFile(changingBit(firstMember, at: 2), "unknown compression method"),
        MalformedFile([0x1f, 0x8b, 8, 0x80, 0, 0], "unknown header flags set"),
        MalformedFile(changingBit(firstMember, at: 12), "header crc mismatch"),
        MalformedFile(changingBit(secondMember, at: -5), "incorrect data check"),
        MalformedFile(firstMember + changingBit(secondMember, at: -1), "incorrect length check"),
        MalformedFile(firstMember + Array("x".utf8), "something follows its end"),
        MalformedFile(firstMember + changingBit(secondMember, at: 0), "something follows its end"),
        MalformedFile(firstMember + [0, 0] + secondMember, "something follows the zeros after its end"),
    ]

    @Test(arguments: malformedFiles, [Int.max, 1]) func malformedFileFailsWithTheMessageOfZlib(_ example: MalformedFile, _ pieceSize: Int)
        throws
    {
        let error = try #require(load(example.file, inPiecesOf: pieceSize).error)
        #expect(error.code == .decodingFailed)
        #expect(error.message.contains(example.expectedText), "\(error.message)")
    }

    /// A cut at any byte except the end of a member is detected (NEST-05, BODY-10).
    @Test(arguments: [Int.max, 1]) func fileCutAtAnyByteIsTruncated(_ pieceSize: Int) throws {
        let file = Self.firstMember + Self.secondMember
        for count in 0..<file.count {
            let result = try load(Array(file.prefix(count)), inPiecesOf: pieceSize)
            if count == Self.firstMember.count {
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
        let file = Self.sampleWithAllFields.zeros(300) + GzipSample().zeros(300)
        var harmlessBitCount = 0
        for index in file.indices {
            for bit in 0..<8 {
                var changed = file
                changed[index] ^= 1 << bit
                switch try load(changed) {
                case .success(let bytes):
                    #expect(bytes == contents, "bit \(bit) of byte \(index)")
                    harmlessBitCount += 1
                case .failure(let error):
                    #expect([.decodingFailed, .truncated].contains(error.code), "bit \(bit) of byte \(index): \(error)")
                }
            }
        }
        // These bits of the header change nothing: in the second member the time, the compression hint, the system, and
        // the text flag; in each member the bit after the last code.
        #expect(harmlessBitCount == 6 * 8 + 1 + 2)
    }
}
