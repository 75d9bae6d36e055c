// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

/// The encoding of entries for stores that outlive the process.
@Suite struct CacheEntryHeadTests {
    /// A head with everything, chosen by a number.
    private func head(_ seed: UInt64) throws -> CacheEntryHead {
        var random = SplitMix(state: seed)
        func text(_ random: inout SplitMix) -> String {
            String(repeating: ["a", "\u{0}", "é", "\u{1F600}"][random.below(4)], count: random.below(5))
        }
        func optional<Value>(_ random: inout SplitMix, _ value: Value) -> Value? { random.below(2) == 0 ? value : nil }
        func fields(_ random: inout SplitMix) throws -> HTTPFields {
            var fields = HTTPFields()
            for _ in 0..<random.below(5) {
                let name = try #require(HTTPField.Name(["ETag", "x-a", "X-A", "Vary"][random.below(4)]))
                fields.append(HTTPField(name: name, value: (0..<random.below(4)).map { _ in UInt8(33 + random.below(223)) }))
            }
            return fields
        }
        let url = try URLRecord(
            parsing: ["https://example.org/a?q", "http://xn--bcher-kva.example:81/%00", "echo:x", "file:///a"][random.below(4)])
        var attributes = CacheAttributes(
            Response(
                url: url, mimeType: optional(&random, MIMEType(parsing: "text/plain;charset=utf-8")).flatMap { $0 },
                textEncodingName: optional(&random, "UTF-8"), expectedLength: optional(&random, Int64(random.below(99))),
                suggestedFilename: optional(&random, text(&random)), status: optional(&random, .ok)))
        attributes.isVerified = random.below(2) == 0
        for _ in 0..<random.below(3) { attributes.remainingContentCodings.append(text(&random)) }
        for _ in 0..<random.below(3) { attributes.userInfo[text(&random)] = text(&random) }
        var ranges = ByteRangeSet()
        for _ in 0..<random.below(4) {
            let start = Int64(random.below(1000))
            ranges.insert(start..<start + Int64(random.below(50)))
        }
        let content =
            random.below(2) == 0
            ? StoredContent.complete(length: [0, 1, .max][random.below(3)])
            : StoredContent(ranges, completeLength: optional(&random, 2000))
        let selectors = ["a", "b", "c"].prefix(random.below(4)).map {
            SelectingFields.Selector(name: $0, value: optional(&random, Array(text(&random).utf8)))
        }
        let stored = StoredResponse(
            url: url, status: HTTPResponse.Status(code: [0, 200, 404, 999][random.below(4)], reasonPhrase: ["", "No"][random.below(2)]),
            fields: try fields(&random), requestTime: [.min, 0, 5][random.below(3)], responseTime: [.max, -1, 7][random.below(3)],
            selectingFields: SelectingFields(selectors), content: content, isDecoded: random.below(2) == 0)
        return CacheEntryHead(
            key: CacheKey(url, partition: optional(&random, text(&random))), stored: stored, attributes: attributes,
            trailers: optional(&random, try fields(&random)))
    }

    @Test func headIsReadAsItWasWritten() throws {
        for seed in 0..<UInt64(2000) {
            let head = try head(seed)
            let octets = head.encoded
            let read = try #require(CacheEntryHead(decoding: octets), "seed \(seed)")
            try #require(read.encoded == octets)
            try #require(read.key == head.key && read.stored.status == head.stored.status && read.stored.fields == head.stored.fields)
            try #require(read.stored.status.reasonPhrase == head.stored.status.reasonPhrase)
            try #require(read.stored.content == head.stored.content && read.stored.selectingFields == head.stored.selectingFields)
            try #require(read.stored.requestTime == head.stored.requestTime && read.stored.responseTime == head.stored.responseTime)
            try #require(read.stored.isDecoded == head.stored.isDecoded && read.trailers == head.trailers)
            try #require(read.attributes.userInfo == head.attributes.userInfo && read.attributes.mimeType == head.attributes.mimeType)
        }
    }

    /// Whatever is read is a head that can be written and read again. Nothing traps.
    @Test func damagedHeadIsRefusedOrAnotherHead() throws {
        var random = SplitMix(state: 1)
        for seed in 0..<UInt64(300) {
            let octets = try head(seed).encoded
            for count in octets.indices { try #require(CacheEntryHead(decoding: Array(octets[..<count])) == nil) }
            try #require(CacheEntryHead(decoding: octets + [0]) == nil)
            for _ in 0..<100 {
                var damaged = octets
                for _ in 0...random.below(3) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
                if let read = CacheEntryHead(decoding: damaged) {
                    let written = try #require(CacheEntryHead(decoding: read.encoded))
                    try #require(written.encoded == read.encoded)
                }
            }
        }
    }

    /// A value that ``CacheEntryHead/encoded`` never writes.
    @Test(
        arguments: [
            { $0[0] = 2 },
            // The scheme of the URL in upper case.
            { $0[5] = UInt8(ascii: "H") },
            // A count beyond the end.
            { ($0[1], $0[4]) = (255, 127) },
            // A boolean that is neither.
            { $0[28] = 2 },
        ] as [@Sendable (inout [UInt8]) -> Void])
    func otherEncodingIsRefused(_ change: @Sendable (inout [UInt8]) -> Void) throws {
        let url = try URLRecord(parsing: "https://example.org/a?q")
        let stored = try CacheFixtures.response("", url: url.string)
        let attributes = CacheAttributes(Response(url: url, status: .ok))
        var octets = CacheEntryHead(key: CacheKey(url), stored: stored, attributes: attributes, trailers: nil).encoded
        #expect(CacheEntryHead(decoding: octets) != nil)
        change(&octets)
        #expect(CacheEntryHead(decoding: octets) == nil)
    }
}
