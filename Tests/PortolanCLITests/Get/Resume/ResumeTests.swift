// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

@Suite struct ResumeTests {
    private func response(_ status: Int?, _ fields: HTTPFields = [:]) throws -> Response {
        Response(url: try URLRecord(parsing: "x://h/f"), status: status.map { .init(code: $0) }, fields: fields)
    }

    /// The decision of a resume at `offset` about a response with this status and these fields.
    private func evaluate(_ offset: Int64, knowing validator: String? = nil, _ status: Int?, _ fields: HTTPFields = [:]) throws
        -> Resume.Decision
    {
        try Resume(offset: offset, validator: validator).evaluate(response(status, fields))
    }

    @Test func matchingRangeIsAppended() throws {
        #expect(try evaluate(5, 206, [.contentRange: "bytes 5-9/10"]) == .append(count: 5, size: 10))
        #expect(try evaluate(5, 206, [.contentRange: "bytes 5-5/*"]) == .append(count: 1, size: nil))
        #expect(try evaluate(5, knowing: "\"a\"", 206, [.contentRange: "bytes 5-9/10", .eTag: "\"a\""]) == .append(count: 5, size: 10))
        // A response of file: has no status.
        #expect(try evaluate(5, nil, [.contentRange: "bytes 5-9/10"]) == .append(count: 5, size: 10))
    }

