// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Fields of structs, and texts that are longer than the limit for copied ones.
@Suite(.timeLimit(.minutes(2))) struct BindingStructTests {
    /// The layout of `row` and of the packed struct in binding.c, on machines with 64-bit pointers.
    private static let structs = [
        "structs": #"""
        {
          "Row": {
            "kind": {"offset": 0, "type": "int8"}, "weight": {"offset": 8, "type": "double"}, "length": {"offset": 16, "type": "uint32"},
            "label": {"offset": 20, "type": "char[8]"}, "text": {"offset": 32, "type": "cstring"}, "words": {"offset": 32, "type": "cstring?"},
            "next": {"offset": 40, "type": "Row?"}, "follower": {"offset": 40, "type": "Row"}, "isLast": {"offset": 48, "type": "bool"}
          },
          "Packed": {"number": {"offset": 1, "type": "uint64"}}
        }
        """#
    ]

    private func text(_ steps: String) throws -> String { try BindingHarness(steps, Self.structs).text() }

    @Test func fieldsHaveTheirTypes() throws {
        #expect(
            try text(
                #"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.kind} {row.length} {row.label} {row.text} {row.text.length}"}]"#)
                == "-1 4000000000 first text 4")
        #expect(
            try text(#"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.weight.json} {row.isLast.json} {row.next.isLast.json}"}]"#)
                == "2.0 false true")
    }

    @Test func textInTheStructEndsAtItsLastByte() throws {
        #expect(try text(#"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.follower.label}"}]"#) == "lastlabe")
    }

    @Test func handleInAFieldLeadsToTheNextStruct() throws {
        #expect(
            try text(#"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.next.words.csv};{row.next.next.words|none}"}]"#)
                == #""one, two";none"#)
    }

    @Test func fieldIsReadWhereItIsUsed() throws {
        let steps = #"""
            [{"call": "bf_rows", "result": "row"}, {"require": {"value": "{row.kind}", "equals": -1}},
             {"call": "bf_int8", "with": ["{row.kind}"], "result": "positive"}, {"deliver": "{positive}!"},
             {"deliver": " last", "when": {"value": "{row.follower.isLast}", "equals": true}}]
            """#
        #expect(try text(steps) == "1! last")
    }

    @Test func unalignedFieldIsRead() throws {
        #expect(try text(#"[{"call": "bf_packed_row", "result": "row"}, {"deliver": "{row.number} "}]"#) == "72623859790382856 ")
    }

    @Test func missingStructAndNULLInAFieldAreAbsent() throws {
        #expect(try text(#"[{"call": "bf_no_row", "result": "row"}, {"deliver": "{row.text|none}"}]"#) == "none")
        #expect(try text(#"[{"call": "bf_empty_row", "result": "row"}, {"deliver": "{row.words|none}"}]"#) == "none")
    }

    @Test(arguments: ["{row.text}", "{row.follower.text}"]) func unexpectedNULLInAFieldFailsTheLoad(value: String) throws {
        let client = try BindingHarness(#"[{"call": "bf_empty_row", "result": "row"}, {"deliver": "\#(value)"}]"#, Self.structs).load()
        #expect(
            client.error == LoadError(.badResponse, message: "plugin.so gave NULL for a field of a struct that can't be NULL"))
    }

    // MARK: Long texts

    /// Delivers a long text. With the query `count`, delivers the number of blocks that the library still has.
    private static func longText(_ count: Int) -> String {
        #"""
        [{"call": "bf_long_text", "with": [\#(count)], "result": "text", "deliver": "{text}", "when": {"value": "{url.query|}", "equals": ""}},
         {"steps": [{"call": "bf_live_blocks", "result": "n"}, {"deliver": "{n} blocks"}], "when": {"value": "{url.query|}", "equals": "count"}}]
        """#
    }

    /// A text that is only delivered is not copied, so it can have any length. It is freed after its delivery.
    @Test(arguments: [0, 1, 1 << 20, (1 << 20) + 1, 5 << 20]) func deliveredTextHasAnyLength(count: Int) throws {
        let harness = try BindingHarness(Self.longText(count))
        let client = try harness.load("bound:x")
        #expect(client.error == nil && client.bytes.count == count && client.bytes.allSatisfy { $0 == UInt8(ascii: "x") })
        #expect(try harness.text("bound:x?count") == "0 blocks")
    }

    @Test func deliveredTextIsFreedAfterAStop() throws {
        let client = RecordingClient { index, _ in index == 1 ? .stopped : .keepGoing }
        let harness = try BindingHarness(Self.longText(3_000_000))
        #expect(try harness.load("bound:x", client: client).bytes.count == 1 << 20)
        #expect(try harness.text("bound:x?count") == "0 blocks")
    }

    /// A text that a condition or another step uses is copied.
    @Test(arguments: [
        #"[{"call": "bf_long_text", "with": [1048577], "result": "text", "deliver": "{text}"}, {"deliver": "{text.length}\n"}]"#,
        #"[{"call": "bf_long_text", "with": [1048577], "result": "text", "deliver": "{text}", "check": {"differsFrom": ""}}]"#,
    ]) func usedTextHasALimit(steps: String) throws {
        let client = try BindingHarness(steps).load()
        #expect(client.error?.code == .limitExceeded && client.bytes.isEmpty)
    }

    /// The error of a step whose check a text fails has that text.
    @Test func textThatFailsACheckIsInTheError() throws {
        let client = try BindingHarness(
            #"[{"call": "bf_lent_text", "with": [1], "result": "text", "deliver": "{text|}", "check": {"isNull": true}}]"#
        ).load()
        #expect(client.error?.message == "bf_lent_text of plugin.so failed with 'lent'")
    }

    @Test func repeatedTextEndsAtNULL() throws {
        let steps = #"""
            [{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_next_word", "with": ["{thing}"], "result": "word", "deliver": "{word|}", "until": {"isNull": true}}]
            """#
        #expect(try BindingHarness(steps).text("bound:x?abc") == "abc")
    }
}
