// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import FoundationEssentials
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanTestSupport
    import PortolanURL
    import Testing

    @testable import PortolanStore

    private typealias Harness = CacheStoreHarness

    /// The octets of an entry's record. Each of them can be wrong.
    @Suite struct CacheRecordTests {
        private static func record(_ content: StoredContent, _ checksums: [UInt64], partition: String? = nil) throws -> CacheRecord {
            let url = try URLRecord(parsing: Harness.url)
            var response = Response(url: url, mimeType: MIMEType(parsing: "text/plain;a=\"b c\""), expectedLength: 7, status: .ok)
            response.remainingContentCodings = ["br", "x"]
            var attributes = CacheAttributes(response)
            attributes.userInfo = ["a": "b"]
            let head = CacheEntryHead(
                key: CacheKey(url, partition: partition),
                stored: try Harness.makeStoredResponse("Vary: Foo | A: 1 | B: ", request: "Foo: 1", content: content),
                attributes: attributes, trailers: try Harness.fields("T: 1"))
            return CacheRecord(head, try #require(BodyLayout(content.ranges, checksums)))
        }

        private static let contents: [(StoredContent, [UInt64])] = [
            (.complete(length: 0), []), (.complete(length: 262_144), [1]), (.complete(length: 262_145), [1, .max]),
            (Harness.makeContent(5..<10, completeLength: nil), [3]), (Harness.makeContent(5..<10, completeLength: 11), [3]),
        ]

        @Test(arguments: contents.indices) func recordIsReadAsItWasWritten(index: Int) throws {
            let (content, checksums) = Self.contents[index]
            let record = try Self.record(content, checksums, partition: index == 0 ? nil : "p")
            let octets = record.octets
            for expected in [nil, record.key, try Harness.key("https://example.org/other")] {
                let read = try #require(CacheRecord(decoding: octets, key: expected))
                #expect(read.octets == octets && read.key == record.key && read.layout == record.layout)
                #expect(read.stored.content == content)
            }
        }

        @Test(arguments: contents.indices) func cutAndLongRecordsAreMalformed(index: Int) throws {
            let octets = try Self.record(Self.contents[index].0, Self.contents[index].1).octets
            for count in octets.indices {
                #expect(CacheRecord(decoding: Array(octets.prefix(count))) == nil, "\(count)")
            }
            #expect(CacheRecord(decoding: octets + [0]) == nil)
        }

        @Test(arguments: contents.indices) func recordOfAnotherFormatIsMalformed(index: Int) throws {
            let (content, checksums) = Self.contents[index]
            let octets = try Self.record(content, checksums).octets
            // The format of the record, and that of the head after the checksums with their count.
            for position in [0, 5 + 8 * checksums.count] {
                var changed = octets
                changed[position] += 1
                #expect(CacheRecord(decoding: changed) == nil, "\(position)")
            }
        }

        /// No octets trap. What is read can be written.
        @Test(arguments: 0..<20) func changedRecordsDoNotTrap(seed: Int) throws {
            var random = SeededGenerator(seed: UInt64(seed))
            let (content, checksums) = Self.contents[seed % Self.contents.count]
            let octets = try Self.record(content, checksums).octets
            for _ in 0..<500 {
                var changed = octets
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let index = Int.random(in: changed.indices, using: &random)
                    changed[index] =
                        [0, 1, 0x7f, 0x80, 0xff, UInt8.random(in: .min ... .max, using: &random)][
                            Int.random(in: 0..<6, using: &random)]
                }
                // Most are malformed.
                guard let record = CacheRecord(decoding: changed) else { continue }
                #expect(record.layout.length == record.stored.content.ranges.count)
                #expect(CacheRecord(decoding: record.octets)?.octets == record.octets)
            }
        }

        /// HTTPTypes ends the program if there are 65,535 fields.
        @Test(arguments: [65_534, 65_535, 100_000]) func numberOfFieldsIsLimited(count: Int) throws {
            let octets = try Self.record(.complete(length: 0), []).octets
            func encoded(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } }
            let list = encoded(3) + encoded(4) + Array("Vary".utf8)
            let start = try #require(octets.indices.dropLast(list.count).first { octets[$0..<$0 + list.count] == list[...] })
            let more = Array(repeating: encoded(1) + [UInt8(ascii: "C")] + encoded(0), count: count - 3).flatMap { $0 }
            let record = CacheRecord(decoding: octets[..<start] + encoded(count) + more + octets[(start + 4)...])
            #expect(record?.stored.fields.count == (count < 65_535 ? count : nil))
        }

        /// The fuzzer begins with these, so each of them must be a record of today's format.
        @Test(arguments: ["complete", "parts", "large"]) func seedOfTheFuzzerIsARecord(name: String) throws {
            var folder = URL(fileURLWithPath: #filePath)
            for _ in 0..<4 { folder.deleteLastPathComponent() }
            let seed = [UInt8](try Data(contentsOf: folder.appendingPathComponent("Fuzzing/Seeds/diskcache/" + name)))
            let octets = Array(seed.dropFirst())
            #expect(seed.first == 0 && CacheRecord(decoding: octets)?.octets == octets)
        }

        @Test func storedRangesAreFound() throws {
            var ranges = ByteRangeSet(10..<20)
            ranges.insert(30..<40)
            let layout = try #require(BodyLayout(ranges, [0]))
            let cases: [(Range<Int64>, Range<Int64>?)] = [
                (10..<20, 0..<10), (12..<13, 2..<3), (30..<40, 10..<20), (39..<40, 19..<20), (20..<30, nil), (15..<35, nil), (9..<10, nil),
                (40..<41, nil),
            ]
            for (range, stored) in cases { #expect(layout.storedRange(of: range) == stored) }
            #expect(layout.length == 20 && layout.block(0) == 0..<20)
            #expect(BodyLayout(ranges, []) == nil && BodyLayout(ranges, [0, 0]) == nil)
        }
    }
#endif