    @Test(
        arguments: [
            ["content-range": "bytes 4-9/10"], ["content-range": "bytes 6-9/10"], ["content-range": "bytes */10"],
            ["content-range": "bytes"], [:],
            ["content-type": "multipart/byteranges; boundary=x"],
        ] as [[String: String]])
    func rangeThatDoesNotMatchIsRefused(fields: [String: String]) throws {
        var httpFields = HTTPFields()
        for (name, value) in fields { httpFields[try #require(HTTPField.Name(name))] = value }
        let failure = try #require(throws: Failure.self) { try evaluate(5, 206, httpFields) }
        #expect(failure.status == .badRange)
    }

    @Test func bodyWithAContentCodingIsNotAppendedToADecodedFile() throws {
        for (offset, status) in [(5, 206), (5, 200), (0, 200)] as [(Int64, Int)] {
            var response = try response(status, [.contentRange: "bytes 5-9/10"])
            response.remainingContentCodings = ["gzip"]
            let failure = try #require(throws: Failure.self) { try Resume(offset: offset, validator: "\"a\"").evaluate(response) }
            #expect(failure.status == .badRange)
            #expect(failure.message?.hasPrefix("'x://h/f' came coded ('gzip')") == true)
            #expect(throws: Never.self) { try Resume(offset: offset, validator: "\"a\"", isCoded: true).evaluate(response) }
        }
    }

    @Test func rangeOfAnotherVersionIsRefused() throws {
        let failure = try #require(throws: Failure.self) {
            try evaluate(5, knowing: "\"a\"", 206, [.contentRange: "bytes 5-9/10", .eTag: "\"b\""])
        }
        #expect(failure == Failure(.badRange, "'x://h/f' has changed since its first part was loaded; load it without -C"))
    }

    /// Some servers ignore `If-Range`.
    @Test(arguments: [206, 416])
    func otherDateOrTagIsAnotherVersion(status: Int) throws {
        let date = "Sat, 28 Nov 2026 10:00:00 GMT"
        let range = status == 206 ? "bytes 5-9/10" : "bytes */5"
        let others: [(String, HTTPFields)] = [
            (date, [.contentRange: range, .lastModified: "Sun, 29 Nov 2026 09:00:00 GMT"]),
            ("\"a\"", [.contentRange: range, .eTag: "\"b\"", .lastModified: date]),
            ("\"a\"", [.contentRange: range, .eTag: "W/\"a\""]),
        ]
        for (validator, fields) in others {
            let failure = try #require(throws: Failure.self) { try evaluate(5, knowing: validator, status, fields) }
            #expect(failure == Failure(.badRange, "'x://h/f' has changed since its first part was loaded; load it without -C"))
        }
        let decision = status == 206 ? Resume.Decision.append(count: 5, size: 10) : .complete
        let same: [(String?, HTTPFields)] = [
            (date, [.contentRange: range, .lastModified: date]), (date, [.contentRange: range]),
            (date, [.contentRange: range, .lastModified: "Saturday, 28-Nov-26 10:00:00 GMT"]),
            ("\"a\"", [.contentRange: range, .eTag: "\"a\"", .lastModified: "x"]), (nil, [.contentRange: range, .eTag: "\"b\""]),
        ]
        for (validator, fields) in same {
            #expect(try evaluate(5, knowing: validator, status, fields) == decision)
        }
    }

    @Test func fullResponseReplacesAnOutdatedFile() throws {
        #expect(try evaluate(5, knowing: "\"a\"", 200) == .startOver)
        #expect(try evaluate(0, 200) == .startOver)
        #expect(try evaluate(0, nil) == .startOver)
        #expect(throws: Failure.self) { try evaluate(5, 200) }
        #expect(throws: Failure.self) { try evaluate(5, nil) }
        #expect(throws: Failure.self) { try evaluate(0, 206, [.contentRange: "bytes 0-9/10"]) }
    }

    @Test func fieldCountsAndNotTheStatus() throws {
        #expect(try evaluate(5, 200, [.contentRange: "bytes 5-9/10"]) == .append(count: 5, size: 10))
        for status in [200, 206] { #expect(try evaluate(5, status, [.contentRange: "bytes 5-"]) == .append(count: nil, size: nil)) }
        for value in ["bytes 4-", "bytes 5", "bytes -", "bytes 4-9/10"] {
            #expect(throws: Failure.self) { try evaluate(5, 200, [.contentRange: value]) }
        }
    }

    @Test func fullResponseOfTheSameLengthMeansThatTheFileIsComplete() throws {
        var response = try response(200)
        response.expectedLength = 5
        #expect(try Resume(offset: 5, validator: nil).evaluate(response) == .complete)
        #expect(try Resume(offset: 5, validator: "\"a\"").evaluate(response) == .startOver)
        #expect(throws: Failure.self) { try Resume(offset: 4, validator: nil).evaluate(response) }
    }

    @Test func status416MeansThatTheFileIsComplete() throws {
        #expect(try evaluate(10, 416, [.contentRange: "bytes */10"]) == .complete)
        let failureOfALongerFile = try #require(throws: Failure.self) { try evaluate(11, 416, [.contentRange: "bytes */10"]) }
        #expect(failureOfALongerFile.status == .badRange)
        #expect(failureOfALongerFile.message?.contains("its size is 10") == true)
        #expect(try evaluate(10, 416) == .complete)
        #expect(throws: Failure.self) { try evaluate(0, 416, [.contentRange: "bytes */0"]) }
    }

    @Test(arguments: [304, 301, 400, 401, 404, 500, 503])
    func bodyOfAnErrorStatusIsNotAppended(status: Int) throws {
        for offset in [0, 5] as [Int64] {
            let failure = try #require(throws: Failure.self) { try evaluate(offset, status) }
            #expect(failure.status == .httpError)
        }
    }

    @Test func resumeRequestsTheRemainderWithoutContentCodings() throws {
        var request = try Request("x://h/f")
        Resume(offset: 7, validator: "\"a\"").requestRemainder(in: &request)
        #expect(request.fields == [.acceptEncoding: "identity", .range: "bytes=7-", .ifRange: "\"a\""])
        request.fields = [:]
        Resume(offset: 7, validator: nil).requestRemainder(in: &request)
        #expect(request.fields == [.acceptEncoding: "identity", .range: "bytes=7-"])
        request.fields = [.acceptEncoding: "br"]
        Resume(offset: 0, validator: "\"a\"").requestRemainder(in: &request)
        #expect(request.fields == [.acceptEncoding: "br"])
    }

    @Test(
        arguments: [
            (["etag": "\"a\""], "\"a\""), (["etag": "W/\"a\""], nil), (["etag": "\""], nil), (["etag": "a"], nil), ([:], nil),
            (
                ["last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:50:37 GMT"], "Sun, 06 Nov 1994 08:49:37 GMT"
            ),
            (["last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:50:36 GMT"], nil),
            (["last-modified": "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
            (["last-modified": "yesterday", "date": "Sun, 06 Nov 1994 08:50:37 GMT"], nil),
            (["etag": "W/\"a\"", "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Mon, 07 Nov 1994 08:49:37 GMT"], nil),
        ] as [([String: String], String?)])
    func onlyAStrongValidatorIsUsed(fields: [String: String], validator: String?) throws {
        var httpFields = HTTPFields()
        for (name, value) in fields { httpFields[try #require(HTTPField.Name(name))] = value }
        #expect(Resume.validator(of: try response(200, httpFields)) == validator)
    }
}
