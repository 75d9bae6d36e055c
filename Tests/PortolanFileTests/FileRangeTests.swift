// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Testing

@Suite struct FileRangeTests {
    private static let digits = "0123456789"

    /// A Range field, the bytes that are delivered from a file of ten digits, and the Content-Range field; `nil` if the
    /// whole file is delivered.
    static let ranges: [(field: String, bytes: String, contentRange: String?)] = [
        ("bytes=0-4", "01234", "bytes 0-4/10"), ("bytes=5-", "56789", "bytes 5-9/10"), ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=9-9", "9", "bytes 9-9/10"), ("bytes=0-", digits, "bytes 0-9/10"), ("bytes=3-100", "3456789", "bytes 3-9/10"),
        ("bytes=-100", digits, "bytes 0-9/10"), ("Bytes=1-2", "12", "bytes 1-2/10"), ("bytes= 1-2 ,", "12", "bytes 1-2/10"),
        ("bytes=2-99999999999999999999", "23456789", "bytes 2-9/10"), ("bytes=2-9223372036854775807", "23456789", "bytes 2-9/10"),
        // Another unit, several ranges and malformed fields are ignored.
        ("lines=1-2", digits, nil), ("bytes=0-1,4-5", digits, nil), ("bytes=5-2", digits, nil), ("bytes=", digits, nil),
        ("bytes=-", digits, nil), ("bytes=a-b", digits, nil), ("bytes=1", digits, nil), ("bytes=1-2-3", digits, nil),
        ("bytes", digits, nil),
        ("bytes=+1-2", digits, nil), ("bytes=1 -2", digits, nil), ("bytes =1-2", digits, nil), ("bytes=--1", digits, nil),
    ]

    @Test(arguments: ranges) func rangeFieldSelectsBytes(_ row: (field: String, bytes: String, contentRange: String?)) async throws {
        let harness = try FileHarness()
        try harness.folder.write(Self.digits.utf8, to: "f")
        let recording = try await harness.load(harness.url(of: "f"), fields: [.range: row.field])
        #expect(String(decoding: recording.bytes, as: UTF8.self) == row.bytes)
        let response = try #require(recording.response)
        #expect(response.fields[.contentRange] == row.contentRange)
        #expect(response.fields[.contentLength] == String(row.bytes.utf8.count))
        #expect(response.expectedLength == Int64(row.bytes.utf8.count))
        #expect(response.status == nil)
        #expect(recording.finishCount == 1)
        #expect(recording.violations.isEmpty)
    }

    static let rangesOutsideOfTheFile = ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"]

    @Test(arguments: rangesOutsideOfTheFile) func errorOfARangeOutsideOfTheFileNamesTheSize(_ field: String) async throws {
        let harness = try FileHarness()
        try harness.folder.write(Self.digits.utf8, to: "f")
        let error = try #require(try await harness.load(harness.url(of: "f"), fields: [.range: field]).error)
        #expect(error.code == .rangeNotSatisfiable)
        #expect(error.message.contains("10 bytes"))
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test(arguments: [("bytes=0-", true), ("bytes=-1", false)]) func emptyFileAcceptsOnlyASuffixRange(_ field: String, _ fails: Bool)
        async throws
    {
        let harness = try FileHarness()
        try harness.folder.write([], to: "empty")
        let recording = try await harness.load(harness.url(of: "empty"), fields: [.range: field])
        #expect(recording.error?.code == (fails ? .rangeNotSatisfiable : nil))
        #expect(recording.finishCount == (fails ? 0 : 1))
    }

    /// If-Range fields, and the bytes that are delivered.
    static let validators = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "01"), ("Sun, 06 Nov 1994 08:49:38 GMT", digits), ("Sun, 06 Nov 1994 08:49:36 GMT", digits),
        ("\"tag\"", digits), ("W/\"tag\"", digits), ("nonsense", digits),
    ]

    @Test(arguments: validators) func rangeIsServedOnlyIfTheFileIsUnchanged(_ validator: String, _ bytes: String) async throws {
        let harness = try FileHarness()
        try harness.folder.write(Self.digits.utf8, to: "f")
        try harness.folder.setModificationTime("f", secondsSince1970: 784_111_777)
        let recording = try await harness.load(harness.url(of: "f"), fields: [.range: "bytes=0-1", .ifRange: validator])
        #expect(String(decoding: recording.bytes, as: UTF8.self) == bytes)
    }

    @Test func rangeOfALargeFileStartsAndEndsInsidePieces() async throws {
        let harness = try FileHarness()
        let bytes = PatternedBytes.make(2_500_000)
        try harness.folder.write(bytes, to: "big")
        let recording = try await harness.load(harness.url(of: "big"), fields: [.range: "bytes=100001-2400000"])
        #expect(recording.hasBytes(Array(bytes[100_001...2_400_000])))
    }
}
