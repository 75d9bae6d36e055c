// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Each error is one line: file, line, column, rule, the problem, and the correct form.
@Suite struct ManifestErrorTests {
    private static func problem(_ bytes: [UInt8]) -> String? {
        let problem = #expect(throws: PluginProblem.self) { try PluginManifest(parsing: bytes, path: "m") }
        #expect(problem?.rule?.id == "MANIF-01")
        return problem?.description
    }

    /// The name and the JSON text of a member, the line and column of the error, and the error.
    @Test(arguments: [
        (
            "identifier", "\"x\"", "7:17",
            "'identifier' is 'x', which is not a reverse DNS name of at most 255 bytes, as in "
                + "org.example.tide"
        ),
        ("identifier", "7", "7:17", "'identifier' is a number, where a string is needed"),
        ("name", "\"\"", "7:11", "'name' has to be one line of 1 to 1024 bytes"),
        ("vendor", "\"a\\nb\"", "7:13", "'vendor' has to be one line of 1 to 1024 bytes"),
        ("name", "null", "7:11", "'name' is null, where a string is needed"),
        ("version", "\"1.0\"", "7:14", "'version' is not a semantic version, as in 1.0.0"),
        ("version", "1.0", "7:14", "'version' is a number, where a string is needed"),
        ("description", "[]", "8:18", "'description' is an array, where a string is needed"),
        ("library", "\"../x.so\"", "7:14", "'library' is '../x.so', \(notAPathInTheFolder)"),
        ("library", "\"/x.so\"", "7:14", "'library' is '/x.so', \(notAPathInTheFolder)"),
        ("library", "\"a//x.so\"", "7:14", "'library' is 'a//x.so', \(notAPathInTheFolder)"),
        ("library", "\"\"", "7:14", "'library' is '', \(notAPathInTheFolder)"),
        ("library", "\"./x\"", "7:14", "'library' is './x', \(notAPathInTheFolder)"),
        ("library", "\"x\\u0000y\"", "7:14", "'library' is 'x\u{FFFD}y', \(notAPathInTheFolder)"),
        ("sha256", "\"abc\"", "8:13", "'sha256' is 'abc', where 64 hexadecimal digits are needed"),
        ("schemes", "\"x\"", "7:14", "'schemes' has to be an array of schemes, or \"any\""),
        ("schemes", "[]", "7:14", "'schemes' has 0 elements, where 1 to 64 are allowed"),
        ("schemes", "[\"x\", \"X\"]", "7:20", "'schemes[1]' is 'X', which is not a URL scheme in lower case (RFC 3986, section 3.1)"),
        ("schemes", "[\"x\", \"y\", \"x\"]", "7:25", "'schemes[2]' is named twice"),
        ("schemes", "[\"x\", 7]", "7:20", "'schemes[1]' is a number, where a string is needed"),
        ("hostVersions", "\"^1.0.0\"", "8:19", "'hostVersions' is not a range of versions, as in '>=0.1.0 <1.0.0'"),
        ("permissions", "\"cookies\"", "8:18", "'permissions' is a string, where an array is needed"),
        (
            "permissions", "[\"camera\"]", "8:19",
            "'permissions[0]' is not a permission; the permissions of this host are: 'cookies', 'network', 'files'"
        ),
        ("permissions", "[\"cookies\", \"cookies\"]", "8:30", "'permissions[1]' is named twice"),
        ("settings", "[]", "8:15", "'settings' is an array, where an object is needed"),
        (
            "settings", "{\"9\": {}}", "8:16",
            "'9' can't be the name of a setting; use a letter, then letters, digits, '-' and '_', 64 characters at most"
        ),
        ("settings", "{\"s\": {}}", "8:21", "'settings.s' 'type' is missing"),
        ("settings", "{\"s\": {\"type\": \"text\"}}", "8:30", "'settings.s.type' has to be one of string, integer, number, boolean"),
        (
            "settings", "{\"s\": {\"type\": \"string\", \"defualt\": 1}}", "8:40",
            "'defualt' is not a known name here; did you mean 'default'?"
        ),
        ("conformance", "{}", "8:18", "'conformance' 'loads' is missing"),
        ("conformance", "{\"loads\": [{}]}", "8:29", "'conformance.loads[0]' 'url' is missing"),
        ("conformance", "{\"loads\": []}", "8:28", "'conformance.loads' has 0 elements, where 1 to 1024 are allowed"),
        ("$schema", "true", "8:14", "'$schema' is true or false, where a string is needed"),
        ("nmae", "1", "8:3", "'nmae' is not a known name here; did you mean 'name'?"),
        (
            "entirely", "1", "8:3",
            "'entirely' is not a known name here; known are $schema, identifier, name, vendor, version, description, library, sha256, schemes, hostVersions, permissions, settings, conformance, binding"
        ), ("isolation", "\"none\"", "8:3", "'isolation' is not a known name here; known are $schema"),
    ])
    func errorIsReportedWithLineAndColumn(name: String, json: String, position: String, detail: String) throws {
        let line = try #require(Self.problem(Array(ManifestText.with([name: json]).utf8)))
        #expect(line.hasPrefix("m:\(position): MANIF-01: \(detail)"), "\(line)")
        #expect(detail.hasSuffix("$schema") || line == "m:\(position): MANIF-01: \(detail)")
    }

