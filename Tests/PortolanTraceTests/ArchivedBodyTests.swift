// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// How a recording detects that the body of a browser's archive is incomplete.
@Suite(.timeLimit(.minutes(2))) struct ArchivedBodyTests {
    private func transaction(_ method: String = "GET", _ status: Int = 200, response: String) throws -> Transaction {
        let text = #"""
            {"log":{"entries":[{"request":{"method":"\#(method)","url":"http://h/"},"response":{"status":\#(status),\#(response)}}]}}
            """#
        return try #require(try Recording(parsing: Array(text.utf8)).transactions.first)
    }

    /// The text of a truncated body is shorter than the size in the archive. A byte order mark or another charset also
    /// changes the length.
    @Test(arguments: [
        ("text/plain;charset=utf-8", "héé", 5, true), ("text/plain;charset=utf-8", "héé", 6, false),
        ("text/plain", "héé", 2_000_000, false),
        ("text/plain", "héé", 8, true), ("text/plain", "hee", 6, true), ("text/plain", "hee", 4, false), ("text/plain", "héé", 3, true),
        ("text/plain;charset=UTF8", "héé", 6, false), ("text/plain;charset=utf-16le", "héé", 8, true),
        ("text/plain;charset=utf-16", "hee", 8, true),
        ("text/plain;charset=utf-16", "hee", 17, false), ("text/plain;charset=iso-8859-1", "héé", 3, true),
        ("text/plain;charset=iso-8859-1", "héé", 1000, false), ("text/plain;charset=iso-8859-1", "hee", 4, false),
    ])
    func textIsCompleteIfItMatchesTheSize(type: String, text: String, size: Int, isComplete: Bool) throws {
        let transaction = try transaction(response: #""content":{"mimeType":"\#(type)","size":\#(size),"text":"\#(text)"}"#)
        #expect((transaction.incompleteness == nil) == isComplete, "\(transaction.incompleteness ?? "complete")")
    }

    /// An entry with an empty body is complete; an entry whose body was not recorded is not.
    @Test(
        arguments: [
            ("GET", 200, #""headers":[{"name":"Content-Length","value":"7"}]"#, "it has none of the 7 bytes"),
            ("GET", 200, #""headers":[{"name":"Content-Length","value":"7"}],"content":{"size":0}"#, "it has none of the 7 bytes"),
            ("GET", 200, #""headers":[{"name":"Content-Length","value":"7"}],"content":{"size":-1}"#, "it has none of the 7 bytes"),
            ("GET", 200, #""bodySize":9,"content":{"size":0,"comment":"left out"}"#, "it has none of the 9 bytes ('left out')"),
            ("GET", 200, #""bodySize":9,"content":{"size":0,"text":""}"#, nil), ("GET", 200, #""bodySize":0,"content":{"size":0}"#, nil),
            ("GET", 200, #""bodySize":-1,"content":{}"#, nil), ("HEAD", 200, #""headers":[{"name":"Content-Length","value":"7"}]"#, nil),
            ("GET", 204, #""bodySize":9"#, nil), ("GET", 304, #""headers":[{"name":"Content-Length","value":"7"}]"#, nil),
            ("GET", 302, #""headers":[{"name":"Content-Length","value":"7"},{"name":"Location","value":"/x"}]"#, nil),
            ("GET", 200, #""headers":[{"name":"Content-Length","value":"-7"}]"#, nil),
        ] as [(String, Int, String, String?)])
    func missingBodyMakesTheEntryIncomplete(method: String, status: Int, response: String, incompleteness: String?) throws {
        #expect(try transaction(method, status, response: response).incompleteness == incompleteness)
    }

    @Test(arguments: [("3", Int64(3)), ("+3", nil), ("-3", nil), (" 3 ", 3), ("3, 3", nil)])
    func contentLengthMustBeDigits(value: String, length: Int64?) throws {
        let transaction = try transaction(
            response: #""headers":[{"name":"Content-Length","value":"\#(value)"}],"content":{"size":3,"text":"abc"}"#)
        #expect(transaction.response?.expectedLength == length)
    }

    /// The responses are the parts of a multipart body. An archive holds only the first part.
    @Test func archiveHoldsOneOfSeveralResponses() throws {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "x:y"), began: 0))
        for part in ["one", "two"] {
            transaction.append(.response(Response(url: transaction.url, mimeType: MIMEType(parsing: "text/\(part)"))), at: .zero)
            transaction.append(.data(Array(part.utf8), count: 3), at: .zero)
        }
        transaction.append(.finished, at: .zero)
        recording.add(transaction)
        let archivedTransaction = try #require(try Recording(parsing: recording.bytes(as: .har)).transactions.first)
        #expect(
            archivedTransaction.receivedBody.bytes == Array("one".utf8) && archivedTransaction.response?.mimeType?.description == "text/one"
        )
        #expect(archivedTransaction.incompleteness == "it has 2 responses, and an HTTP Archive can hold only one; record it as .json")
        let tracedTransaction = try #require(try Recording(parsing: recording.bytes(as: .json)).transactions.first)
        #expect(tracedTransaction.receivedBody.bytes == Array("onetwo".utf8) && tracedTransaction.incompleteness == nil)
    }

    @Test(arguments: [(ResponseSource.network, nil), (.validated, nil), (.cache, JSONValue.string("disk"))])
    func responseThatNeededNoRequestIsMarked(source: ResponseSource, member: JSONValue?) throws {
        let url = try Request("http://h/").url
        var response = Response(url: url, status: .ok)
        response.source = source
        var transaction = Transaction(.get, url, began: 0)
        transaction.append(.response(response), at: .zero)
        transaction.append(.finished, at: .zero)
        #expect(HTTPArchive.entry(transaction)["_fromCache"] == member)
    }
}
