// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// The host refuses an invalid binding before it calls any function. The error names the invalid member.
@Suite struct HostileBindingTests {
    struct InvalidBinding: Sendable, CustomTestStringConvertible {
        let steps: String
        /// Further members of the binding.
        var more: [String: String] = [:]
        /// A part of the expected error.
        let errorText: String
        var testDescription: String { errorText }
    }

    private static let openStep = #"{"call": "bf_open", "with": ["x"], "result": "thing"}"#
    private static func step(_ step: String, _ errorText: String) -> InvalidBinding {
        InvalidBinding(steps: "[\(openStep), \(step)]", errorText: errorText)
    }
    private static func member(_ name: String, _ json: String, _ errorText: String) -> InvalidBinding {
        InvalidBinding(steps: #"[{"call": "bf_note"}]"#, more: [name: json], errorText: errorText)
    }

    static let invalidBindings: [InvalidBinding] = [
        // Arity.
        step(#"{"call": "bf_int8"}"#, "'binding.steps[1].with' has 0 arguments, but 'bf_int8' takes 1"),
        step(#"{"call": "bf_int8", "with": [1, 2]}"#, "has 2 arguments"),
        step(#"{"call": "bf_vsum", "with": []}"#, "takes 1 to 17"),
        step(
            #"{"call": "bf_vsum", "with": ["", \#(Array(repeating: #"{"int": 1}"#, count: 17).joined(separator: ", "))]}"#,
            "has 18 arguments"),
        step(#"{"call": "bf_hash", "with": ["a", 1]}"#, "lengths, callbacks and user data are added automatically"),
        // Fields of structs.
        member("structs", #"{"row": {"a": {"offset": 0, "type": "int"}}}"#, "is not the name of a handle"),
        member("structs", #"{"pointer": {"a": {"offset": 0, "type": "int"}}}"#, "is not the name of a handle"),
        member("structs", #"{"Row": {}}"#, "'binding.structs.Row' has 0 fields"),
        member("structs", #"{"Row": {"a b": {"offset": 0, "type": "int"}}}"#, "is not a valid name"),
        member("structs", #"{"Row": {"a": {"offset": -1, "type": "int"}}}"#, "'binding.structs.Row.a.offset' is -1"),
        member("structs", #"{"Row": {"a": {"offset": 1.5, "type": "int"}}}"#, "is 1.5, where a number of bytes"),
        member("structs", #"{"Row": {"a": {"offset": 1048577, "type": "int"}}}"#, "is 1048577, where a number of bytes"),
        member("structs", #"{"Row": {"a": {"offset": "0", "type": "int"}}}"#, "is not a number"),
        member("structs", #"{"Row": {"a": {"offset": 0, "type": "char[0]"}}}"#, "write char[N] with 1 to 65536 bytes"),
        member("structs", #"{"Row": {"a": {"offset": 0, "type": "out int"}}}"#, "is not the type of a field"),
        member("structs", #"{"Row": {"a": {"offset": 0, "type": "int, int"}}}"#, "is not the type of a field"),
        member("structs", #"{"Row": {"a": {"offset": 0}}}"#, "type"),
        InvalidBinding(
            steps: #"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.b}"}]"#,
            more: ["structs": #"{"Row": {"a": {"offset": 0, "type": "int"}}}"#],
            errorText: "'{row.b}' is not a field of Row, whose 'structs' declares a"),
        InvalidBinding(
            steps: #"[{"call": "bf_no_row", "result": "row"}, {"deliver": "{row.a}\n"}]"#,
            more: ["structs": #"{"Row": {"a": {"offset": 0, "type": "int"}}}"#],
            errorText: "'{row.a}' can be absent"),
        InvalidBinding(
            steps: #"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row.a.b}"}]"#,
            more: ["structs": #"{"Row": {"a": {"offset": 0, "type": "int"}}}"#], errorText: "is not a known name"),
        step(#"{"deliver": "{thing.a}"}"#, "is not a known name"),
        member("structs", #"{"Row, ...": {"a": {"offset": 0, "type": "int"}}}"#, "is not the name of a handle"),
        member("structs", #"{" Row ": {"a": {"offset": 0, "type": "int"}}}"#, "is not the name of a handle"),
        member("structs", #"{"Row": {"a": {"offset": 0, "type": "int, ..."}}}"#, "is not the type of a field"),
        member("structs", #"{"Row": {"a": {"offset": 0, "type": "char[+5]"}}}"#, "write char[N] with 1 to 65536 bytes"),
        InvalidBinding(
            steps: #"[{"call": "bf_rows", "result": "row"}, {"deliver": "{row\#(String(repeating: ".n", count: 17))|}"}]"#,
            more: ["structs": #"{"Row": {"n": {"offset": 40, "type": "Row?"}}}"#], errorText: "a name has over 16 fields"),
        InvalidBinding(
            steps: #"[{"call": "bf_rows", "result": "row"}, {"require": {"value": "{url}", "differsFrom": "{row.text}"}}]"#,
            more: ["structs": #"{"Row": {"text": {"offset": 32, "type": "cstring"}}}"#], errorText: "compares with a value that can fail"),
        // Types.
        step(#"{"call": "bf_close", "with": [1]}"#, "'binding.steps[1].with[0]' is an integer, where Thing is needed"),
        step(#"{"call": "bf_close", "with": ["{url}"]}"#, "is text, where Thing is needed"),
        step(#"{"call": "bf_close", "with": [null]}"#, "is null, where Thing is needed"),
        step(#"{"call": "bf_open", "with": ["{thing}"]}"#, "is a handle Thing, where cstring is needed"),
        step(#"{"call": "bf_int8", "with": ["{thing}"]}"#, "is a handle Thing, where int8 is needed"),
        step(#"{"call": "bf_int8", "with": ["1"]}"#, "is text, where int8 is needed"),
        step(#"{"call": "bf_int8", "with": [1.5]}"#, "is a number, where int8 is needed"),
        step(#"{"call": "bf_int8", "with": [128]}"#, "is 128, which does not fit int8 (-128 to 127)"),
        step(#"{"call": "bf_uint64", "with": [18446744073709551616]}"#, "does not fit uint64"),
        step(#"{"call": "bf_uint8", "with": [-1]}"#, "does not fit uint8"),
        step(#"{"call": "bf_bool", "with": [1]}"#, "where bool is needed"),
        step(#"{"call": "bf_double", "with": [true]}"#, "where double is needed"),
        step(#"{"call": "bf_open", "with": ["{url.query}"]}"#, "is text that can be absent, where cstring is needed"),
        step(#"{"call": "bf_uint16", "with": ["{url.port}"]}"#, "is an integer that can be absent"),
        step(#"{"call": "bf_uint16", "with": ["{url.port|x}"]}"#, "needs an integer after the bar"),
        step(#"{"call": "bf_uint8", "with": ["{url.port|256}"]}"#, "does not fit uint8"),
        step(#"{"call": "bf_free", "with": ["{url}"]}"#, "where pointer is needed"),
        step(#"{"call": "bf_other_close", "with": ["{thing}"]}"#, "'bf_other_close' is not among the 'functions'"),
        step(#"{"deliver": "{thing}"}"#, "is a handle Thing, where bytes are needed"),
        step(#"{"deliver": "{thing} "}"#, "can't be part of a text"),
        InvalidBinding(
            steps: #"[{"call": "bf_open", "with": ["x"], "result": "o"}, {"call": "f", "with": ["{o}"]}]"#,
            more: ["functions": #"{"bf_open": "Other (cstring)", "f": "void (Thing)"}"#],
            errorText: "is a handle Other, where Thing is needed"
        ),
        InvalidBinding(
            steps: #"[{"call": "g", "result": "p"}, {"call": "f", "with": ["{p}"]}]"#,
            more: ["functions": #"{"g": "pointer ()", "f": "void (Thing)"}"#], errorText: "is a pointer, where Thing is needed"),
        // Variable arguments.
        step(#"{"call": "bf_vsum", "with": ["i", 1]}"#, "so it must give its type"),
        step(#"{"call": "bf_vsum", "with": ["i", {"int8": 1}]}"#, "'int8' is not a type that C passes after '...'"),
        step(#"{"call": "bf_vsum", "with": ["i", {"int, ...": 1}]}"#, "'int, ...' is not the type of one argument"),
        step(#"{"call": "bf_vsum", "with": ["i", {"float": 1}]}"#, "'float' is not a type"),
        step(#"{"call": "bf_vsum", "with": ["i", {"bool": true}]}"#, "'bool' is not a type"),
        step(#"{"call": "bf_vsum", "with": ["i", {"int": 2147483648}]}"#, "does not fit int"),
        step(#"{"call": "bf_vsum", "with": ["i", {"int, int": 1}]}"#, "is not the type of one argument"),
        step(#"{"call": "bf_vsum", "with": ["i", {"callback": "nobody"}]}"#, "'nobody' is not among the 'callbacks'"),
        step(#"{"call": "bf_vsum", "with": ["i", {"bytes b[n]": "x"}]}"#, "no parameter is called 'n'"),
        // Names.
        step(#"{"deliver": "{later}"}"#, "'{later}' is not a known name here"),
        step(#"{"call": "bf_int8", "with": [1], "result": "thing"}"#, "'thing' already has a value"),
        step(#"{"call": "bf_int8", "with": ["{x}"], "result": "x"}"#, "'{x}' is not a known name here"),
        step(#"{"call": "bf_outputs", "with": ["a", "a", "c", "d", "e", "f", "g"]}"#, "'a' already has a value"),
        step(#"{"call": "bf_note", "result": "x"}"#, "names the result of a function that returns none"),
        step(#"{"call": "bf_note", "check": {"equals": 0}}"#, "checks the result of a function that returns none"),
        step(#"{"call": "bf_int8", "with": [1], "check": {"isNull": true}}"#, "can't be NULL"),
        step(#"{"call": "bf_int8", "with": [1], "check": {"equals": "x"}}"#, "not with a constant of that kind"),
        step(#"{"call": "bf_int8", "with": [1], "check": {"equals": "{url}"}}"#, "not with a constant of that kind"),
        step(#"{"deliver": "{setting:none}"}"#, "is a setting that the manifest does not declare"),
        step(#"{"call": "bf_int8", "with": [1], "result": "url"}"#, "'url' can't be the name of a value"),
        InvalidBinding(
            steps:
                #"[{"call": "bf_open", "with": ["x"], "result": "a", "when": {"value": "{method}", "equals": "GET"}}, {"call": "bf_close", "with": ["{a}"]}]"#,
            errorText: "'{a}' is not a known name here"),
        // Sizes.
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": 16777217}]}"#, "has 16777217 bytes, where 1 to 16777216 are allowed"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": 0}]}"#, "has 0 bytes"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": -1}]}"#, "has -1 bytes"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": 1e9}]}"#, "is a buffer, which is written"),
        step(#"{"call": "bf_read", "with": ["{thing}", 5]}"#, "is a buffer, which is written"),
        step("{\"deliver\": \"\(String(repeating: "x", count: 4097))\"}", "over 4096 bytes"),
        InvalidBinding(
            steps: "[\(Array(repeating: #"{"call": "bf_note"}"#, count: 129).joined(separator: ", "))]", errorText: "has 129 elements"),
        InvalidBinding(steps: "[]", errorText: "has 0 elements"),
        // Callbacks in clean-up and error steps.
        step(#"{"call": "bf_note", "cleanup": {"call": "bf_keep"}}"#, "passes the callback 'write' in a call for cleanup, error or stop"),
        step(
            #"{"call": "bf_note", "cleanup": {"call": "bf_read", "with": ["{thing}", {"r": 1}]}}"#, "names an output in a call for cleanup"),
        step(#"{"call": "bf_note", "error": {"text": {"call": "bf_keep"}}}"#, "passes the callback"),
        step(#"{"call": "bf_note", "error": {"text": {"call": "bf_live_things"}}}"#, "does not return a cstring"),
        step(#"{"call": "bf_note", "error": {"code": "nobody"}}"#, "'nobody' is not a published code"),
        step(#"{"call": "bf_note", "error": {"codes": {"x": "unknown"}}}"#, "'x' is not an integer that a call can return"),
        // Loops.
        step(#"{"break": {"value": "{method}", "equals": "GET"}}"#, "ends a loop, but is in none"),
        step(#"{"loop": [{"call": "bf_note"}]}"#, "never ends; one of its own steps has to be a 'break'"),
        step(#"{"loop": [{"break": {"value": "{method}", "equals": "GET"}}]}"#, "calls no function"),
        step(#"{"loop": []}"#, "has 0 elements"), step(#"{"loop": [{"deliver": "x", "index": "i"}]}"#, "index"),
        step(
            #"{"loop": [{"respond": {}}, {"call": "bf_note"}, {"break": {"value": "{method}", "equals": "GET"}}]}"#, "responds in a loop"),
        // A value that a cleanup at the end of each repetition has ended.
        InvalidBinding(
            steps: """
                [{"loop": [{"call": "bf_open", "with": ["x"], "result": "a", "cleanup": {"call": "bf_close", "with": ["{a}"]}},
                           {"break": {"value": "{method}", "equals": "GET"}}]}, {"call": "bf_thing_error", "with": ["{a}"]}]
                """, errorText: "'{a}' is not a known name here"),
        // The same in a group, and for a handle that comes from the one that was closed.
        InvalidBinding(
            steps: """
                [{"loop": [{"steps": [{"call": "bf_open", "with": ["x"], "result": "a", "cleanup": {"call": "bf_close", "with": ["{a}"]}}]},
                           {"break": {"value": "{method}", "equals": "GET"}}]}, {"call": "bf_thing_error", "with": ["{a}"]}]
                """, errorText: "'{a}' is not a known name here"),
        InvalidBinding(
            steps: """
                [{"loop": [{"call": "bf_open", "with": ["x"], "result": "a", "cleanup": {"call": "bf_close", "with": ["{a}"]}},
                           {"call": "bf_next_thing", "with": ["{a}", "byte"], "result": "b", "check": {"isNull": false}},
                           {"break": {"value": "{method}", "equals": "GET"}}]}, {"call": "bf_thing_error", "with": ["{b}"]}]
                """, errorText: "'{b}' is not a known name here"),
        // A value that a repetition need not have reached.
        InvalidBinding(
            steps: """
                [{"loop": [{"break": {"value": "{method}", "equals": "GET"}}, {"call": "bf_int8", "with": [1], "result": "a"}]},
                 {"deliver": "{a}."}]
                """, errorText: "'{a}' is not a known name here"),
        InvalidBinding(
            steps: """
                [{"loop": [{"when": {"value": "{method}", "equals": "GET"},
                            "steps": [{"call": "bf_int8", "with": [1], "result": "a"}, {"break": {"value": "{a}", "equals": 1}}]},
                           {"call": "bf_note"}, {"break": {"value": "{method}", "equals": "PUT"}}]}, {"deliver": "{a}."}]
                """, errorText: "'{a}' is not a known name here"),
        InvalidBinding(
            steps: String(repeating: #"[{"steps": "#, count: 10) + #"[{"call": "bf_note"}]"# + String(repeating: "}]", count: 10),
            errorText: "which is too deep"),
        member("setup", #"[{"loop": [{"call": "bf_note"}]}]"#, "repeats steps of the setup"),
        // Buffers with a computed size.
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": {"size": "{url}", "atMost": 5}}]}"#, "has text as the size of a buffer"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": {"size": "{url.port}", "atMost": 5}}]}"#, "an integer that can be absent"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": {"size": 5, "atMost": 0}}]}"#, "has 0 bytes"),
        step(#"{"call": "bf_read", "with": ["{thing}", {"room": {"size": 5}}]}"#, "atMost"),
        // Formats.
        step(#"{"deliver": "{body.json}"}"#, "is bytes as json"), step(#"{"deliver": "{thing.csv}"}"#, "is a handle Thing as csv"),
        step(#"{"deliver": "{url.file.decoded}"}"#, "has nothing to decode"),
        // Impossible constants.
        step(#"{"respond": {"status": 99}}"#, "'binding.steps[1].respond.status' is 99, where 200 to 599 are allowed"),
        step(#"{"respond": {"status": 101}}"#, "is 101"), step(#"{"respond": {"status": 600}}"#, "is 600"),
        step(#"{"respond": {"status": "{url.port|0}"}}"#, "is 0, where 200"),
        step(#"{"respond": {"length": -1}}"#, "'binding.steps[1].respond.length' is -1"),
        step(#"{"respond": {"mime": "garbage"}}"#, "'binding.steps[1].respond.mime' is not a media type"),
        step(#"{"respond": {"mime": ""}}"#, "is not a media type"),
        step(#"{"deliver": "x"}, {"respond": {}}"#, "'binding.steps[2].respond' responds after a step that delivers bytes"),
        step(#"{"call": "bf_given_text", "with": [null], "result": "t", "deliver": "{t}"}, {"respond": {}}"#, "responds after a step that"),
        step(#"{"deliver": "{field:a b|}"}"#, "'{field:a b}' is not the name of a header field"),
        step(#"{"deliver": "{field:a\r\n|}"}"#, "is not the name of a header field"),
        step(#"{"deliver": "{field:|}"}"#, "is not the name of a header field"),
        step(#"{"call": "bf_note", "error": {"code": "protocolViolation"}}"#, "the code 'protocolViolation' is reserved for the host"),
        step(#"{"call": "bf_note", "error": {"codes": {"1": "pluginRefused"}}}"#, "the code 'pluginRefused' is reserved for the host"),
        step(#"{"call": "bf_note", "error": {"codes": {"+3": "unknown"}}}"#, "the number '+3' must be written '3'"),
        step(#"{"call": "bf_note", "error": {"codes": {"03": "unknown"}}}"#, "'03' must be written '3'"),
        step(#"{"call": "bf_note", "error": {"message": ""}}"#, "'binding.steps[1].error.message' is empty"),
        member("error", #"{"message": ""}"#, "is empty"), member("stop", #""callback""#, "no step passes a callback"),
        member(
            "callbacks", #"{"w": {"signature": "uint16 (bytes n[c], size c)", "deliver": "n", "returns": "{n.length}", "stopped": 0}}"#,
            "is a number of bytes that can be too large for uint16"),
        member("stop", #"{"call": "bf_keep"}"#, "passes the callback"),
        member("stop", #"{"call": "bf_wake", "with": ["{thing}"]}"#, "'{thing}' is not a known name here"),
        member("setup", #"[{"deliver": "x"}]"#, "delivers during setup, where there is no request"),
        member("setup", #"[{"call": "bf_open", "with": ["{url}"]}]"#, "'{url}' is not a known name here"),
        member("error", #"{"text": {"call": "bf_error", "with": ["{nothing}"]}}"#, "'{nothing}' is not a known name here"),
        member("stop", #""callbck""#, "is neither 'callback' nor 'step' nor a call"),
        InvalidBinding(
            steps: #"[{"call": "f"}]"#, more: ["functions": #"{"f": "int (callback none)"}"#],
            errorText: "'none' is not among the 'callbacks'"
        ),
        InvalidBinding(
            steps: #"[{"call": "f"}]"#, more: ["functions": #"{"f": "cstring freed by g ()"}"#],
            errorText: "'g', which must free the result of this function, is not among"),
        InvalidBinding(
            steps: #"[{"call": "f"}]"#, more: ["functions": #"{"f": "cstring freed by g ()", "g": "void (int)"}"#],
            errorText: "must take exactly one 'pointer'"),
        InvalidBinding(
            steps: #"[{"call": "f"}]"#, more: ["functions": #"{"f": "int ("}"#],
            errorText: "'binding.functions.f' is not a signature: a type is needed"),
        InvalidBinding(steps: #"[{"call": "f"}]"#, more: ["functions": "{}"], errorText: "has 0 functions"),
        InvalidBinding(
            steps: #"[{"call": "f"}]"#, more: ["functions": #"{"a b": "int ()"}"#], errorText: "is not the name of a C function"),
        member("callbacks", #"{"w": {"signature": "int (user)"}}"#, "has to be a constant of int"),
        member("callbacks", #"{"w": {"signature": "void (user)", "stopped": 1}}"#, "has a value, but the signature returns void"),
        member("callbacks", #"{"w": {"signature": "int8 (user)", "returns": 128, "stopped": 0}}"#, "is 128, which does not fit int8"),
        member(
            "callbacks", #"{"w": {"signature": "int (user)", "returns": "{data.length}", "stopped": 0}}"#, "has to be a constant of int"),
        member(
            "callbacks", #"{"w": {"signature": "int (user)", "deliver": "data", "returns": 0, "stopped": 0}}"#, "'data' is not a 'bytes'"),
        // Shapes.
        member("library", #""/lib/x.so""#, "which is neither 'system' nor 'folder'"),
        step(#"{"wehn": 1}"#, "did you mean 'when'?"), step("{}", "does nothing"),
        step(#"{"call": "bf_note", "respond": {}}"#, "'respond' is not a known name here"),
        step("7", "is a number, where an object is needed"),
        step(#"{"call": "bf_int8", "with": [[1]]}"#, "is an array, where a value is needed"),
        step(#"{"call": "bf_int8", "with": [{"int": 1}]}"#, "only a buffer and an argument after '...' are objects"),
        step(#"{"require": {"value": "{url}"}}"#, "needs one of equals"), step(#"{"deliver": "{"}"#, "has a brace without its partner"),
    ]

    @Test(arguments: invalidBindings) func invalidBindingIsRefusedWithLineAndColumn(_ binding: InvalidBinding) throws {
        let text = BindingHarness.manifest(binding.steps, binding.more)
        let problem = try #require(
            #expect(throws: PluginProblem.self) { try PluginManifest(parsing: Array(text.utf8), path: "m.json") })
        #expect(problem.detail.contains(binding.errorText), "\(problem)")
        #expect(problem.line ?? 0 > 1 && problem.column != nil, "\(problem)")
    }

    @Test func missingFunctionIsReportedWithLineAndColumn() throws {
        let functions = "{\n\"bf_note\": \"void ()\",\n\"bf_missing\": \"void ()\"}"
        let error = #expect(throws: LoadError.self) { try BindingHarness(#"[{"call": "bf_note"}]"#, ["functions": functions]) }
        #expect(error?.code == .pluginNotLoadable)
        let lines = BindingHarness.manifest("[]", ["functions": functions]).split(separator: "\n")
        let line = try #require(lines.firstIndex { $0.hasPrefix("\"bf_missing\"") }) + 1
        #expect(
            error?.message.contains(":\(line):1: MANIF-07: the library has no function 'bf_missing'") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["bf_data", "bf_constant", "bf_own_data"]) func dataSymbolIsNotCalledAsAFunction(_ name: String) throws {
        let error = #expect(throws: LoadError.self) {
            try BindingHarness(#"[{"call": "\#(name)"}]"#, ["functions": #"{"\#(name)": "int ()"}"#])
        }
        #expect(error?.code == .pluginNotLoadable)
        #expect(
            error?.message.contains(
                "MANIF-07: '\(name)' is a variable of the library, not a "
                    + "function") == true, "\(error?.message ?? "")")
    }

    @Test func systemLibraryNameMustNotBeAPath() throws {
        for library in ["/tmp/x.so", "../x.so", "a/b.so"] {
            let text = ManifestText.with([
                "library": "\"\(library)\"", "binding": #"{"library": "system", "functions": {"f": "void ()"}, "steps": [{"call": "f"}]}"#,
            ])
            #expect(throws: PluginProblem.self) { try PluginManifest(parsing: Array(text.utf8), path: "m") }
        }
    }

    @Test func bindingCannotServeAnyScheme() {
        let text = ManifestText.with(["schemes": "\"any\"", "binding": #"{"functions": {"f": "void ()"}, "steps": [{"call": "f"}]}"#])
        #expect(throws: PluginProblem.self) { try PluginManifest(parsing: Array(text.utf8), path: "m") }
    }
}
