// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Each failure is one line on standard error, a documented status, and no output.
@Suite(.blocking) struct GetFailureTests {
    private let program: Program

    init() throws { program = try Program() }

    @Test(
        arguments: [
            (["nosuch://x"], Int32(1), "portolan: no handler takes 'nosuch:' URLs; known schemes: data, file"),
            (["/nosuch/a b%?"], 3, "portolan: '/nosuch/a b%?' is not a URL; for a file, write 'file:///nosuch/a%20b%25%3F'"),
            (["./nosuch"], 3, "portolan: './nosuch' is not a URL; for a file, write 'file://' and its absolute path"),
            (["http://a b"], 3, "portolan: bad URL \"http://a b\""),
            (["data:x"], 3, "portolan: "),
            (["data:;base64,a"], 3, "portolan: the data: URL says ;base64"),
            (["file:///nosuch/file"], 37, "portolan: "),
            (["file:///tmp"], 37, "portolan: "),
            (["--plugin", "./nosuch.so", "data:,x"], nil, "portolan: "),
            (["-d", "@nosuch", "data:,x"], 26, "portolan: cannot read 'nosuch': No such file or directory"),
            (["-o", "nosuch/file", "data:,x"], 23, "portolan: cannot write 'nosuch/file': the folder 'nosuch' does not exist"),
            (["-c", "nosuch/jar", "data:,x"], 23, "portolan: cannot write 'nosuch/jar': the folder 'nosuch' does not exist"),
            (["-c", "/dev/null/jar", "data:,x"], 23, "portolan: cannot write '/dev/null/jar': '/dev/null' is not a folder"),
            (["-c", "/tmp", "data:,x"], 23, "portolan: '/tmp' is a directory; name a file in it"),
            (["--hsts", "/tmp", "data:,x"], 23, "portolan: '/tmp' is a directory; name a file in it"),
            (["-o", ".", "data:,x"], 23, "portolan: '.' is a directory"),
            (["-o", "/dev/full", "data:,x"], 23, "portolan: writing to '/dev/full' failed: No space left on device"),
            ([], 2, "portolan: Missing expected argument"),
            (["--nosuch", "data:,x"], 2, "portolan: Unknown option '--nosuch'"),
            (["-u", "nobody", "data:,x"], 2, "portolan: -u: write user:password"),
            (["-u", "u:s3cr3t\n", "data:,x"], 2, "portolan: -u: Basic allows no control characters"),
            (["-U", "u:s3cr3t\n", "data:,x"], 2, "portolan: --proxy-user: Basic allows no control characters"),
            (["u:s3cr3t@127.0.0.1:1/x"], 7, "portolan: "),
            (["-H", "s3cr3t", "-f", "http://127.0.0.1:1/", "-m", "x"], 2, "portolan: The value 'x' is invalid"),
            (["-H", "a b: s3cr3t", "data:,x"], 2, "portolan: -H: 'a b' is not a field name; write 'Name: value' (see"),
            (["-H", "Authorization: Bearer s3cr3t\nx", "data:,x"], 2, "portolan: -H: the value of 'Authorization' contains a character"),
            (["-X", "A B", "data:,x"], 2, "portolan: -X: 'A B' is not a method"),
            (["-I", "-d", "x", "data:,x"], 2, "portolan: -I and -d cannot be combined"),
            (["--max-time", "1e10", "data:,x"], 2, "portolan: The value '1e10' is invalid for '--max-time <seconds>': write a number of"),
            (["--max-time", "nan", "data:,x"], 2, "portolan: The value 'nan' is invalid for '--max-time <seconds>': write"),
            (["--connect-timeout", "x", "data:,x"], 2, "portolan: The value 'x' is invalid for"),
            (["--retry", "-1", "data:,x"], 2, "portolan: "), (["--retry-delay", "-1", "data:,x"], 2, "portolan: "),
            (["-T", "nosuch", "http://127.0.0.1:1/"], 26, "portolan: cannot read 'nosuch': "),
            (["-T", "x", "-d", "x", "data:,x"], 2, "portolan: -T cannot be combined with -d or -I"),
            (["--max-redirects", "-2", "data:,x"], 2, "portolan: "),
            (["-c", "jar", "-b", "jar", "-o", "jar", "data:,x"], 2, "portolan: -o and -c name the same file, 'jar'"),
            (["-b", "jar", "-o", "./jar", "data:,x"], 2, "portolan: -o and -b name the same file, './jar'"),
            (["-c", "jar", "--hsts", "jar", "data:,x"], 2, "portolan: -c and --hsts name the same file, 'jar'"),
            (["-c", "t.har", "--trace", "t.har", "data:,x"], 2, "portolan: --trace and -c name the same file, 't.har'"),
            (["--netrc-file", "rc", "-c", "rc", "data:,x"], 2, "portolan: -c and --netrc-file name the same file, 'rc'"),
            (["--netrc-file", "nosuch", "data:,x"], 37, "portolan: --netrc-file: "),
            (["--netrc-file", "/dev/zero", "data:,x"], nil, "portolan: --netrc-file: "),
            (["http://u:s3cr3t@127.0.0.1:99999"], 3, "portolan: bad URL \"http://127.0.0.1:99999\": the port is above 65535"),
        ] as [([String], Int32?, String)])
    func failedCommandPrintsOneLineAndHasAnExitStatus(arguments: [String], status: Int32?, line: String) throws {
        let outcome = try program.run(["get"] + arguments)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.first?.hasPrefix(line) == true, "\(outcome.errors)")
        if let status { #expect(outcome.status == status) } else { #expect(outcome.status != 0) }
        #expect(!outcome.errors.contains { $0.contains("s3cr3t") })
        #expect(try program.files.isEmpty)
    }

    @Test(arguments: [
        ("htp://u:p@h/x", "; did you mean 'http://h/x'?"), ("htps:h", "; did you mean 'https://h/'?"),
        ("fiel:///tmp", "; did you mean 'file:///tmp'?"), ("ftp://h/", "known schemes: data, file, http, https"),
        ("sftp://h/", "known schemes: data, file, http, https"),
        ("nosuch:x", "known schemes: data, file, http, https"),
        ("server:99999", "known schemes: data, file, http, https"),
    ])
    func misspeltSchemeIsReportedWithTheNearestOne(argument: String, errorEnd: String) throws {
        for command in ["get", "explain"] {
            let outcome = try program.run(command, "--no-plugins", argument)
            #expect(outcome.errors.count == 1 && outcome.errors.first?.hasSuffix(errorEnd) == true, "\(command): \(outcome.errors)")
        }
    }

    @Test func controlCharactersAreEscapedInErrors() throws {
        let outcome = try program.run("get", "-X", "a\u{1B}[31m\nb", "data:,x")
        #expect(outcome.errors == [#"portolan: -X: 'a\u{1b}[31m b' is not a method (see 'portolan help get')"#])
    }
}
