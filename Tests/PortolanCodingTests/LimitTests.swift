// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanCoding

@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    private static let zeros = [UInt8](repeating: 0, count: 40 << 20)
    private static let bomb = Deflated.make(zeros, .gzip, level: 9)

    @Test func ratioLimitIsEnforced() throws {
        for pieces in [Self.bomb.whole, Self.bomb.cut(at: 20_000)] {
            let client = try CodedBody("", "gzip", Self.bomb, []).decode(in: pieces)
            #expect(client.error?.code == .limitExceeded)
            #expect(client.error?.message.contains("more than 200 times") == true)
            #expect(client.error?.message.contains("ContentDecodingLimits.maximumRatio") == true)
            #expect(client.bytes.count <= (16 << 20) + (64 << 10), "\(client.bytes.count)")
        }
    }

    @Test func ratioIsNotCheckedInSmallBodies() throws {
        let contents = [UInt8](repeating: 0, count: 16 << 20)
        let body = CodedBody("", "gzip", Deflated.make(contents, .gzip, level: 9), contents)
        #expect(body.bytes.count * 200 < contents.count)
        body.check(try body.decode(in: body.bytes.whole))
    }

    @Test func ratioCanBeSet() throws {
        let body = CodedBody("", "gzip", Self.bomb, Self.zeros)
        for ratio in [nil, 1032] { body.check(try body.decode(in: body.bytes.whole, limits: ContentDecodingLimits(maximumRatio: ratio))) }
        let client = try body.decode(in: body.bytes.whole, limits: ContentDecodingLimits(maximumRatio: 0))
        #expect(client.error?.code == .limitExceeded)
    }

    /// A bomb inside another coding, or whose output is coded again. The ratio of each level is relative to the
    /// received bytes.
    @Test func ratioIsRelativeToTheReceivedBytes() throws {
        let hidden = Deflated.make(Self.bomb, .gzip, level: 9)
        #expect(hidden.count < 2000)
        let client = try CodedBody("", "gzip, gzip", hidden, []).decode(in: hidden.whole)
        #expect(client.error?.code == .limitExceeded)
        let inner = try CodedBody("", "gzip, gzip", Self.bomb, []).decode(in: Self.bomb.whole)
        #expect(inner.error?.code == .decodingFailed, "zeros are no gzip data, so decoding fails before the ratio is exceeded")
        let padded = Deflated.make(CodedBody.gzip + Self.zeros, .gzip, level: 9)
        let swallowed = try CodedBody("", "gzip, gzip", padded, []).decode(in: padded.whole)
        #expect(swallowed.error?.code == .limitExceeded, "ignored bytes count towards the ratio")
    }

    @Test(arguments: [0, 1, 20, 21, 22] as [Int64]) func decodedBytesAreLimited(limit: Int64) throws {
        let isOver = limit < Int64(CodedBody.hello.count)
        let body = CodedBody(
            "", "gzip", CodedBody.gzip, Array(CodedBody.hello.prefix(Int(limit))), isOver ? .limitExceeded : nil,
            "the body's gzip coding decodes to more than \(limit) bytes; raise ContentDecodingLimits.maximumBytes")
        let limits = ContentDecodingLimits(maximumBytes: limit)
        body.check(try body.decode(in: body.bytes.whole, limits: limits))
        body.check(try body.decode(in: body.bytes.byteByByte, limits: limits))
        body.check(try body.decode(in: body.bytes.whole, limits: limits, endsInPause: true) { _, _ in .pause })
    }

    @Test func numberOfCodingsIsLimited() throws {
        let client = try CodedBody("", "br, gzip, gzip, gzip, gzip, x", [1], []).decode(in: [[1]])
        #expect(client.events.count == 1 && client.error?.code == .limitExceeded)
        #expect(client.error?.message.contains("6 codings, and the limit is 5") == true)
    }
}
