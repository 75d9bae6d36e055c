// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import PortolanCLI

/// The arguments of `get` before the argument parser reads them.
@Suite struct GetArgumentsTests {
    @Test(arguments: [
        (["http://h/", "-o", "f", "-s"], ["-o", "f", "-s", "http://h/"]),
        (["-sSfo", "f", "u"], ["-s", "-S", "-f", "-o", "f", "u"]), (["-ofile", "-XPOST"], ["-o", "file", "-X", "POST"]),
        (["-0", "-46#", "u"], ["--http1.0", "--ipv4", "--ipv6", "--progress-bar", "u"]),
        (["--output=f", "--silent=x"], ["--output", "f", "--silent=x"]), (["-q", "--url", "u"], ["u"]),
        (["-d", "-x", "-H", "-y: z"], ["-d", "-x", "-H", "-y: z"]), (["--data", "-x"], ["--data=-x"]),
        (["--cache", "", "u"], ["--cache", "", "u"]), (["--cache=f"], ["--cache", "f"]), (["--", "-u"], ["--", "-u"]),
        (["-", "-o", "-"], ["-o", "-", "-"]), ([], []),
    ])
    func optionsPrecedeURLs(arguments: [String], expected: [String]) throws {
        #expect(try GetArguments(arguments).operations == [expected])
    }

    @Test func nextSeparatesOperationsAndGlobalOptionsHoldForLaterOnes() throws {
        let operations = try GetArguments(["-sv", "-d", "x", "a", "--next", "-I", "b", "-:", "c"]).operations
        #expect(operations == [["-s", "-v", "-d", "x", "a"], ["-s", "-v", "-I", "b"], ["-s", "-v", "c"]])
    }

    @Test(arguments: [
        (["-i", "--no-include", "u"], ["u"]), (["-f", "-L", "--no-fail", "u"], ["-L", "u"]), (["--no-include", "-i", "u"], ["-i", "u"]),
        (["--no-progress-meter", "u"], ["--no-progress-meter", "u"]), (["--no-location", "u"], ["--no-location", "u"]),
        (["--no-nosuch", "u"], ["--no-nosuch", "u"]),
    ])
    func flagIsWithdrawn(arguments: [String], expected: [String]) throws {
        #expect(try GetArguments(arguments).operations == [expected])
    }

    /// The order of different options in one list matters.
    @Test(arguments: [
        (["-d", "a", "--data-raw", "@b", "u"], ["--ordered-data", "data:a", "--ordered-data", "raw:@b", "u"]),
        (["--data-urlencode", "a", "-d", "b"], ["--ordered-data", "urlencode:a", "--ordered-data", "data:b"]),
        (["-d", "a", "-d", "b"], ["-d", "a", "-d", "b"]),
        (["-O", "-o", "f", "-o", "g"], ["--ordered-output", "remote:", "--ordered-output", "file:f", "--ordered-output", "file:g"]),
    ])
    func listOfDifferentOptionsKeepsItsOrder(arguments: [String], expected: [String]) throws {
        #expect(try GetArguments(arguments).operations == [expected])
    }

    @Test func configFileReplacesItsOption() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, headers) = (folder.appendingPathComponent("config").path, folder.appendingPathComponent("headers").path)
        try Data("# a comment\nurl = \"http://h/\"\n-o out\n--silent\nheader: \"A: \\\"b\\\"\"\nnext\n url=x".utf8).write(
            to: URL(fileURLWithPath: file))
        try Data("A: 1\r\nB: 2\n".utf8).write(to: URL(fileURLWithPath: headers))
        let operations = try GetArguments(["-K", file, "-H", "@\(headers)"]).operations
        #expect(
            operations == [["-o", "out", "--silent", "--header", "A: \"b\"", "http://h/"], ["--silent", "-H", "A: 1", "-H", "B: 2", "x"]])
        #expect(throws: Failure.self) { try GetArguments(["-K", folder.appendingPathComponent("none").path]) }
    }

    @Test func configFileThatNamesItselfIsRefused() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("loop-\(UUID().uuidString)").path
        try Data("config = \(file)".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let failure = #expect(throws: Failure.self) { try GetArguments(["-K", file]) }
        #expect(failure?.status == .usage)
    }

    @Test(arguments: [
        ("-o \"a b\"", ["-o", "a b"]), ("data = x y", ["--data", "x"]), ("user-agent: \"a\\tb\\n\\\\\"", ["--user-agent", "a\tb\n\\"]),
        ("-X=POST", ["-X", "=POST"]), ("silent", ["--silent"]), ("  # -s", []), ("", []), ("data = \"\"", ["--data", ""]),
    ])
    func lineOfAConfigFileIsAnOption(line: String, arguments: [String]) throws {
        #expect(try ConfigFile.tokens(of: line, path: "f").flatMap(\.arguments) == arguments)
    }

    /// The next line can have a secret, which must not become a URL, and which no message shows.
    @Test(arguments: [
        ("user-agent\noauth2-bearer = \"s3cr3t\"", "'--user-agent' needs"), ("output\nuser = \"s3cr3t\"", "'--output' needs"),
        ("user-agent = \nuser = s3cr3t", "'--user-agent' needs"), ("-A\n-us3cr3t", "'-A' needs"), ("-o", "'-o' needs"),
        ("-sA", "'-A' needs"),
        ("url", "'--url' needs"), ("-", "is not an option"), ("-- s3cr3t", "is not an option"),
    ])
    func optionWithoutItsValueIsAnError(text: String, problem: String) {
        let failure = #expect(throws: Failure.self) { try ConfigFile.tokens(of: text, path: "f") }
        #expect(failure?.message?.hasPrefix("-K: line 1 of 'f'") == true && failure?.message?.contains(problem) == true)
        #expect(failure?.status == .usage && failure?.message?.contains("s3cr3t") == false)
    }

    @Test(arguments: ["silent = s3cr3t", "silent = -us3cr3t", "-s s3cr3t", "-s \"\"", "--silent s3cr3t"])
    func valueOfAFlagIsIgnoredWithAWarning(line: String) throws {
        var warnings: [String] = []
        let arguments = try ConfigFile.tokens(of: line, path: "f") { warnings.append($0) }.flatMap(\.arguments)
        #expect(arguments == ["--silent"] || arguments == ["-s"])
        #expect(warnings == ["-K: line 1 of 'f': the text after the option is ignored"])
    }

    @Test(arguments: [["-o"], ["u", "-sA"], ["u", "--user"], ["u", "-K"]])
    func optionAtTheEndTakesNoURLAsItsValue(arguments: [String]) {
        let failure = #expect(throws: Failure.self) { try GetArguments(arguments) }
        #expect(failure?.status == .usage && failure?.message?.hasPrefix("Missing value for '-") == true)
    }

    @Test func errorOfAConfigFileNamesTheLine() {
        let failure = #expect(throws: Failure.self) { try ConfigFile.tokens(of: "-s\n-o \"a", path: "f") }
        #expect(failure?.message?.contains("line 2 of 'f'") == true)
    }

    /// The list in the source saves the time to describe the command.
    @Test func optionsWithValueAreThoseOfTheArgumentParser() {
        let described = GetCommand.names(ofKind: "option").reduce(into: Set()) { $0.formUnion($1) }
        #expect(GetCommand.optionsWithValue == described)
    }
}
