// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore
import Testing

@testable import PortolanCLI

/// `-z`, `-r` and `--etag-compare`.
@Suite struct ConditionTests {
    /// Seconds as `date -u -d TEXT +%s` prints them.
    @Test(
        arguments: [
            ("28 Nov 2026", 1_795_824_000), ("Nov 28 2026", 1_795_824_000), ("2026-11-28", 1_795_824_000), ("20261128", 1_795_824_000),
            ("Sat, 28 Nov 2026 14:30:05 GMT", 1_795_876_205), ("28-Nov-2026 14:30", 1_795_876_200),
            ("28 November 2026 14:30:00 +0100", 1_795_872_600), ("28 Nov 2026 00:00:00 EST", 1_795_842_000),
            ("dec 12 12:00:00 1999 GMT", 945_000_000),
            ("nosuch", nil), ("28 Nov", nil), ("2026-13-01", nil), ("31 Nov 2026", nil), ("28 Nov 2026 25:00", nil), ("", nil),
            ("28 28 Nov 2026", nil),
        ] as [(String, Int64?)])
    func dateIsReadAsPeopleWriteIt(text: String, seconds: Int64?) {
        #expect(DateArgument.seconds(in: text, now: 1_795_824_000) == seconds)
    }

    @Test(arguments: [("28 Nov 2026", false, HTTPField.Name.ifModifiedSince), ("-28 Nov 2026", true, .ifUnmodifiedSince)])
    func hyphenReversesTheCondition(argument: String, isForUnmodified: Bool, name: HTTPField.Name) throws {
        let condition = try TimeCondition(parsing: argument)
        #expect(condition.isForUnmodified == isForUnmodified && condition.fieldName == name)
        #expect(condition.date.description == "Sat, 28 Nov 2026 00:00:00 GMT")
        #expect(throws: (any Error).self) { try TimeCondition(parsing: "nosuch") }
    }

    @Test(
        arguments: [
            ("28 Nov 2026", 304, nil, true), ("28 Nov 2026", 200, nil, false), ("28 Nov 2026", 200, "Sat, 28 Nov 2026 00:00:00 GMT", true),
            ("28 Nov 2026", 200, "Sat, 28 Nov 2026 00:00:01 GMT", false), ("-28 Nov 2026", 200, "Sat, 28 Nov 2026 00:00:01 GMT", true),
            ("-28 Nov 2026", 412, nil, true), ("28 Nov 2026", 404, "Sat, 28 Nov 2026 00:00:00 GMT", false),
        ] as [(String, Int, String?, Bool)])
    func responseShowsWhetherTheConditionHolds(argument: String, status: Int, modified: String?, isUnmet: Bool) throws {
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .init(code: status))
        response.fields[.lastModified] = modified
        #expect(try TimeCondition(parsing: argument).isUnmet(by: response) == isUnmet)
    }

    @Test(arguments: [("0-9", "bytes=0-9"), ("5-", "bytes=5-"), ("-5", "bytes=-5"), ("5", "bytes=5-"), ("0-1,4-", "bytes=0-1,4-")])
    func rangeIsSent(range: String, field: String) throws {
        var request = try Request("http://h/")
        try ConditionOptions.parse(["-r\(range)"]).apply(to: &request)
        #expect(request.fields[.range] == field)
    }

    @Test(arguments: [["-r", "a-b"], ["-r", ""], ["-z", "nosuch"], ["--etag-save", ""], ["--etag-compare", ""]])
    func invalidConditionIsRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try ConditionOptions.parse(arguments) }
    }
}
