// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Each type of the binding language is passed to C and back, and each ownership rule is followed.
@Suite(.timeLimit(.minutes(2))) struct BindingTypeTests {
    /// A function, an argument at a limit of its type, and the function's result.
    static let integerCases: [(function: String, argument: String, result: String)] = [
        ("bf_int8", "127", "-127"), ("bf_int8", "-127", "127"), ("bf_uint8", "0", "255"), ("bf_uint8", "255", "0"),
        ("bf_int16", "-32767", "32767"), ("bf_uint16", "0", "65535"), ("bf_int32", "2147483647", "-2147483647"),
        ("bf_uint32", "0", "4294967295"), ("bf_int64", "-9223372036854775807", "9223372036854775807"),
        ("bf_uint64", "0", "18446744073709551615"), ("bf_uint64", "18446744073709551615", "0"),
        ("bf_size", "1", "18446744073709551614"), ("bf_ssize", "5", "-5"), ("bf_long", "-1", "1"),
        ("bf_ulong", "0", "18446744073709551615"),
    ]

    @Test(arguments: integerCases) func integerIsPassedAndReturned(_ function: String, _ argument: String, _ result: String) throws {
        let harness = try BindingHarness(
            #"[{"call": "\#(function)", "with": [\#(argument)], "result": "x", "check": {"equals": \#(result)}}, {"deliver": "={x}"}]"#)
        #expect(try harness.text() == "=\(result)")
    }

    @Test(arguments: [
        #"{"call": "bf_float", "with": [1.5], "check": {"equals": 3}}"#,
        #"{"call": "bf_double", "with": [-0.5], "check": {"equals": -0.25}}"#,
        #"{"call": "bf_double", "with": [3], "check": {"equals": 1.5}}"#,
        #"{"call": "bf_double", "with": [7], "check": {"atLeast": 3}}"#,
        #"{"call": "bf_float", "with": [0.25], "check": {"atMost": 1}}"#,
        #"{"call": "bf_double", "with": [1], "result": "x"}, {"require": {"value": "{x}", "atMost": 1}}"#,
        #"{"call": "bf_double", "with": [4], "result": "x"}, {"require": {"value": "{x}", "atLeast": 2}}"#,
        #"{"call": "bf_bool", "with": [true], "check": {"equals": false}}"#,
        #"{"call": "bf_bool", "with": [false], "check": {"equals": true}}"#,
        #"{"call": "bf_sum", "with": [-1, 2, -3, 4, -5, 6, -7, 8, 9, 10.5, 11.5, true, 13, 14, 15, 16], "check": {"equals": 93}}"#,
        #"{"call": "bf_vsum", "with": ["ilds", {"int": -1}, {"long": 4000000000}, {"double": 0.5}, {"cstring": "four"}], "check": {"equals": 4000000003.5}}"#,
        #"{"call": "bf_vsum", "with": ["o", {"out long": "x"}], "check": {"equals": 0}}, {"require": {"value": "{x}", "equals": 77}}"#,
        #"{"call": "bf_hash", "with": [""], "check": {"equals": 14695981039346656037}}"#,
        #"{"call": "bf_hash", "with": ["a"], "check": {"equals": 12638187200555641996}}"#,
    ])
    func valueIsPassedAndReturned(_ steps: String) throws {
        #expect(try BindingHarness("[\(steps)]").load().events.last == .finished)
    }

    @Test(arguments: [
        #"{"call": "bf_double", "with": [5.9], "check": {"atLeast": 3}}"#, #"{"call": "bf_double", "with": [2.1], "check": {"atMost": 1}}"#,
        #"{"call": "bf_double", "with": [2.1], "result": "x"}, {"require": {"value": "{x}", "atMost": 1}}"#,
    ])
    func numberOutOfBoundsFails(_ steps: String) throws {
        #expect(try BindingHarness("[\(steps)]").load().error != nil)
    }

    @Test func outputsOfACallGetTheirNames() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_outputs", "with": ["a", "b", "c", "d", "e", "f", "g"], "check": {"equals": 0}},
             {"require": {"value": "{d}", "equals": 0.25}}, {"require": {"value": "{e}", "equals": true}},
             {"require": {"value": "{g}", "isNull": true}}, {"deliver": "{a} {b} {c} {f} {g|none}"}]
            """)
        #expect(try harness.text() == "-5 65535 -9223372036854775808 put out none")
    }

    // MARK: Ownership

    @Test func ownedTextIsFreed() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_given_text", "with": ["{url.path.decoded}"], "result": "a"}, {"call": "bf_given_text", "with": [null], "result": "b"},
             {"call": "bf_live_blocks", "check": {"equals": 0}}, {"deliver": "{a} and {b}"}]
            """)
        #expect(try harness.text("bound://h/a%20b") == "/a b and nothing")
    }

    @Test func borrowedTextIsCopied() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_lent_text", "with": [1], "result": "a"}, {"call": "bf_lent_text", "with": [0], "result": "b"},
             {"deliver": "{a|}"}, {"deliver": "{b|absent}"}]
            """)
        #expect(try harness.text() == "lentabsent")
    }

    @Test func ownedBytesAreFreed() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_blob", "with": [120], "result": "blob"}, {"call": "bf_live_blocks", "check": {"equals": 0}},
             {"respond": {"length": "{blob.length}", "mime": "text/x-blob", "status": 203, "filename": "a/b"}}, {"deliver": "{blob}"}]
            """)
        let client = try harness.load()
        #expect(client.bytes.count == 70000 && client.bytes.allSatisfy { $0 == 120 })
        #expect(client.events.first == .response(70000))
        #expect(client.response?.mimeType?.essence == "text/x-blob" && client.response?.status?.code == 203)
        #expect(client.response?.suggestedFilename.contains("/") == false)
    }

    @Test func bytesMayContainNUL() throws {
        let harness = try BindingHarness(#"[{"call": "bf_lent_blob", "result": "blob"}, {"deliver": "{blob}"}]"#)
        #expect(try harness.load().bytes == [0x61, 0, 0x62, 0])
    }

    @Test func impossibleLengthIsRefused() throws {
        let client = try BindingHarness(#"[{"call": "bf_absurd_blob", "result": "blob"}, {"deliver": "{blob}"}]"#).load()
        #expect(client.error?.code == .protocolViolation && client.bytes.isEmpty)
    }

    /// The functions give one byte, but report more than the limit. The host refuses the size before it reads a byte.
    @Test(arguments: [#"{"call": "bf_lend_huge", "with": ["x"], "deliver": "{x}"}"#, #"{"call": "bf_write_huge"}"#])
    func dataAboveTheSizeLimitIsRefused(_ step: String) throws {
        let client = try BindingHarness("[\(step)]").load()
        #expect(client.bytes.isEmpty && client.error?.code == .limitExceeded)
        #expect(client.error?.message == "plugin.so gives 268435457 bytes at a time; the limit is 268435456")
    }

    @Test func handleIsCleanedUpAfterSuccessAndFailure() throws {
        let failing = #"{"call": "bf_int8", "with": [1], "check": {"equals": 5}}"#
        for (lastStep, message) in [(#"{"deliver": "x"}"#, nil), (failing, "bf_int8 of plugin.so failed with -1")] {
            let harness = try BindingHarness(
                """
                [{"call": "bf_live_things", "check": {"equals": 0}},
                 {"call": "bf_open", "with": ["a"], "result": "a", "cleanup": {"call": "bf_close", "with": ["{a}"]}},
                 {"call": "bf_open_into", "with": ["b", "b"], "check": {"equals": 0}, "cleanup": {"call": "bf_close", "with": ["{b}"]}},
                 {"call": "bf_live_things", "check": {"equals": 2}}, \(lastStep)]
                """)
            // If the first load left handles open, the first step of the second load would fail.
            for _ in 0..<2 { #expect(try harness.load().error?.message == message) }
        }
    }

    // MARK: Buffers

    @Test(arguments: [1, 2, 7, 16_777_216])
    func bufferIsFilledUntilTheEndCondition(_ capacity: Int) throws {
        for (function, endCondition) in [
            ("bf_read", "\"equals\": 0"), ("bf_read_into", "\"equals\": 1"), ("bf_read_early", "\"equals\": 1"),
        ] {
            let harness = try BindingHarness(
                """
                [{"call": "bf_open", "with": ["{url.path}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
                 {"call": "\(function)", "with": ["{thing}", {"room": \(capacity)}], "until": {\(endCondition)}, "deliver": "{room}"}]
                """)
            #expect(try harness.text("bound://h/seven-and-more") == "/seven-and-more", "\(function)")
        }
    }

    /// Later steps can use the outputs of the last call.
    @Test(arguments: [("", "0 left"), ("abc", "abc1 left")]) func bytesOfTheLastCallAreDeliveredIfPresent(
        _ path: String, _ text: String
    ) throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_next_thing", "with": ["{thing}", "byte"], "until": {"isNull": true}, "deliver": "{byte}"},
             {"deliver": "{byte.length} left"}]
            """)
        #expect(try harness.text("bound://h/?\(path)") == text)
    }

    /// The number 0 is delivered, too. The template contains outputs of the call.
    @Test(arguments: [("{digit} ", "1 0 2 0 "), ("{digit}{url.scheme}", "1bound0bound2bound0bound")])
    func numbersOfTheLastCallAreDelivered(_ template: String, _ text: String) throws {
        let steps = """
            [{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_next_digit", "with": ["{thing}", "digit"], "until": {"equals": 1}, "deliver": "\(template)"}]
            """
        #expect(try BindingHarness(steps).text("bound://h/?1020") == text)
    }

    @Test func lengthOfTheLastCallIsDeliveredIfItHasBytes() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_read_early", "with": ["{thing}", {"room": 2}], "until": {"equals": 1}, "deliver": "{room.length} "}]
            """)
        #expect(try harness.text("bound://h/?abcde") == "2 2 1 ")
        #expect(try harness.text("bound://h/") == "")
    }

    /// The result that ends the repetition only marks the last call.
    @Test func resultThatEndsARepeatedCallIsNotDelivered() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open", "with": ["{url.query|}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_read", "with": ["{thing}", {"room": 2}], "result": "n", "until": {"equals": 0}, "deliver": "{n} "},
             {"deliver": "end {n}"}]
            """)
        #expect(try harness.text("bound://h/?abcde") == "2 2 1 end 0")
    }

    /// At the end the function gives a length but no bytes. Without an `until` condition, this is an error.
    @Test(arguments: ["bf_end", "bf_end_below_zero"]) func missingBytesAtTheEndAreAccepted(_ function: String) throws {
        let stepWithEnd = #"{"call": "\#(function)", "with": ["x"], "until": {"equals": 1}, "deliver": "{x}"}"#
        #expect(try BindingHarness("[\(stepWithEnd)]").load().events == [.response(nil), .finished])
        #expect(try BindingHarness(#"[{"call": "\#(function)", "with": ["x"]}]"#).load().error?.code == .protocolViolation)
    }

    @Test func borrowedBytesAreDelivered() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open", "with": ["{url.path}"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_next", "with": ["{thing}", "bytes"], "until": {"equals": 1}, "check": {"equals": 0}, "deliver": "{bytes}"}]
            """)
        #expect(try harness.text("bound://h/one-by-one") == "/one-by-one")
    }

    @Test(arguments: ["", #", "until": {"equals": 0}"#, #", "until": {"equals": -1}"#])
    func negativeByteCountFailsTheLoadUnlessItIsTheEndCondition(
        _ until: String
    ) throws {
        let client = try BindingHarness(
            #"[{"call": "bf_read_broken", "with": [{"room": 8}], "deliver": "{room}", "error": {"codes": {"-1": "ioFailed"}}\#(until)}]"#
        ).load()
        let failure = LoadError(.ioFailed, message: "bf_read_broken of plugin.so failed with -1")
        #expect(client.bytes.isEmpty && client.error == (until.contains("-1") ? nil : failure))
    }

    @Test func countAboveTheBufferCapacityIsRefused() throws {
        let client = try BindingHarness(#"[{"call": "bf_overfill", "with": [{"room": 8}], "deliver": "{room}"}]"#).load()
        #expect(client.error?.message == "bf_overfill of plugin.so reports 9 bytes in a buffer of 8" && client.bytes.isEmpty)
    }
}
