// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON
import PortolanURL
import Testing

@testable import PortolanCLI
@testable import PortolanCache

/// What `get` says about the cache.
@Suite struct CacheReportTests {
    struct Row: Sendable {
        let source: ResponseSource
        let status: CacheStatus?
        let text: String?
        let json: String?
    }

    private static let rows = [
        Row(
            source: .cache, status: hit(.fresh, age: 3, lifetime: 60),
            text: "hit: the stored response is fresh (RFC 9111 §4.2); its age is 3 s, and it is fresh for 57 s more",
            json: #"{"result":"hit","reason":"fresh","message":"the stored response is fresh (RFC 9111 §4.2)","age":3,"freshFor":57,"#
                + #""stored":null,"refusal":null}"#),
        Row(
            source: .cache, status: hit(.maxStale, age: 60, lifetime: 60),
            text: "stale: the request accepts a stale response (RFC 9111 §5.2.1.2); its age is 60 s, and it has been stale for 0 s",
            json: nil),
        Row(
            source: .cache, status: hit(.staleIfError, age: 65, lifetime: 60),
            text: "stale: the stored response may replace an error (RFC 5861 §4); its age is 65 s, and it has been stale for 5 s",
            json: nil),
        Row(
            source: .validated, status: .forwarded(because: .stale, status: 304, isStored: true),
            text: "validated: the stored response is stale (RFC 9111 §4.2), and the server has confirmed it",
            json: #"{"result":"validated","reason":"stale","message":"the stored response is stale (RFC 9111 §4.2)","age":null,"#
                + #""freshFor":null,"stored":null,"refusal":null}"#),
        Row(
            source: .validated, status: .forwarded(because: .incomplete, status: 206, isStored: true),
            text: "validated: the stored response is incomplete (RFC 9111 §3.3), and the server has sent the rest", json: nil),
        Row(
            source: .network, status: .forwarded(because: .noResponse, status: 200, isStored: true),
            text: "miss: no response is stored for the URL; the response is being stored", json: nil),
        Row(
            source: .network,
            status: .forwarded(
                because: .noCache, status: 200, isStored: false, refusal: Storability.Refusal.responseNoStore.rawValue),
            text: "miss: the stored response has 'no-cache' (RFC 9111 §5.2.2.4); the response is not stored: "
                + "the response has 'no-store' (RFC 9111 §5.2.2.5)",
            json: #"{"result":"miss","reason":"noCache","message":"the stored response has 'no-cache' (RFC 9111 §5.2.2.4)","age":null,"#
                + #""freshFor":null,"stored":false,"refusal":"the response has 'no-store' (RFC 9111 §5.2.2.5)"}"#),
        Row(
            source: .network, status: .forwarded(because: .policy, status: 200, isStored: false),
            text: "miss: the cache policy of the request says so; the response is not stored", json: nil),
        Row(
            source: .cache, status: .forwarded(because: .stale, status: nil, isStored: true, isCollapsed: true),
            text: "hit: the stored response is stale (RFC 9111 §4.2), and the response to an equal request answers this one", json: nil),
        Row(
            source: .cache, status: hit(.fresh, age: 1, lifetime: 601),
            text: "hit: the stored response is fresh (RFC 9111 §4.2); its age is 0 s, and it is fresh for 10 min more", json: nil),
        Row(source: .cache, status: .unanswered(because: .noResponse), text: "miss: no response is stored for the URL", json: nil),
        // The cache was not asked, or another cache has answered.
        Row(source: .network, status: nil, text: nil, json: nil),
        Row(source: .network, status: CacheStatus(cacheName: "other", source: .hit), text: nil, json: nil),
    ]

    private static func hit(_ reason: CacheReason, age: Int64, lifetime: Int64) -> CacheStatus {
        var status = CacheStatus(cacheName: CacheStatus.ownName, source: .hit, timeToLive: lifetime - age, detail: "\(reason)")
        status.reason = reason
        return status
    }

    @Test(arguments: rows) func lineSaysWhereTheResponseComesFromAndWhy(_ row: Row) throws {
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .ok)
        response.source = row.source
        response.cacheStatus = row.status
        if case .hit = row.status?.source, let timeToLive = row.status?.timeToLive { response.fields[.age] = "\(max(60 - timeToLive, 0))" }
        let report = CacheReport(response)
        #expect(report?.text == row.text)
        if let json = row.json { #expect(report.map { String(decoding: $0.json.bytes, as: UTF8.self) } == json) }
        guard let report else { return }
        #expect(VerboseLines.lines(for: .cache(report), at: .zero) == ["* cache: \(row.text ?? "")"])
        let line = String(decoding: EventLines.line(for: .cache(report), at: .zero).bytes, as: UTF8.self)
        #expect(line.hasPrefix(#"{"event":"cache","time":0"#), "\(line)")
    }
}
