// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanURL
import Testing

@_spi(Fuzzing) @testable import PortolanCache

/// Random messages: no rule traps, and what must hold for any message holds.
@Suite struct CacheRulesRandomTests {
    private static let names = [
        "Cache-Control", "Age", "Date", "Expires", "Last-Modified", "ETag", "Vary", "Pragma", "Connection", "Content-Range",
        "Content-Length",
        "Range", "If-None-Match", "If-Modified-Since", "If-Range", "Accept-Language", "Accept", "Location", "Accept-Ranges",
        "Clear-Site-Data",
    ].compactMap { HTTPField.Name($0) }
    private static let pieces = [
        "max-age", "no-cache", "no-store", "must-understand", "max-stale", "min-fresh", "immutable", "stale-if-error", "=", "=\"", "\"",
        ",", ", ",
        ";", " ", "*", "\\", "W/", "\"a\"", "\"b\"", "0", "1", "9", "-", "/", "bytes", "bytes=", "bytes ", "0-4/10", "2147483648",
        "99999999999999999999", "9223372036854775807", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "9999", "en", ";q=1", "Foo", "é", "\u{0}", "\u{FFFF}", "https://example.org/", "//", "?", "#",
    ]

    private func fields(_ random: inout SplitMix) -> HTTPFields {
        var fields = HTTPFields()
        for _ in 0..<random.below(8) {
            var value = (0..<random.below(7)).map { _ in Self.pieces[random.below(Self.pieces.count)] }.joined().utf8.map { $0 }
            if random.below(8) == 0 { value.append(UInt8(random.below(256))) }
            fields.append(HTTPField(name: Self.names[random.below(Self.names.count)], value: value))
        }
        return fields
    }

    private func time(_ random: inout SplitMix) -> Int64 {
        let times = [Int64.min, .max, 0, CacheFixtures.now, CacheFixtures.now + 5, -1, CacheFixtures.now - 100]
        return times[random.below(times.count)]
    }

    private func content(_ random: inout SplitMix) -> StoredContent {
        switch random.below(3) {
        case 0: return .complete(length: Int64(random.below(20)))
        case 1: return CacheFixtures.parts(Int64(random.below(5))..<Int64(5 + random.below(10)), length: nil)
        default:
            let start = Int64(random.below(10))
            return CacheFixtures.parts(start..<start + 5, 20..<25, length: 30)
        }
    }

    @Test(arguments: 0..<UInt64(20))
    func noMessageTraps(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let url = try URLRecord(parsing: "https://example.org/")
        for _ in 0..<500 {
            let (request, received, now) = (fields(&random), fields(&random), time(&random))
            let status = HTTPResponse.Status(code: [200, 206, 304, 404, 500, 599][random.below(6)])
            let fields = StoredFields.storable(received)
            // Storing once more changes nothing.
            #expect(StoredFields.storable(fields) == fields)
            if SelectingFields(vary: received, request: request) == nil {
                #expect(throws: Storability.Refusal.self) {
                    try Storability.check(method: .get, request: request, status: status, fields: received, now: now)
                }
            }
            let selecting = SelectingFields(vary: fields, request: request) ?? SelectingFields()
            #expect(selecting.matches(request))
            let response = StoredResponse(
                url: url, status: status, fields: fields, requestTime: time(&random), responseTime: time(&random),
                selectingFields: selecting,
                content: content(&random))
            let lookup = CacheLookup(method: .get, fields: self.fields(&random), now: now)
            checkUse(lookup, response)
            let conditional = Validation.request(lookup, [response], chosen: lookup.choose([response]))
            _ = Validation.outcome(of: self.fields(&random), conditional, lookup, [response])
            _ = Validation.effect(ofHead: self.fields(&random), .ok, request: request, on: response)
            _ = lookup.decide(afterError: .internalServerError, [response])
            _ = Invalidation.urls(method: .post, url: url, status: status, fields: received)
            _ = Invalidation.clearsCache(received, of: url)
            _ = Completion(of: response)?.fields(request)
            let updated = response.updated(by: self.fields(&random), request: request, requestTime: now, responseTime: now).response
            _ = response.combined(with: updated)
            // A second validation by the same response changes nothing.
            let same = updated.updated(by: updated.fields, request: request, requestTime: now, responseTime: now).response
            #expect(same.fields == updated.fields)
        }
    }

    /// The functions that fuzzers call.
    @Test func fuzzedExchanges() throws {
        var random = SplitMix(state: 99)
        var results: Set<String> = []
        for _ in 0..<3000 {
            let first = (fields(&random), fields(&random), random.below(3) == 0 ? 206 : 200)
            results.insert(try CacheFuzzing.exchange(first, (fields(&random), fields(&random), 200), now: time(&random)))
            let value = Self.pieces[random.below(Self.pieces.count)] + Self.pieces[random.below(Self.pieces.count)]
            let seconds = CacheFuzzing.seconds(inDirectives: Array(value.utf8))
            #expect(seconds.allSatisfy { (0...DeltaSeconds.largest).contains($0 ?? 0) })
        }
        #expect(results.count > 5)
    }

    private func checkUse(_ lookup: CacheLookup, _ response: StoredResponse) {
        let freshness = Freshness(of: response, now: lookup.now)
        #expect(freshness.age >= 0 && freshness.lifetime >= 0)
        guard case .use(let use) = lookup.decide([response]) else { return }
        #expect(response.selectingFields.matches(lookup.fields) && response.directives.noCache != .always)
        if !freshness.isFresh {
            #expect(!response.directives.isMustRevalidate)
            #expect([.maxStale, .staleWhileRevalidate].contains(use.reason))
        }
        switch use.answer {
        case .partial(let range):
            #expect(response.content.ranges.contains(range) && !range.isEmpty)
            _ = StoredFields.partialAnswer(response, range, age: use.age)
        case .full: #expect(response.content.isComplete)
        case .notModified: _ = StoredFields.notModifiedAnswer(response, age: use.age)
        case .unsatisfiableRange: break
        }
    }

    /// Directives are parsed alike from the whole value and from each of its prefixes, without a trap.
    @Test func truncatedDirectives() throws {
        let text = "max-age=\"1\\0\", no-cache=\"a, b\" , private=c;x, stale-if-error=5,ext=\"q\\\"\", must-revalidate"
        for count in 0...text.utf8.count {
            let field = HTTPField(name: .cacheControl, value: Array(text.utf8.prefix(count)))
            let directives = ResponseDirectives(HTTPFields([field]))
            #expect((directives.maxAge == 10) == (count >= 13))
            #expect(directives.isMustRevalidate == (count == text.utf8.count))
        }
    }
}

/// A generator with a known sequence.
struct SplitMix {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value &>> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value &>> 31)) % UInt64(bound))
    }
}
