// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

/// Loads through a binding: their use of the request, callbacks, failures, and stops.
@Suite(.timeLimit(.minutes(2))) struct BindingLoadTests {
    private static let writeStep = #"{"call": "bf_write", "with": ["{url.path}"], "check": {"equals": 0}}"#

    // MARK: The request

    @Test(
        arguments: [
            ("{url}", "bound://u:p@host:7/a%20b?q=1"), ("{url.scheme}", "bound"), ("{url.username|-}", "u"), ("{url.password|-}", "p"),
            ("{url.host|-}", "host"), ("{url.port|70}.", "7."), ("{url.path}", "/a%20b"), ("{url.path.decoded}", "/a b"),
            ("{url.query|-}", "q=1"), ("{url.fragment|-}", "top"), ("{url.rest}", "//u:p@host:7/a%20b?q=1"), ("{method}", "PUT"),
            ("{field:X-Sea|-}", "calm"), ("{field:X-Land|none}", "none"), ("{property:org.example.n|-}", "5"),
            ("{property:org.example.m|-}", "-"),
            ("{setting:greeting}", "Ahoy"), ("{{{method}}}", "{PUT}"), ("{body}", "cargo"),
            ("{url.username.decoded|-}", "u"), ("{url.password.decoded|-}", "p"), ("{url.host.decoded|-}", "host"),
            ("{url.query.decoded|-}", "q=1"), ("{url.fragment.decoded|-}", "top"), ("{url.rest.decoded}", "//u:p@host:7/a b?q=1"),
            ("{field:X.length|-}", "deep"), ("{property:org.example.length|-}", "9"),
            ("{url.length}.", "28."), ("{url.scheme.length}.", "5."), ("{url.username.length|0}.", "1."),
            ("{url.password.length|0}.", "1."),
            ("{url.host.length|0}.", "4."), ("{url.path.length}.", "6."), ("{url.path.decoded.length}.", "4."),
            ("{url.query.length|0}.", "3."), ("{url.fragment.length|0}.", "3."), ("{url.rest.length}.", "22."), ("{method.length}.", "3."),
            ("{setting:greeting.length}.", "4."), ("{body.length}.", "5."),
        ] as [(String, String)])
    func templateIsFilledFromTheRequest(_ template: String, _ text: String) throws {
        let harness = try BindingHarness(
            #"[{"deliver": "\#(template)"}]"#, settings: #"{"greeting": {"type": "string", "default": "Ahoy"}}"#)
        var request = try Request("bound://u:p@host:7/a%20b?q=1#top", method: .put, body: .bytes(Array("cargo".utf8)))
        request.fields[try #require(HTTPField.Name("X-Sea"))] = "calm"
        request.fields[try #require(HTTPField.Name("X.length"))] = "deep"
        request.properties["org.example.length"] = .text("9")
        request.properties["org.example.n"] = .text("5")
        #expect(String(decoding: try harness.load(request).bytes, as: UTF8.self) == text)
    }

    @Test func lengthOfAValueCanBeAnArgumentAndTheResponseLength() throws {
        let harness = try BindingHarness(
            #"[{"respond": {"length": "{body.length}"}}, {"call": "bf_int64", "with": ["{url.query.length|7}"], "check": {"equals": -7}}, {"deliver": "{body}"}]"#
        )
        let client = try harness.load(Request("bound:x", method: .put, body: .bytes(Array("cargo".utf8))))
        #expect(client.events == [.response(5), .data(5), .finished])
    }

    /// The check of the manifest cannot know whether a conditional step delivers bytes.
    @Test func respondStepMayFollowAConditionalDelivery() throws {
        let harness = try BindingHarness(
            #"[{"deliver": "x", "when": {"value": "{method}", "equals": "PUT"}}, {"respond": {"status": 203}}, {"deliver": "y"}]"#)
        #expect(try harness.load().response?.status?.code == 203)
    }

    @Test func invalidStatusFailsTheLoad() throws {
        let harness = try BindingHarness(
            #"[{"respond": {"status": "{setting:status}"}}]"#, settings: #"{"status": {"type": "integer", "default": 199}}"#)
        #expect(
            try harness.load().error == LoadError(.badResponse, message: "the binding gives the status 199, which is not from 200 to 599"))
    }

    @Test func textWithNULIsNotPassedToFunctions() throws {
        let client = try BindingHarness(#"[{"call": "bf_given_text", "with": ["{url.path.decoded}"]}]"#).load("bound://h/a%00b")
        #expect(client.error?.code == .badURL)
    }

    @Test func numberOutOfRangeIsNotPassedToFunctions() throws {
        let harness = try BindingHarness(
            #"[{"when": {"value": "{property:n}", "isNull": false}, "call": "bf_note"}, {"call": "bf_int8", "with": ["{setting:n}"]}]"#,
            settings: #"{"n": {"type": "integer", "default": 128}}"#)
        let client = try harness.load()
        #expect(client.error?.message == "128 does not fit the library's int8; use another value in the request")
    }

    @Test func libraryReadsTheRequestBodyByCallback() throws {
        let harness = try BindingHarness(#"[{"call": "bf_pull", "result": "sum"}, {"deliver": "{sum}{method|}"}]"#)
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let request = try Request("bound:x", method: .put, body: .bytes(bytes))
        #expect(String(decoding: try harness.load(request).bytes, as: UTF8.self) == "\(bytes.reduce(0) { $0 + Int($1) })PUT")
    }

    // MARK: Callbacks

    @Test func callbackDataIsDelivered() throws {
        let client = try BindingHarness("[\(Self.writeStep)]").load("bound://h/each")
        #expect(client.bytes == Array("/each".utf8))
        #expect(client.events == [.response(nil)] + [.data(1), .data(1), .data(1), .data(1), .data(1), .finished])
    }

    @Test func narrowCallbackResultIsReturnedUnchanged() throws {
        #expect(try BindingHarness(#"[{"call": "bf_write_narrow", "check": {"equals": -100}}]"#).load().error == nil)
    }

    @Test(arguments: ["bf_write_absurd", "bf_write_null", "bf_write_other_user"])
    func callbackWithInvalidArgumentsDeliversNothing(_ function: String) throws {
        let client = try BindingHarness(#"[{"call": "\#(function)"}]"#).load()
        #expect(client.error?.code == .protocolViolation && client.bytes.isEmpty)
    }

    @Test func callbackOnAnotherThreadDeliversNothing() throws {
        let client = try BindingHarness(#"[{"call": "bf_write_elsewhere", "check": {"equals": 0}}]"#).load()
        #expect(client.bytes.isEmpty && client.error == nil)
    }

    @Test func callbackAfterItsLoadDeliversNothing() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_keep", "when": {"value": "{url.path}", "equals": "/keep"}},
             {"call": "bf_call_kept", "check": {"equals": 0}, "when": {"value": "{url.path}", "equals": "/late"}},
             {"call": "bf_write", "with": ["own"], "when": {"value": "{url.path}", "equals": "/other"}},
             {"call": "bf_call_kept", "when": {"value": "{url.path}", "equals": "/other"}}]
            """)
        #expect(try harness.load("bound://h/keep").error == nil)
        #expect(try harness.load("bound://h/late").bytes.isEmpty)
        #expect(
            harness.log.all.contains {
                $0.contains(
                    "the callback 'write' was called after the end of its load; it "
                        + "returned 'stopped', or 0")
            })
        // The closure now serves another load. The host compares the user data.
        let secondClient = try harness.load("bound://h/other")
        #expect(secondClient.bytes == Array("own".utf8))
        #expect(secondClient.error?.message == "the callback 'write' was called with another load's user data")
    }

    // MARK: Failures

    @Test func errorTextComesFromACallOfTheBinding() throws {
        let error = #"{"text": {"call": "bf_error", "with": ["{result}"]}, "code": "ioFailed", "codes": {"9": "notFound"}}"#
        let steps =
            #"[{"call": "bf_open_into", "with": ["refused", "x"], "check": {"equals": 0}, "cleanup": {"call": "bf_close", "with": ["{x}"]}}]"#
        let failure = try BindingHarness(steps, ["error": error]).load().error
        #expect(failure == LoadError(.notFound, message: "bf_open_into of plugin.so failed with 9: the thing was refused"))
    }

    @Test func nullHandleFailsTheLoad() throws {
        let client = try BindingHarness(#"[{"call": "bf_open", "with": ["refused"], "cleanup": {"call": "bf_note"}}, {"call": "bf_note"}]"#)
            .load()
        #expect(client.error?.message == "bf_open of plugin.so returned NULL, which it should not")
    }

    /// The error's text uses values that the failing step did not set.
    @Test(arguments: [
        (#""call": "bf_open", "with": ["refused"], "result": "x""#, "bf_open of plugin.so returned NULL, which it should not"),
        (#""call": "bf_open_into", "with": ["refused", "x"], "check": {"equals": 0}"#, "bf_open_into of plugin.so failed with 9"),
        (
            #""call": "bf_open_broken", "with": ["x", "words"], "check": {"equals": 0}"#,
            "bf_open_broken of plugin.so failed with 14: its lid is stuck"
        ),
    ])
    func missingValuesAreLeftOutOfTheErrorMessage(_ step: String, _ message: String) throws {
        let error = #"{"code": "ioFailed", "text": {"call": "bf_thing_error", "with": ["{x}"]}}"#
        let ownError = #"{"code": "ioFailed", "message": "{words|}", "text": {"call": "bf_thing_error", "with": ["{x}"]}}"#
        #expect(try BindingHarness("[{\(step)}]", ["error": error]).load().error == LoadError(.ioFailed, message: message))
        guard step.contains("words") else {
            #expect(try BindingHarness("[{\(step), \"error\": \(error)}]").load().error == LoadError(.ioFailed, message: message))
            return
        }
        #expect(try BindingHarness("[{\(step), \"error\": \(ownError)}]").load().error?.message == "a broken thing: its lid is stuck")
    }

    @Test func errorTextOfALibraryBecomesOneLine() throws {
        let client = try BindingHarness(
            #"[{"call": "bf_int8", "with": [1], "check": {"equals": 1}, "error": {"text": {"call": "bf_lent_text", "with": [2]}}}]"#
        ).load()
        #expect(client.error?.message == "bf_int8 of plugin.so failed with -1: line\u{FFFD}break\u{FFFD}[31m")
    }

    @Test func libraryThatCannotBeSetUpIsRefused() throws {
        let error = #expect(throws: LoadError.self) {
            try BindingHarness(#"[{"call": "bf_note"}]"#, ["setup": #"[{"call": "bf_int8", "with": [1], "check": {"equals": 1}}]"#])
        }
        #expect(error?.code == .pluginRefused)
        #expect(error?.message == "plugin.so can't be set up: bf_int8 of plugin.so failed with -1")
    }

    @Test func libraryIsSetUpOnce() throws {
        let harness = try BindingHarness(
            #"[{"call": "bf_calls", "result": "n"}, {"deliver": "{n}{method}"}]"#, ["setup": #"[{"call": "bf_note"}]"#])
        for _ in 0..<3 { #expect(try harness.text() == "1GET") }
    }

    // MARK: Stops

    @Test func callbackResultStopsTheLibrary() throws {
        let client = RecordingClient { index, _ in index == 3 ? .stopped : .keepGoing }
        let harness = try BindingHarness(
            #"[{"call": "bf_write_forever", "check": {"equals": 0}}]"#, ["stop": #""callback""#])
        #expect(try harness.load(client: client).events.count == 4)
    }

    @Test func stopFunctionStopsTheLibrary() throws {
        let harness = try BindingHarness(
            """
            [{"call": "bf_open", "with": ["x"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"deliver": "begun"}, {"call": "bf_wait", "with": ["{thing}"], "check": {"equals": 0}}]
            """, ["stop": #"{"call": "bf_wake", "with": ["{thing}"]}"#])
        let load = try TestHandlerLoad(harness.plugin, "bound:x")
        load.start()
        load.client.wait { $0.contains(.data(5)) }
        load.handlerLoad.end(with: LoadError(.cancelled, message: "enough"))
        harness.plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        #expect(load.client.events.last == .failed(LoadError(.cancelled, message: "enough")))
    }

    private static func harnessThatWritesAndWaits() throws -> BindingHarness {
        try BindingHarness(
            """
            [{"call": "bf_open", "with": ["x"], "result": "thing", "cleanup": {"call": "bf_close", "with": ["{thing}"]}},
             {"call": "bf_write_and_wait", "with": ["{thing}"], "check": {"equals": 0}}]
            """, ["stop": #"{"call": "bf_wake", "with": ["{thing}"]}"#])
    }

    @Test func stopFunctionEndsACallThatHasDeliveredData() throws {
        let harness = try Self.harnessThatWritesAndWaits()
        let load = try TestHandlerLoad(harness.plugin, "bound:x")
        load.start()
        load.client.wait { $0.contains(.data(1)) }
        load.handlerLoad.end(with: LoadError(.cancelled, message: "enough"))
        harness.plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
    }

    /// The client stops the load in the callback, and the library ignores the callback's result.
    @Test func stopByTheClientCallsTheStopFunction() throws {
        let client = RecordingClient { _, event in event == .data(1) ? .stopped : .keepGoing }
        #expect(try Self.harnessThatWritesAndWaits().load(client: client).events == [.response(nil), .data(1)])
    }

    @Test func pausedClientBlocksTheLibrary() throws {
        let client = RecordingClient { _, event in event == .data(1) ? .pause : .keepGoing }
        let load = try TestHandlerLoad(try BindingHarness("[\(Self.writeStep)]").plugin, "bound://h/abc", client: client)
        load.start()
        for count in 1...4 {
            client.wait { $0.count == count + 1 }
            load.handlerLoad.resume()
        }
        load.waitUntilEnded()
        #expect(client.bytes == Array("/abc".utf8) && load.violations.isEmpty)
    }

    @Test func manyLoadsRunAtTheSameTime() async throws {
        let harness = try BindingHarness("[\(Self.writeStep)]")
        let registry = ProtocolRegistry()
        for handler in harness.plugin.handlers { registry.register(handler) }
        let loader = Loader(configuration: .init(), registry: registry)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<200 {
                group.addTask { String(decoding: try await loader.data(from: "bound://h/\(index)").0, as: UTF8.self) == "/\(index)" }
            }
            for try await isCorrect in group { #expect(isCorrect) }
        }
    }
}
