// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `get --events`
@Suite(.blocking) struct GetEventsTests {
    private let program: Program

    init() throws { program = try Program() }

    private func events(_ outcome: Program.Outcome) throws -> [[String: Any]] {
        try outcome.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    @Test func eachEventIsALine() throws {
        let outcome = try program.run("get", "--events", "data:text/html,hello")
        let events = try events(outcome)
        #expect(events.map { $0["event"] as? String } == ["started", "response", "data", "finished"])
        #expect(events.allSatisfy { ($0["time"] as? Double ?? -1) >= 0 })
        try #require(events.count > 3)
        #expect(events[0]["handler"] as? String == "org.portolan.data")
        #expect(events[1]["status"] as? Int == 200)
        #expect(events[1]["mime"] as? String == "text/html")
        #expect(events[1]["length"] as? Int == 5)
        #expect(events[1]["headers"] as? [[String]] == [["content-type", "text/html"]])
        #expect(events[2]["base64"] as? String == "aGVsbG8=")
        #expect(events[3]["bytes"] as? Int == 5)
        #expect(outcome.errors.isEmpty && outcome.status == 0)
    }

    @Test func eventsDoNotContainTheBodyIfItIsWrittenToAFile() throws {
        let events = try events(program.run("get", "--events", "-o", "out", "data:,hello"))
        let data = try #require(events.first { $0["event"] as? String == "data" })
        #expect(data["bytes"] as? Int == 5)
        #expect(data["base64"] == nil)
        #expect(program.contents(of: "out") == "hello")
    }

    @Test(arguments: [("nosuch:x", "unsupportedScheme", 1), ("http://a b", "badURL", 3), ("file:///nosuch/file", "notFound", 37)])
    func failedLoadIsAnEvent(url: String, code: String, status: Int) throws {
        let outcome = try program.run("get", "--events", url)
        let lastEvent = try #require(try events(outcome).last)
        #expect(lastEvent["event"] as? String == "failed")
        #expect(lastEvent["code"] as? String == code)
        #expect(lastEvent["exit"] as? Int == status)
        #expect(outcome.status == Int32(status))
        #expect(outcome.errors.count == 1)
    }
}
