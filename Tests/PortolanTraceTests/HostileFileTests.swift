// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON
import Testing

@testable import PortolanTrace

/// Hostile files are refused with an error that names the entry and the line, or parsed at a cost that is proportional
/// to their length.
@Suite(.timeLimit(.minutes(2))) struct HostileFileTests {
    /// A trace of one load with these events after its start.
    private static func trace(_ events: String...) -> String {
        let start = [#"{"event":"started","url":"x:","method":"GET"}"#]
        return #"{"loads":[{"events":[\#((start + events).joined(separator: ",\n"))]}]}"#
    }

    /// An archive of one response with these header fields.
    private static func archive(_ headers: String, creator: String = "x") -> String {
        #"{"log":{"creator":{"name":"\#(creator)"},"entries":[{"request":{"method":"GET","url":"http://h/"},"response":{"status":204,"headers":[\#(headers)]}}]}}"#
    }

    private static func repeated(_ text: String, _ count: Int, separator: String = ",") -> String {
        Array(repeating: text, count: count).joined(separator: separator)
    }

    /// The description of the error if the text is refused.
    private func refusal(_ text: String) -> String? {
        do throws(RecordingError) { _ = try Recording(parsing: Array(text.utf8)) } catch { return error.description }
        return nil
    }

    private static let response = #"{"event":"response"}"#
    private static let trailers = #"{"event":"trailers"}"#
    private static let data = #"{"event":"data","bytes":8999999999999999}"#

    @Test func bodySizeAboveTheLimitIsRefused() throws {
        let phrase = "load 1, events[3] (line 4:1) makes the body 9e15 bytes or more"
        #expect(refusal(Self.trace(Self.response, Self.data, Self.data)) == phrase)
        #expect(refusal(Self.trace(Self.response, Self.repeated(Self.data, 1025)))?.hasSuffix("9e15 bytes or more") == true)
        // The limit applies to each transaction separately.
        let textWithTwoTransactions = Self.trace(
            Self.response, Self.data, #"{"event":"failed","message":"x"}"#, #"{"event":"started","url":"x:","method":"GET"}"#,
            Self.response,
            Self.data)
        #expect(refusal(textWithTwoTransactions) == nil)
    }

    @Test func byteCountDoesNotOverflow() throws {
        var transaction = Transaction(.get, try URLRecord(parsing: "x:"), began: 0)
        for _ in 0..<3 { transaction.append(.data([1], count: .max / 2 + 1), at: .zero) }
        transaction.append(.finished, at: .zero)
        #expect(transaction.receivedBody.count == .max && transaction.incompleteness == "it has the first 3 bytes of \(Int.max)")
    }

    @Test(arguments: [
        (archive(repeated(#"{"name":"a","value":"b"}"#, 10_001)), "entry 1, response.headers[10000] (line 1:"),
        (archive(#"{"name":"a","value":"\#(repeated("b", 10_001, separator: "\\n"))"}"#), "entry 1, response.headers[0] (line 1:"),
        (trace(#"{"event":"response","headers":[\#(repeated(#"["a","b"]"#, 10_001))]}"#), "load 1, events[1].headers[10000] (line 2:"),
        (
            trace(response, #"{"event":"trailers","headers":[\#(repeated(#"["a","b"]"#, 10_001))]}"#),
            "load 1, events[2].headers[10000] (line 3:"
        ),
        (
            #"{"log":{"entries":[{"request":{"method":"GET","url":"x:","headers":[\#(repeated(#"{"name":"a"}"#, 10_001))]}}]}}"#,
            "entry 1, request.headers[10000] (line 1:"
        ),
    ])
    func tooManyFieldsAreRefused(text: String, location: String) throws {
        let phrase = try #require(refusal(text))
        #expect(phrase.hasPrefix(location) && phrase.hasSuffix("is one of more than 10000 fields"), "\(phrase)")
    }

    /// The parser makes an ``ErrorLocation`` only for an element that it reads.
    @Test func elementsAreCreatedLazily() throws {
        let count = 100_000
        let elements = try ErrorLocation(.array(Array(repeating: .null, count: count)), JSONPath()["log"]["entries"]).elements()
        #expect(elements.count == count && elements.last?.path.steps.count == 3)
        #expect(!(elements is [ErrorLocation]))
        #expect(refusal(#"{"log":{"entries":[\#(Self.repeated("1", count))]}}"#) == "entry 1 (line 1:20) has to be an object")
    }

    @Test(arguments: [
        (trace(trailers), "load 1, events[1] (line 2:1) comes before the response"),
        (trace(response, trailers, #"{"event":"data","bytes":1}"#), "load 1, events[3] (line 4:1) comes after the trailers"),
        (trace(response, trailers, trailers), "load 1, events[3] (line 4:1) comes after the trailers"),
        (trace(response, trailers, response), "load 1, events[3] (line 4:1) comes after the trailers"),
        (trace(response, #"{"event":"interim","status":103}"#), "load 1, events[2] (line 3:1) comes after the response"),
        (
            trace(response, #"{"event":"finished"}"#, response),
            "load 1, events[3] (line 4:1) comes before a load begins, or after its end"
        ),
        (
            trace(#"{"event":"redirect","url":"x:y"}"#, #"{"event":"finished"}"#),
            "load 1, events[2] (line 3:1) ends a load that has no response"
        ),
    ])
    func eventsInAnInvalidOrderAreRefused(text: String, phrase: String) {
        #expect(refusal(text) == phrase)
    }

    // MARK: Fields

    private func fields(_ headers: String, creator: String = "x") throws -> [String] {
        let recording = try Recording(parsing: Array(Self.archive(headers, creator: creator).utf8))
        return try #require(recording.transactions.first?.response?.fields).map { "\($0.name.canonicalName)=\($0.value)" }
    }

    @Test(arguments: [
        (#"{"name":"a","value":" \t b\tc "}"#, ["a=b\tc"]), (#"{"name":"a","value":"b\r\nc\r\n"}"#, ["a=b", "a=c", "a="]),
        (#"{"name":"a","value":"b"},{"name":"","value":"c"},{"name":"d e","value":""},{"name":"f","value":"\u0000"}"#, ["a=b"]),
    ])
    func invalidFieldIsSkippedInForeignArchives(headers: String, expected: [String]) throws {
        #expect(try fields(headers) == expected)
    }

    @Test(arguments: [#"{"name":"","value":"c"}"#, #"{"name":"f","value":"\u0000"}"#])
    func invalidFieldInAPortolanArchiveIsAnError(headers: String) {
        #expect(
            refusal(Self.archive(headers, creator: "Portolan"))
                == "entry 1, response.headers[0] (line 1:132) is not a valid HTTP field")
    }

    // MARK: Base64

    @Test(
        arguments: [
            ("AP+/", [0, 0xFF, 0xBF]), ("AP-_", [0, 0xFF, 0xBF]), ("A P\\r\\n8\\t=", [0, 0xFF]), ("AP8", [0, 0xFF]), ("", []),
            ("AP8*", nil),
            ("A", nil), ("AP8=AP8=", nil), ("éé", nil),
        ] as [(String, [UInt8]?)])
    func base64IsParsedStrictly(text: String, bytes: [UInt8]?) throws {
        for encoding in ["base64", "Base64"] {
            let archive = #"""
                {"log":{"entries":[{"request":{"method":"GET","url":"http://h/"},"response":{"status":200,
                "content":{"text":"\#(text)","encoding":"\#(encoding)"}}}]}}
                """#
            // `try?` because some archives are refused.
            let recording = try? Recording(parsing: Array(archive.utf8))
            #expect(recording?.transactions.first?.receivedBody.bytes == bytes)
        }
    }
}