    private static let notAPathInTheFolder = "which is not a path inside the manifest's folder, without '..' or a leading '/' (MANIF-03)"

    @Test(arguments: [
        ("\"status\": 99", "is 99, where an integer from 100 to 599 is needed"),
        ("\"status\": 2.5", "is 2.5, where an integer from 100 to 599 is needed"),
        ("\"status\": \"200\"", "is a string, where an integer is needed"),
        ("\"mime\": \"text/plain;x=y\"", "is 'text/plain;x=y', which is not a MIME type"),
        ("\"mime\": \"Text/plain\"", "is 'Text/plain', which is not a MIME type without parameters"),
        ("\"length\": -1", "is -1, where an integer from 0 to 9223372036854775807 is needed"), ("\"sha256\": \"\"", "is '', where 64 hex"),
        (
            "\"tags\": [\"tiny\"]",
            "has to be one of small, large, empty, fails, redirects, challenges, cancelsChallenge, uploads, nested, hangs"
        ),
        ("\"tags\": \"small\"", "is a string, where an array is needed"),
        ("\"error\": \"nosuch\"", "is 'nosuch', which is neither a published code nor domain:number"),
        ("\"error\": \"org.x:\"", "is 'org.x:', which is neither"),
        ("\"error\": \"org.x:2147483648\"", "is 'org.x:2147483648', which is neither"),
        ("\"credential\": {\"username\": \"u\"}", "'password' is missing"),
        ("\"needs\": [\"a\\nb\"]", "has to be one line of 1 to 1024 bytes"),
    ])
    func errorInAConformanceLoadIsReported(member: String, detail: String) throws {
        let line = try #require(Self.problem(Array(ManifestText.load("{\"url\": \"x:1\", \(member)}").utf8)))
        let name = member.split(separator: "\"")[0]
        let memberPath = try #require(line.split(separator: "'").dropFirst().first)
        #expect(memberPath.hasPrefix("conformance.loads[0].\(name)"))
        #expect(line.contains(detail), "\(line)")
    }

    @Test(arguments: ["", "relative", "//x", "x y:z", ":x", "9:x"])
    func urlOfAConformanceLoadMustBeAbsolute(url: String) throws {
        let line = try #require(Self.problem(Array(ManifestText.load("{\"url\": \"\(url)\"}").utf8)))
        #expect(line == "m:8:37: MANIF-01: 'conformance.loads[0].url' is '\(url)', which is not an absolute URL")
    }

    @Test(arguments: ["identifier", "name", "vendor", "version", "library", "schemes"])
    func missingMemberIsNamed(name: String) {
        #expect(Self.problem(Array(ManifestText.with([name: nil]).utf8)) == "m:1:1: MANIF-01: '\(name)' is missing")
    }

    @Test(arguments: [
        ("[]", "1:1: MANIF-01: is an array, where an object is needed"), ("", "1:1: MANIF-01: the text ends too early"),
        ("{}}", "1:3: MANIF-01: more text follows the value"),
        ("{\n  a: 1,\r\n  b: 2,\r  a: 3}", "4:3: MANIF-01: this name occurs twice in its object; keep one"),
        ("{'é': 'ü", "1:9: MANIF-01: the text ends too early"), ("\n{ /* x", "2:3: MANIF-01: a comment begins here and never ends"),
        ("{\"name\": \"a\nb\"}", "1:12: MANIF-01: a string contains a control character; write it as an escape"),
    ])
    func malformedJSONIsReportedWithLineAndColumn(text: String, line: String) {
        #expect(Self.problem(Array(text.utf8)) == "m:\(line)")
    }

    @Test(arguments: [[0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC0, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func invalidUTF8IsReportedWithLineAndColumn(bytes: [UInt8]) {
        let text = Array("{\n  'n': 'é".utf8) + bytes + Array("'}".utf8)
        #expect(Self.problem(text) == "m:2:10: MANIF-01: these bytes are not UTF-8")
    }

    @Test func longNamesAreShortenedToOneLine() throws {
        let line = try #require(Self.problem(Array(ManifestText.with([String(repeating: "x\\n", count: 10_000): "1"]).utf8)))
        #expect(line.utf8.count < 500 && !line.contains("\n"))
    }
}
