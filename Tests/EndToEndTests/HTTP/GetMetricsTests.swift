// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport
import TestThreads
import Testing

/// The output of `-v` and `--events` about connections and times.
@Suite(.blocking, .timeLimit(.minutes(2))) struct GetMetricsTests {
    private let program: Program
    private let server: ScriptedServer

    /// The server sends a redirect, and then the response to the second request on the same connection.
    init() throws {
        program = try Program()
        server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"),
            .receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ])
    }

    @Test func eachRequestIsATableRow() throws {
        let outcome = try program.run("get", "-v", server.url())
        #expect(outcome.text == "hello")
        let tableStart = try #require(outcome.errors.firstIndex { $0.hasPrefix("* request ") && $0.hasSuffix("(ms)") }, "\(outcome.errors)")
        let rows = outcome.errors[tableStart...].dropFirst()
        let cells = rows.prefix(2).map { $0.split(separator: " ", omittingEmptySubsequences: true).map(String.init) }
        #expect(cells.map { $0[1] } == ["1", "2"])
        let address = "127.0.0.1:\(server.port)"
        #expect(rows.first?.contains("  http/1.1, new connection to \(address), ") == true)
        #expect(rows.dropFirst().first?.contains("  http/1.1, reused connection to \(address), ") == true)
        #expect(rows.dropFirst(2).first?.hasPrefix("* 5 bytes, 1 redirect, finished after ") == true)
    }

    @Test func metricsEventHasTheTimesOfEachRequest() throws {
        let outcome = try program.run("get", "--events", server.url())
        let events = try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        #expect(events.suffix(2).compactMap { $0["event"] as? String } == ["metrics", "finished"])
        let requests = try #require(events.dropLast().last?["requests"] as? [[String: Any]])
        try #require(requests.count == 2)
        #expect(requests.map { $0["reused"] as? Bool } == [false, true])
        #expect(requests.allSatisfy { $0["protocol"] as? String == "http/1.1" && $0["tlsVersion"] is NSNull && $0["proxy"] is NSNull })
        #expect(requests.map { $0["bytesReceived"] as? Int } == [55, 43])
        #expect(requests[0]["connecting"] is Double && requests[0]["waiting"] is NSNull && requests[0]["nameLookUp"] is NSNull)
        #expect(requests[1]["connecting"] is NSNull && requests[1]["waiting"] is Double)
        let starts = requests.compactMap { $0["start"] as? Double }
        let totals = requests.compactMap { $0["total"] as? Double }
        try #require(starts.count > 1)
        try #require(!totals.isEmpty)
        #expect(abs(starts[1] - totals[0]) < 0.01 && starts[0] == 0)
        for request in requests {
            let phases = ["waiting", "nameLookUp", "connecting", "securing", "sending", "answering", "receiving"]
            let sum = phases.compactMap { request[$0] as? Double }.reduce(0, +)
            #expect(abs(sum - (request["total"] as? Double ?? 0)) < 0.02, "\(request)")
        }
    }

    @Test func failedConnectionIsReported() throws {
        let port = try RefusingPort()
        let outcome = try program.run("get", "--events", "http://127.0.0.1:\(port.port)/")
        #expect(outcome.status == 7)
        #expect(outcome.lines.last?.contains(#""event":"failed""#) == true)
    }
}
