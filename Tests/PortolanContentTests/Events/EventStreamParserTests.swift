// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanContent

/// HTML, "parsing an event stream" and "interpreting an event stream"
@Suite(.timeLimit(.minutes(10))) struct EventStreamParserTests {
    private static func parse(_ pieces: [[UInt8]], limit: Int = 1000) throws -> (events: [ServerSentEvent], EventStreamParser) {
        var parser = EventStreamParser(limit: limit)
        let events = pieces.flatMap { parser.append($0) }
        if let failure = parser.failure { throw failure }
        return (events, parser)
    }

    private static func event(_ data: String, _ type: String = "message", id: String = "") -> ServerSentEvent {
        ServerSentEvent(type: type, data: data, id: id)
    }

    static let table: [(String, [ServerSentEvent])] = [
        ("", []), ("\n\n", []), ("data: a\n\n", [event("a")]),
        // The examples of the standard.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", [event("YHOO\n+2\n10")]),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            [event("first event", id: "1"), event("second event")]
        ),
        ("data\n\ndata\ndata\n\ndata:", [event(""), event("\n")]),
        ("data:test\n\ndata: test\n\n", [event("test"), event("test")]),
        ("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", [event("73857293", "add"), event("2153", "remove")]),
        // Line ends.
        ("data: a\r\ndata: b\r\n\r\n", [event("a\nb")]), ("data: a\rdata: b\r\r", [event("a\nb")]),
        ("data: a\n\rdata: b\r\n\n", [event("a"), event("b")]), ("data: a\r\r\ndata: b\n\n", [event("a"), event("b")]),
        // No line of an event has an end before the stream does.
        ("data: a\n", []), ("data: a", []), ("data: a\n\ndata: b\n", [event("a")]),
        // Byte order mark: only one, and only at the start.
        ("\u{FEFF}data: a\n\n", [event("a")]), ("\u{FEFF}\u{FEFF}data: a\n\n", []), ("data: a\n\n\u{FEFF}data: b\n\n", [event("a")]),
        ("\u{FEFF}\ndata: a\n\n", [event("a")]),
        // Fields.
        ("Data: a\n\n", []), ("data : a\n\n", []), (" data: a\n\n", []), ("data:\ta\n\n", [event("\ta")]), ("data:: a\n\n", [event(": a")]),
        ("unknown: a\ndata: b\n\n", [event("b")]), (":data: a\ndata: b\n\n", [event("b")]),
        ("event: x\n\ndata: a\n\n", [event("a")]), ("event: x\nevent\ndata: a\n\n", [event("a")]),
        ("event: x\nevent: y\ndata: a\n\n", [event("a", "y")]),
        // IDs stay until they change. One with NUL is ignored.
        ("id: 1\ndata: a\n\ndata: b\n\nid:\ndata: c\n\n", [event("a", id: "1"), event("b", id: "1"), event("c")]),
        ("id: 1\n\ndata: a\n\n", [event("a", id: "1")]),
        ("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", [event("a", id: "1"), event("b", id: "1")]),
        ("id: é \ndata: a\n\n", [event("a", id: "é ")]),
    ]

    @Test(arguments: table)
    func eventsDoNotDependOnThePieces(text: String, events: [ServerSentEvent]) throws {
        for division in divisions(of: Array(text.utf8)) {
            #expect(try Self.parse(division).events == events, "\(division.map(\.count))")
        }
    }

    /// A stream that is cut has a prefix of the events.
    @Test(arguments: table)
    func truncatedStreamHasAPrefixOfTheEvents(text: String, events: [ServerSentEvent]) throws {
        let bytes = Array(text.utf8)
        for count in 0...bytes.count {
            let part = try Self.parse([Array(bytes[..<count])]).events
            #expect(Array(events.prefix(part.count)) == part)
        }
    }

    /// Random streams are parsed alike in random pieces, and each kind of line end gives the same events.
    @Test func randomStreamsDoNotDependOnPiecesAndLineEnds() throws {
        var random = SeededGenerator(seed: 26)
        let lines = ["data: a", "data", "id: 7", "id", "event: e", ": c", "", "", "retry: 5", "x", "data: \u{1F5FA}"]
        for _ in 0..<2000 {
            let chosen = (0..<Int.random(in: 0..<12, using: &random)).map { _ in lines.randomElement(using: &random) ?? "" }
            let expected = try Self.parse([Array(chosen.map { $0 + "\n" }.joined().utf8)]).events
            for end in ["\r\n", "\r", "\n"] {
                let bytes = Array(chosen.map { $0 + end }.joined().utf8)
                var (pieces, start) = ([[UInt8]](), 0)
                while start < bytes.count {
                    let next = min(bytes.count, start + Int.random(in: 1...5, using: &random))
                    pieces.append(Array(bytes[start..<next]))
                    start = next
                }
                #expect(try Self.parse(pieces).events == expected, "\(chosen) \(end.utf8.map { $0 })")
            }
        }
    }

    @Test func idHasALimit() throws {
        let longest = String(repeating: "7", count: EventStreamParser.idLimit)
        #expect(try Self.parse([Array("id: \(longest)\ndata: a\n\n".utf8)], limit: 5000).events == [Self.event("a", id: longest)])
        let error = #expect(throws: LoadError.self) { try Self.parse([Array("id: \(longest)7\n".utf8)], limit: 5000) }
        #expect(error?.code == .limitExceeded && error?.message.contains("has 4097 bytes") == true)
    }

    /// Any bytes are parsed alike in any pieces, with the same events, the same ID and the same error.
    @Test func anyBytesDoNotDependOnThePieces() throws {
        var random = SeededGenerator(seed: 9)
        let alphabet = Array("dataeventidretry:: \r\n\r\n\n07\0".utf8) + [0xEF, 0xBB, 0xBF, 0xFF, 0xC3]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let whole = Result { try Self.parse([bytes], limit: 20) }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            for pieces in [bytes.map { [$0] }, [Array(bytes[..<cut]), Array(bytes[cut...])]] {
                let result = Result { try Self.parse(pieces, limit: 20) }
                #expect((try? result.get())?.events == (try? whole.get())?.events, "\(bytes)")
                #expect((try? result.get())?.1.lastEventID == (try? whole.get())?.1.lastEventID, "\(bytes)")
            }
        }
    }

    @Test func invalidUTF8BecomesReplacementCharacters() throws {
        #expect(try Self.parse([Array("data: a".utf8) + [0xFF, 0xC3] + Array("\n\n".utf8)]).events == [Self.event("a\u{FFFD}\u{FFFD}")])
    }

    @Test(
        arguments: [
            ("retry: 1500\n", 1500), ("retry:0\n", 0), ("retry: 1500", nil), ("retry: 1.5\n", nil), ("retry: -1\n", nil), ("retry:\n", nil),
            ("retry\n", nil), ("retry: 1 \n", nil), ("retry: 5\nretry: x\n", 5), ("retry: ٣\n", nil),
            ("retry: 99999999999999999999\n", 1 << 42),
        ] as [(String, Int64?)])
    func retryIsDigitsOnly(text: String, milliseconds: Int64?) throws {
        #expect(try Self.parse([Array(text.utf8)]).1.retryDelay == milliseconds.map { .milliseconds($0) })
    }

    /// The ID for the next connection changes with the event's end, also if the event has no data.
    @Test(arguments: [("id: 1\n", ""), ("id: 1\n\n", "1"), ("id: 1\n\nid: 2\ndata: x\n", "1"), ("id: 1\n\nid\n\n", "")])
    func lastEventIDChangesAtTheEndOfAnEvent(text: String, id: String) throws {
        #expect(try Self.parse([Array(text.utf8)]).1.lastEventID == id)
    }

    @Test func newConnectionKeepsTheID() throws {
        var parser = EventStreamParser(limit: 100, lastEventID: "7")
        #expect(parser.append(Array("data: a\n\n".utf8)) == [Self.event("a", id: "7")])
        #expect(parser.lastEventID == "7")
    }

    @Test(arguments: ["data: 1234\n\n", "data\ndata\ndata\ndata\ndata\ndata\ndata\n\n", ":12345678901\n", "id: 123456789"])
    func largeEventIsAnError(text: String) throws {
        for division in divisions(of: Array(text.utf8)) {
            let error = try #require(throws: LoadError.self) { try Self.parse(division, limit: 9) }
            #expect(error.code == .limitExceeded)
        }
        #expect(throws: Never.self) { try Self.parse([Array(text.utf8)], limit: 14) }
        // The limit is for one event, and not for the stream.
        #expect(try Self.parse([Array(String(repeating: "data: 1\n\n", count: 100).utf8)], limit: 9).events.count == 100)
    }
}
