// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCache
    import PortolanJSON
    import PortolanURL
    import Testing

    @testable import PortolanCLI

    /// The text of `portolan cache list` and `portolan cache show`.
    @Suite struct CacheListingTests {
        private static let now: Int64 = 1_800_000_000

        private static func listing(
            _ fields: HTTPFields, age: Int64 = 0, content: StoredContent = .complete(length: 5),
            selecting: SelectingFields = SelectingFields()
        ) throws -> CacheListing {
            let stored = StoredResponse(
                url: try URLRecord(parsing: "http://h/"), status: .ok, fields: fields, requestTime: now - age, responseTime: now - age,
                selectingFields: selecting, content: content)
            return CacheListing(
                url: "http://h/", partition: nil, stored, bodyLength: content.ranges.count, lastUse: now - 1, useCount: 2, now: now)
        }

        private static let rows: [(fields: HTTPFields, age: Int64, column: String, use: String, lifetime: String)] = [
            ([.cacheControl: "max-age=60"], 3, "fresh for 57 s", "use", "lifetime: 60 s (max-age of Cache-Control)"),
            ([.cacheControl: "max-age=60"], 200, "stale for 2 min 20 s", "validate", "lifetime: 60 s (max-age of Cache-Control)"),
            (
                [.cacheControl: "max-age=60, no-cache"], 3, "validated at each use", "validate",
                "lifetime: 60 s (max-age of Cache-Control)"
            ),
            (
                [.cacheControl: "max-age=60, stale-while-revalidate=90"], 70, "stale for 10 s", "revalidate",
                "lifetime: 60 s (max-age of Cache-Control)"
            ),
            ([.expires: "0"], 0, "stale for 0 s", "validate", "lifetime: 0 s (Expires)"),
            ([.eTag: "\"a\""], 0, "stale for 0 s", "validate", "lifetime: 0 s (no field says how long it is fresh)"),
            (
                [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"], 0, "fresh for 24 h", "use",
                "lifetime: 86400 s (a tenth of the time from Last-Modified to Date, at most a day, because no field gives the lifetime)"
            ),
        ]

        @Test(arguments: rows)
        func freshnessIsExplained(_ fields: HTTPFields, _ age: Int64, _ column: String, _ use: String, _ lifetime: String) throws {
            let listing = try Self.listing(fields, age: age)
            let table = CacheListing.table(of: [listing])
            #expect(table == "200  5 B  stored \(Duration.text(ofSeconds: age)) ago  \(column)  used 1 s ago  http://h/\n")
            #expect(listing.detailLines.contains("* \(lifetime)"), "\(listing.detailLines)")
            #expect(listing.detailedJSON["use"] == .string(use))
        }

        @Test func partsAndVariantsAreNamed() throws {
            var ranges = ByteRangeSet(0..<100)
            ranges.insert(200..<300)
            let selecting = SelectingFields([
                SelectingFields.Selector(name: "accept", value: Array("text/html".utf8)),
                SelectingFields.Selector(name: "cookie", value: Array("sid=s3cr3t".utf8)),
                SelectingFields.Selector(name: "origin", value: nil),
            ])
            let listing = try Self.listing(
                [
                    .cacheControl: "max-age=60", .eTag: "\"a\"", .vary: "Accept, Cookie, Origin", .acceptRanges: "bytes",
                    .setCookie: "a=s3cr3t",
                ],
                content: .partial(ranges, completeLength: 1000), selecting: selecting)
            #expect(
                CacheListing.table(of: [listing])
                    == "200  200 B of 1000 B  stored 0 s ago  fresh for 60 s  used 1 s ago  http://h/\n")
            let lines = listing.detailLines
            for expected in [
                "* body: incomplete, bytes 0-99, 200-299 of 1000", "* only for requests with accept: text/html",
                "* only for requests with cookie: …", "* only for requests without origin",
            ] { #expect(lines.contains(expected), "\(lines)") }
            #expect(!lines.contains { $0.hasPrefix("* until") || $0.contains("s3cr3t") })
            #expect(listing.detailedJSON["ranges"] == .array([[.integer(0), .integer(99)], [.integer(200), .integer(299)]]))
            #expect(listing.detailedJSON["usableUntil"] == .null)
            let headers = try #require(listing.detailedJSON["headers"])
            #expect("\(headers)".contains("a=…") && !"\(headers)".contains("s3cr3t"))
        }

        @Test func columnsAreAligned() throws {
            let listings = [
                try Self.listing([.cacheControl: "max-age=60"]), try Self.listing([.cacheControl: "max-age=6000"], age: 3000),
            ]
            let lines = CacheListing.table(of: listings).split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasSuffix("  http://h/"))
            #expect(Set(lines.map(\.count)).count == 1)
        }
    }
#endif
