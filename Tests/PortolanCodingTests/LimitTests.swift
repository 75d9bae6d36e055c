// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

/// The limits of `ContentDecodingLimits`.
@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    private static let zeros = [UInt8](repeating: 0, count: 40 << 20)
    /// A short gzip body that decodes to many megabytes.
    private static let gzipBomb = Zlib.compress(zeros, .gzip, level: 9)

    @Test func ratioLimitIsEnforced() throws {
        for pieces in [Self.gzipBomb.inOnePiece, Self.gzipBomb.split(at: 20_000)] {
            let client = try CodedBody("", "gzip", Self.gzipBomb, []).decode(in: pieces)
            #expect(client.error?.code == .limitExceeded)
            #expect(client.error?.message.contains("more than 200 times") == true)
            #expect(client.error?.message.contains("ContentDecodingLimits.maximumRatio") == true)
            #expect(client.bytes.count <= (16 << 20) + (64 << 10), "\(client.bytes.count)")
        }
    }

    @Test func ratioIsNotCheckedInSmallBodies() throws {
        let contents = [UInt8](repeating: 0, count: 16 << 20)
        let body = CodedBody("", "gzip", Zlib.compress(contents, .gzip, level: 9), contents)
        #expect(body.bytes.count * 200 < contents.count)
        body.check(try body.decode(in: body.bytes.inOnePiece))
    }

    @Test func ratioLimitCanBeChanged() throws {
        let body = CodedBody("", "gzip", Self.gzipBomb, Self.zeros)
        for ratio in [nil, 1032] {
            body.check(try body.decode(in: body.bytes.inOnePiece, limits: ContentDecodingLimits(maximumRatio: ratio)))
        }
        let client = try body.decode(in: body.bytes.inOnePiece, limits: ContentDecodingLimits(maximumRatio: 0))
        #expect(client.error?.code == .limitExceeded)
    }

    /// With several codings, the ratio of each decoder's output is relative to the received bytes of the body, not to
    /// the decoder's input.
    @Test func ratioIsRelativeToTheReceivedBytes() throws {
        let doublyCodedBomb = Zlib.compress(Self.gzipBomb, .gzip, level: 9)
        #expect(doublyCodedBomb.count < 2000)
        let client = try CodedBody("", "gzip, gzip", doublyCodedBomb, []).decode(in: doublyCodedBomb.inOnePiece)
        #expect(client.error?.code == .limitExceeded)
        let clientOfZeros = try CodedBody("", "gzip, gzip", Self.gzipBomb, []).decode(in: Self.gzipBomb.inOnePiece)
        #expect(
            clientOfZeros.error?.code == .decodingFailed,
            "the inner decoder gets zeros, which are no gzip data, so it fails before the ratio is exceeded")
        let gzipBeforeZeros = Zlib.compress(CodedBody.gzip + Self.zeros, .gzip, level: 9)
        let clientOfIgnoredZeros = try CodedBody("", "gzip, gzip", gzipBeforeZeros, []).decode(in: gzipBeforeZeros.inOnePiece)
        #expect(clientOfIgnoredZeros.error?.code == .limitExceeded, "ignored bytes count towards the ratio")
    }

    @Test(arguments: [0, 1, 20, 21, 22] as [Int64]) func decodedBytesAreLimited(limit: Int64) throws {
        let exceedsLimit = limit < Int64(CodedBody.hello.count)
        let body = CodedBody(
            "", "gzip", CodedBody.gzip, Array(CodedBody.hello.prefix(Int(limit))), exceedsLimit ? .limitExceeded : nil,
            "the body's gzip coding decodes to more than \(limit) bytes; raise ContentDecodingLimits.maximumBytes")
        let limits = ContentDecodingLimits(maximumBytes: limit)
        body.check(try body.decode(in: body.bytes.inOnePiece, limits: limits))
        body.check(try body.decode(in: body.bytes.byteByByte, limits: limits))
        body.check(try body.decode(in: body.bytes.inOnePiece, limits: limits, endsInPause: true) { _, _ in .pause })
    }

    @Test func numberOfCodingsIsLimited() throws {
        let client = try CodedBody("", "br, gzip, gzip, gzip, gzip, x", [1], []).decode(in: [[1]])
        #expect(client.events.count == 1 && client.error?.code == .limitExceeded)
        #expect(client.error?.message.contains("6 codings, and the limit is 5") == true)
    }
}
