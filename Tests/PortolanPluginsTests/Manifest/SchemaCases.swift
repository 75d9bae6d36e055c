// SPDX-License-Identifier: Apache-2.0

/// Manifests in plain JSON, with the verdict of the decoder and of the published schema.
struct SchemaCase: Sendable {
    enum Verdict {
        case valid, invalid
        /// The decoder refuses a manifest that the schema allows. A schema can't compare values with each other, and it
        /// counts code points where the decoder counts bytes.
        case validOnlyForTheSchema
    }

    let json: String
    let verdict: Verdict

    private init(_ verdict: Verdict, _ json: String) {
        (self.json, self.verdict) = (json, verdict)
    }

    private static func cases(_ verdict: Verdict, _ name: String, _ values: [String?]) -> [Self] {
        values.map { Self(verdict, ManifestText.with([name: $0])) }
    }

    private static func loads(_ verdict: Verdict, _ members: [String]) -> [Self] {
        members.map { Self(verdict, ManifestText.load("{\"url\": \"x:1\", \($0)}")) }
    }

    private static func services(_ verdict: Verdict, _ services: [String]) -> [Self] {
        cases(verdict, "conformance", services.map { #"{"loads": [{"url": "x:1"}], "services": \#($0)}"# })
    }

    private static func settings(_ verdict: Verdict, _ settings: [String]) -> [Self] {
        settings.map { Self(verdict, ManifestText.setting($0)) }
    }

    private static func steps(_ verdict: Verdict, _ steps: [String]) -> [Self] {
        cases(
            verdict, "binding",
            steps.map { #"{"functions": {"f": "int ()", "g": "int (int)", "v": "int (int, ...)"}, "steps": [\#($0)]}"# })
    }

    private static let bindings: [Self] =
        cases(.invalid, "binding", ["null", "[]", "{}", #"{"functions": {"f": "int ()"}}"#, #"{"steps": [{"call": "f"}]}"#])
        + [("functions", "{}"), ("functions", #"{"a b": "int ()"}"#), ("functions", #"{"f": 1}"#), ("functions", #"{"f": ""}"#)].flatMap {
            cases(.invalid, "binding", [#"{"\#($0)": \#($1), "steps": [{"call": "f"}]}"#])
        }
        + cases(.valid, "binding", [#"{"functions": {"f": "H()"}, "steps": [{"call": "f"}]}"#])
        + cases(
            .invalid, "binding",
            [#""status": 99"#, #""status": 600"#, #""length": -1"#].map {
                #"{"functions": {"f": "int ()"}, "steps": [{"respond": {\#($0)}}]}"#
            })
        + [
            (Verdict.valid, #""library": "system""#), (.valid, #""library": "folder""#), (.invalid, #""library": "x""#),
            (.valid, #""stop": "step""#),
            (.invalid, #""stop": "never""#), (.invalid, #""stop": 1"#), (.validOnlyForTheSchema, #""stop": "callback""#),
            (.invalid, #""other": 1"#),
            (.valid, #""stop": {"call": "f"}"#), (.validOnlyForTheSchema, #""stop": {"call": "h"}"#),
            (.valid, #""setup": [{"call": "f"}]"#),
            (.invalid, #""setup": []"#), (.valid, #""callbacks": {"c": {"signature": "void (user)"}}"#),
            (.invalid, #""callbacks": {"c": {}}"#), (.validOnlyForTheSchema, #""callbacks": {"c": {"signature": "int (user)"}}"#),
            (.valid, #""error": {"code": "notFound", "codes": {"-1": "unknown"}, "message": "x"}"#),
            (.invalid, #""error": {"codes": {"x": "unknown"}}"#), (.invalid, #""error": {"text": "f"}"#),
            (.validOnlyForTheSchema, #""error": {"code": "x"}"#), (.validOnlyForTheSchema, #""error": {"code": "protocolViolation"}"#),
            (.invalid, #""error": {"codes": {"+1": "unknown"}}"#), (.invalid, #""error": {"codes": {"01": "unknown"}}"#),
            (.invalid, #""error": {"message": ""}"#),
        ].flatMap { cases($0, "binding", [#"{"functions": {"f": "int ()"}, "steps": [{"call": "f"}], \#($1)}"#]) }
        + steps(
            .valid,
            [
                #"{"call": "f", "result": "x", "check": {"oneOf": [0, 1]}, "until": {"atLeast": 1}, "deliver": "a"}"#,
                #"{"call": "g", "with": [1], "cleanup": {"call": "g", "with": [2]}}"#, #"{"call": "v", "with": [1, {"long": 2}]}"#,
                #"{"respond": {"status": 200, "mime": "a/b", "length": 5, "filename": "x"}, "when": {"value": "{method}", "equals": "GET"}}"#,
                #"{"require": {"value": "{url.query}", "isNull": false}, "error": {"code": "badURL"}}"#, #"{"deliver": "{body}"}"#,
            ])
        + steps(
            .invalid,
            [
                "1", "{}", #"{"call": 1}"#, #"{"call": "f", "respond": {}}"#,
                #"{"deliver": "x", "require": {"value": "a", "equals": "a"}}"#,
                #"{"deliver": "x", "with": []}"#, #"{"call": "g", "with": 1}"#, #"{"call": "g", "with": [[1]]}"#,
                #"{"call": "v", "with": [1, {"int": 1, "long": 2}]}"#, #"{"call": "f", "check": {}}"#,
                #"{"call": "f", "check": {"equals": 0, "atMost": 1}}"#,
                #"{"call": "f", "check": {"oneOf": []}}"#, #"{"call": "f", "check": 0}"#, #"{"deliver": "x", "when": {"equals": 1}}"#,
                #"{"respond": {"kind": 1}}"#, #"{"call": "f", "cleanup": "f"}"#,
            ])
        + steps(
            .validOnlyForTheSchema,
            [
                #"{"call": "h"}"#, #"{"call": "g"}"#, #"{"call": "g", "with": ["x"]}"#, #"{"deliver": "{x}"}"#,
                #"{"call": "f", "check": {"equals": "x"}}"#,
            ])

    static let all: [Self] =
        [Self(.valid, ManifestText.with()), Self(.invalid, "[]"), Self(.invalid, "{}"), Self(.invalid, "null")]
        + ["identifier", "name", "vendor", "version", "library", "schemes"].flatMap { cases(.invalid, $0, [nil, "null", "{}"]) }
        + cases(.invalid, "unknown", ["1"]) + cases(.valid, "$schema", ["\"x\""]) + cases(.invalid, "$schema", ["1"])
        + cases(.valid, "identifier", ["\"a.b\"", "\"A-1_.9\"", "\"a.\(String(repeating: "b", count: 253))\""])
        + cases(
            .invalid, "identifier",
            ["\"a\"", "\"a.\"", "\".a\"", "\"a..b\"", "\"a b.c\"", "\"é.b\"", "\"a.\(String(repeating: "b", count: 254))\""])
        + cases(.valid, "name", ["\"é 😀\"", "\"\(String(repeating: "x", count: 1024))\""])
        + cases(.invalid, "name", ["\"\"", "\"a\\tb\"", "\"\\u0085\"", "\"\\u2028\"", "\"\(String(repeating: "x", count: 1025))\"", "7"])
        + cases(.validOnlyForTheSchema, "name", ["\"\(String(repeating: "é", count: 513))\""])
        + cases(.valid, "version", ["\"0.0.0\"", "\"1.0.0-a.1+b\"", "\"1.0.0--\""])
        + cases(.invalid, "version", ["\"1\"", "\"01.0.0\"", "\"1.0.0-01\"", "\"1.0.0+\"", "\"v1.0.0\"", "1"])
        + cases(.validOnlyForTheSchema, "version", ["\"18446744073709551616.0.0\""])
        + cases(.valid, "description", ["\"d\""]) + cases(.invalid, "description", ["\"\"", "false"])
        + cases(.valid, "library", ["\"a/b/c.so\"", "\"...\"", "\"..a\"", "\".a/b\""])
        + cases(
            .invalid, "library",
            ["\"\"", "\"/a\"", "\"a/\"", "\"a//b\"", "\"..\"", "\"a/../b\"", "\"a/.\"", "\"a\\u0000b\"", "\"a\\u001b\""])
        + cases(.valid, "sha256", ["\"\(String(repeating: "aF", count: 32))\""])
        + cases(.invalid, "sha256", ["\"\(String(repeating: "a", count: 63))\"", "\"\(String(repeating: "g", count: 64))\"", "\"\""])
        + cases(.valid, "schemes", ["\"any\"", "[\"a\"]", "[\"a+.-9\", \"b\"]"])
        + cases(.invalid, "schemes", ["\"x\"", "[]", "[\"A\"]", "[\"9\"]", "[\"a\", \"a\"]", "[\"\"]", "[1]"])
        + cases(.valid, "hostVersions", ["\">=0.1.0\"", "\" >0.1.0  <=1.0.0-a+b =1.0.0 \""])
        + cases(
            .invalid, "hostVersions",
            ["\"\"", "\"1.0.0\"", "\"^1.0.0\"", "\">= 1.0.0\"", "\"\(String(repeating: ">1.0.0 ", count: 9))\"", "1"])
        + cases(.validOnlyForTheSchema, "hostVersions", ["\">=1\"", "\">=01.0.0\""])
        + cases(.valid, "permissions", ["[]", "[\"cookies\"]", "[\"files\", \"network\"]"])
        + cases(.invalid, "permissions", ["\"cookies\"", "[\"camera\"]", "[\"cookies\", \"cookies\"]", "[1]", "null"])
        + bindings
        + cases(.valid, "settings", ["{}"]) + cases(.invalid, "settings", ["[]", "{\"9\": {\"type\": \"string\"}}", "{\"s\": {}}"])
        + settings(
            .valid,
            [
                #"{"type": "string", "default": "x", "required": true, "description": "d"}"#,
                #"{"type": "number", "minimum": 1, "maximum": 2.5}"#,
                #"{"type": "boolean", "default": true}"#,
            ])
        + settings(
            .invalid,
            [
                #"{"type": "text"}"#, #"{"type": "string", "x": 1}"#, #"{"type": "string", "default": null}"#,
                #"{"type": "string", "required": "x"}"#,
                #"{"type": "number", "minimum": "1"}"#, #"{"type": "string", "description": ""}"#, #"{"type": "integer", "default": [1]}"#,
            ])
        + settings(
            .validOnlyForTheSchema,
            [
                #"{"type": "string", "default": 1}"#, #"{"type": "number", "minimum": 2, "maximum": 1}"#,
                #"{"type": "string", "minimum": 1}"#,
                #"{"type": "integer", "minimum": 2, "default": 1}"#, #"{"type": "integer", "default": 1.5}"#,
            ])
        + cases(
            .invalid, "conformance",
            [
                "{}", "[]", "{\"loads\": []}", "{\"loads\": [{}]}", "{\"loads\": [{\"url\": \"x\"}]}",
                "{\"loads\": [{\"url\": \"x:\"}], \"y\": 1}",
            ])
        + services(
            .valid,
            [
                #"{}"#, #"{"a-1": {"command": ["x", "{port}", ""]}}"#, #"{"a": {"command": ["x"], "ready": "is ready"}}"#,
            ])
        + services(
            .invalid,
            [
                #"[]"#, #"{"a": {}}"#, #"{"a": {"command": []}}"#, #"{"a": {"command": "x"}}"#, #"{"a": {"command": [1]}}"#,
                #"{"a b": {"command": ["x"]}}"#, #"{"": {"command": ["x"]}}"#, #"{"a": {"command": ["x"], "ready": ""}}"#,
                #"{"a": {"command": ["x"], "port": 1}}"#,
                "{\((1...17).map { #""s\#($0)": {"command": ["x"]}"# }.joined(separator: ", "))}",
            ])
        + loads(
            .valid,
            [
                #""status": 100"#, #""status": 599"#, #""mime": "a/b+c""#, #""length": 0"#, #""tags": []"#,
                #""tags": ["small", "hangs"]"#, #""error": "notFound""#, #""error": "a.b:1""#,
                #""credential": {"username": "", "password": ""}"#,
                #""needs": []"#, #""needs": ["x"]"#, #""needs": ["server: run by hand"]"#,
            ])
        + loads(
            .invalid,
            [
                #""status": 99"#, #""status": 600"#, #""status": "200""#, #""status": 200.5"#, #""mime": "a""#, #""mime": "a/b;c=d""#,
                #""mime": "A/b""#,
                #""mime": "a b/c""#, #""length": -1"#, #""tags": ["x"]"#, #""tags": "small""#, #""error": """#, #""error": 1"#,
                #""credential": {"username": ""}"#, #""credential": {"username": "", "password": "", "x": 1}"#, #""needs": [""]"#,
                #""needs": "x""#, #""x": 1"#,
            ])
        + loads(.validOnlyForTheSchema, [#""error": "nosuch""#, #""status": 2e2"#, #""length": 9223372036854775808"#])
        + [
            Self(.validOnlyForTheSchema, ManifestText.load("{\"url\": \"http://x%20y/\"}")),
            Self(.valid, ManifestText.load(#"{"url": "http://{a}/b", "needs": ["a"]}"#)),
        ]
        + cases(
            .validOnlyForTheSchema, "conformance", [#"{"loads": [{"url": "x://{a}/"}], "services": {"a": {"command": ["x"]}}}"#])
}
