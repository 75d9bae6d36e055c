// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Loops and groups of steps, computed buffer sizes, freed outputs, and the names of values that they need.
@Suite(.timeLimit(.minutes(2))) struct BindingLoopTests {
    private static let open =
        #"{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}}"#

    // MARK: Loops

    @Test func loopEndsAtItsBreak() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"loop": [{"call": "bf_next_digit", "with": ["{thing}", "digit"], "result": "isLast"}, {"deliver": "{index}:{digit} "},
                       {"break": {"value": "{isLast}", "equals": 1}}, {"deliver": "- "}], "index": "index"},
             {"deliver": "{digit}, {isLast}, {index}"}]
            """)
        #expect(try harness.text("bound:x?472") == "0:4 - 1:7 - 2:2 2, 1, 2")
        #expect(try harness.text("bound:x?9") == "0:9 9, 1, 0")
    }

    /// A cleanup in a loop runs at the end of each repetition, also of the last one.
    @Test(arguments: [("bound:x?111", "1 1 1 0"), ("bound:x?113", "")]) func cleanupInALoopRunsInEachRepetition(url: String, text: String)
        throws
    {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"loop": [{"call": "bf_open", "with": ["{url.path}"], "result": "inner", "cleanup": {"call": "bf_close", "with": ["{inner}"]}},
                       {"call": "bf_next_digit", "with": ["{thing}", "digit"], "result": "isLast"},
                       {"require": {"value": "{digit}", "atMost": 2}}, {"deliver": "{digit} "},
                       {"break": {"value": "{isLast}", "equals": 1}}]},
             {"call": "bf_live_things", "result": "count"}, {"require": {"value": "{count}", "equals": 1}}, {"deliver": "0"}]
            """)
        let client = try harness.load(url)
        #expect(text.isEmpty ? client.error != nil : String(decoding: client.bytes, as: UTF8.self) == text)
        #expect(try harness.text("bound:x?1") == "1 0")
    }

    /// Rows with columns.
    @Test func loopsNest() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"loop": [{"call": "bf_next_digit", "with": ["{thing}", "digit"], "result": "isLast"},
                       {"loop": [{"break": {"value": "{column}", "equals": "{digit}"}}, {"deliver": ",", "when": {"value": "{column}", "atLeast": 1}},
                                 {"call": "bf_int8", "with": ["{column}"], "result": "value"}, {"deliver": "{value.csv}"}], "index": "column"},
                       {"deliver": ";"}, {"break": {"value": "{isLast}", "equals": 1}}]}]
            """)
        #expect(try harness.text("bound:x?3012") == "0,-1,-2;;0;0,-1;")
    }

    /// Texts for the library are freed after each repetition, so that a long loop needs no more memory than a short
    /// one.
    @Test func textsOfARepetitionAreValidDuringIt() throws {
        let harness = try BindingHarness(
            """
            [{"loop": [{"call": "bf_remember_text", "with": ["{index} of {url.path}"]}, {"call": "bf_remembered_text", "result": "text"},
                       {"deliver": "{text}", "when": {"value": "{index}", "equals": 2999}},
                       {"break": {"value": "{index}", "equals": 2999}}], "index": "index"}]
            """)
        #expect(try harness.text("bound:x") == "2999 of x")
    }

    @Test func endlessLoopEndsWithItsLoad() throws {
        let client = RecordingClient { index, _ in index == 5 ? .stopped : .keepGoing }
        let harness = try BindingHarness(
            #"[{"loop": [{"call": "bf_note"}, {"deliver": "x"}, {"break": {"value": "{method}", "equals": "NEVER"}}]}]"#)
        #expect(try harness.load(client: client).events.count == 6)
    }

    /// Without a delivery, only the stop itself ends the loop.
    @Test func endlessLoopWithoutDeliveriesCanBeStopped() throws {
        let harness = try BindingHarness(
            #"[{"deliver": "begun"}, {"loop": [{"call": "bf_note"}, {"break": {"value": "{method}", "equals": "NEVER"}}]}]"#)
        let load = try TestHandlerLoad(harness.plugin, "bound:x")
        load.start()
        load.client.wait { $0.contains(.data(5)) }
        load.handlerLoad.end(with: LoadError(.cancelled, message: "enough"))
        harness.plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        #expect(load.client.events.last == .failed(LoadError(.cancelled, message: "enough")))
    }

    @Test func groupIsPerformedOnceForItsCondition() throws {
        let harness = try BindingHarness(
            """
            [{"when": {"value": "{url.path}", "equals": "a"},
              "steps": [{"call": "bf_int8", "with": [5], "result": "n"}, {"deliver": "a{n}"}]},
             {"when": {"value": "{url.path}", "differsFrom": "a"}, "steps": [{"call": "bf_int8", "with": [6], "result": "n"}, {"deliver": "b{n}"}]},
             {"steps": [{"call": "bf_int8", "with": [7], "result": "m"}]}, {"deliver": " {m}"}]
            """)
        #expect(try harness.text("bound:a") == "a-5 -7")
        #expect(try harness.text("bound:x") == "b-6 -7")
    }

    @Test func groupWithABreakEndsTheLoopAroundIt() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"loop": [{"call": "bf_next_digit", "with": ["{thing}", "digit"], "result": "isLast"},
                       {"when": {"value": "{digit}", "equals": 0}, "steps": [{"break": {"value": "{method}", "equals": "GET"}}, {"deliver": "no"}]},
                       {"deliver": "{digit.csv}"}, {"break": {"value": "{isLast}", "equals": 1}}]}, {"deliver": "."}]
            """)
        #expect(try harness.text("bound:x?12034") == "12.")
        #expect(try harness.text("bound:x?12") == "12.")
    }

    // MARK: Calls

    /// The first load leaves a handle open if the cleanup was not asked for. The second one counts.
    @Test(arguments: [(true, "0"), (false, "1")]) func cleanupCanFollowAFailedCall(isAsked: Bool, count: String) throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open_half", "with": ["thing"], "check": {"equals": 0}, "when": {"value": "{url.path}", "equals": "fails"},
              "cleanup": {"call": "bf_close", "with": ["{thing}"], "afterFailure": \(isAsked)}},
             {"call": "bf_live_things", "result": "count"}, {"deliver": "{count.csv}"}]
            """)
        #expect(try harness.load("bound:fails").error?.message == "bf_open_half of plugin.so failed with 14")
        #expect(try harness.text("bound:x") == count)
    }

    /// Without a handle, there is nothing to close.
    @Test func cleanupAfterAFailureNeedsItsValues() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open_into", "with": ["refused", "thing"], "check": {"equals": 0},
              "cleanup": {"call": "bf_close", "with": ["{thing}"], "afterFailure": true}}]
            """)
        #expect(try harness.load().error?.message == "bf_open_into of plugin.so failed with 9")
    }

    @Test(arguments: [(0, "given 0"), (3, "3: given")]) func textInAnOutputIsFreed(status: Int, text: String) throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_give_text", "with": [\(status), "words"], "check": {"equals": 0}, "error": {"message": "{result}: {words|}"}},
             {"call": "bf_live_blocks", "result": "count"}, {"deliver": "{words|} {count}"}]
            """)
        let client = try harness.load()
        #expect((client.error?.message ?? String(decoding: client.bytes, as: UTF8.self)) == text)
    }

    /// The next call has a text at the same place, which the library keeps.
    @Test func freedTextIsNotThatOfTheNextCall() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open), {"call": "bf_give_text", "with": [0, "words"], "check": {"equals": 0}},
             {"call": "bf_next_thing", "with": ["{thing}", "byte"]}, {"deliver": "{words|} {byte}"}]
            """)
        #expect(try harness.text("bound:x?ab") == "given a")
    }

    @Test func sizeOfABufferCanBeAnEarlierValue() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"call": "bf_read", "with": ["{thing}", {"room": {"size": "{url.port|3}", "atMost": 5}}], "until": {"equals": 0}, "deliver": "{room}"}]
            """)
        func sizes(_ url: String) throws -> [Int] {
            try harness.load(url).events.compactMap { if case .data(let count) = $0 { count } else { nil } }
        }
        #expect(try sizes("bound://h:4/?abcdefghij") == [4, 4, 2])
        #expect(try sizes("bound://h/?abcd") == [3, 1])
        #expect(try harness.text("bound://h:5/?abcdefghij") == "abcdefghij")
        let error = try harness.load("bound://h:6/?abcd").error
        #expect(error == LoadError(.limitExceeded, message: "plugin.so needs a buffer of 6 bytes; the binding allows 5"))
    }

    /// The buffer grows from one repetition to the next.
    @Test func bufferGrowsInALoop() throws {
        let harness = try BindingHarness(
            """
            [\(Self.open),
             {"loop": [{"call": "bf_read", "with": ["{thing}", {"room": {"size": "{index}", "atMost": 100}}], "result": "count"},
                       {"deliver": "{room}"}, {"deliver": "|"}, {"break": {"value": "{room.length}", "differsFrom": "{index}"}}], "index": "index"}]
            """)
        #expect(try harness.text("bound:x?abcdefghi") == "|a|bc|def|ghi|")
    }

    // MARK: Names

    @Test(
        arguments: [
            ("bound:file:///a/b%20c!d%20e", "/a/b c", "d e"), ("bound:file:///a!b!c", "/a!b", "c"), ("bound:file:///a", "/a", "none"),
            ("bound:file:///a!", "/a", ""), ("bound:file://localhost/a!b", "/a", "b"), ("bound:file:/a?q!x", "/a", "none"),
            ("bound:FILE:///a%21b!c%21d", "/a!b", "c!d"), ("bound:file://elsewhere/a!b", "none", "b"), ("bound:http://h/a!b", "none", "b"),
            ("bound:/a!b", "none", "b"), ("bound:a", "none", "none"), ("bound:file:///a%3Fb%23c", "/a?b#c", "none"),
        ])
    func fileAndMemberOfAURL(url: String, file: String, member: String) throws {
        let harness = try BindingHarness(#"[{"deliver": "{url.file|none} {url.member.decoded|none}"}]"#)
        #expect(try harness.text(url) == "\(file) \(member)")
    }

    @Test(
        arguments: [
            ("a", "a", #""a""#), ("a%2Cb", #""a,b""#, #""a,b""#), ("say%20%22hi%22", #""say ""hi""""#, #""say \"hi\"""#),
            ("a%0Ab", "\"a\nb\"", #""a\nb""#), ("a%0Db", "\"a\rb\"", #""a\rb""#), ("%01", "\u{1}", #""\u0001""#),
            ("%C3%A9%5C", "\u{E9}\\", #""\u{E9}\\""#.replacing(#"\u{E9}"#, with: "\u{E9}")),
        ])
    func textIsWrittenAsCSVAndJSON(query: String, csv: String, json: String) throws {
        let harness = try BindingHarness(#"[{"deliver": "{url.query.decoded.csv}"}, {"deliver": " {url.query.decoded.json}"}]"#)
        #expect(try harness.text("bound:x?\(query)") == "\(csv) \(json)")
    }

    @Test func absentEmptyAndOtherValuesAreWrittenAsCSVAndJSON() throws {
        let steps = #"[{"deliver": "{url.query.csv}|{url.query.json}|{url.port.csv}|{url.port.json}"}]"#
        #expect(try BindingHarness(steps).text("bound:x") == "|null||null")
        #expect(try BindingHarness(steps).text("bound://h:7/?") == #"""|""|7|7"#)
        let numbers = """
            [{"call": "bf_double", "with": [5], "result": "half"}, {"call": "bf_bool", "with": [true], "result": "no"},
             {"call": "bf_double", "with": [1e300], "result": "large"}, {"call": "bf_vsum", "with": ["d", {"double": "{large}"}], "result": "sum"},
             {"deliver": "{half.csv} {half.json} {no.csv} {no.json}"}]
            """
        #expect(try BindingHarness(numbers).text() == "2.5 2.5 false false")
    }

    @Test func valueIsComparedWithAnotherOne() throws {
        let harness = try BindingHarness(
            """
            [{"require": {"value": "{url.path}", "equals": "{url.query|}"}}, {"deliver": "equal"}]
            """)
        #expect(try harness.text("bound:a?a") == "equal")
        #expect(try harness.load("bound:a?b").error != nil)
    }
}
