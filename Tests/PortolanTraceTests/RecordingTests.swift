// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanTrace

/// The files that are parsed as recordings, and the errors for other files.
@Suite(.timeLimit(.minutes(2))) struct RecordingTests {
    private static func transactions(_ text: String) throws -> [Transaction] { try Recording(parsing: Array(text.utf8)).transactions }

    @Test(arguments: [(Archives.chromium, 4), (Archives.firefox, 5), (Archives.minimal, 1), (Archives.events, 4)])
    func archivesOfOtherProgramsAreParsed(text: String, count: Int) throws {
        let recording = try Recording(parsing: Array(text.utf8))
        #expect(recording.count == count)
        #expect(recording.form == (text == Archives.events ? .json : .har))
        #expect(try Recording(parsing: [0xEF, 0xBB, 0xBF] + Array(text.utf8)).count == count)
    }

    @Test(arguments: [Archives.chromium, Archives.minimal, Archives.events])
    func truncatedFileIsAnError(text: String) {
        let bytes = Array(text.utf8)
        for length in bytes.indices {
            #expect(throws: RecordingError.self, "\(length) bytes") { try Recording(parsing: Array(bytes[..<length])) }
        }
    }

    @Test(arguments: [Archives.chromium, Archives.firefox, Archives.minimal, Archives.events])
    func corruptFileDoesNotCrashTheReader(text: String) throws {
        var bytes = Array(text.utf8)
        let request = try Request("http://h/")
        for index in bytes.indices {
            let originalByte = bytes[index]
            bytes[index] = [UInt8(ascii: "9"), UInt8(ascii: "\""), UInt8(ascii: "-"), 0xFF, UInt8(ascii: "}")][index % 5]
            // `try?` because the parser may accept or refuse the changed file.
            if let recording = try? Recording(parsing: bytes) {
                for transaction in recording.transactions { #expect(transaction.script(for: request).count > 0) }
            }
            bytes[index] = originalByte
        }
    }

    private static func archive(_ entry: String) -> String { #"{"log":{"entries":[\#n\#(entry)]}}"# }
    private static let request = #""request":{"method":"GET","url":"http://h/"}"#

    @Test(arguments: [
        ("", "line 1:1: the text ends too early"), ("[]", "has neither the 'log' of an HTTP Archive nor the 'loads' of a trace"),
        ("{\"log\":{}}", "'log' (line 1:8) lacks 'entries'"), (#"{"log":{"entries":{}}}"#, "'log.entries' (line 1:19) has to be an array"),
        (archive("{}"), "entry 1 (line 2:1) lacks 'request'"), (archive("7"), "entry 1 (line 2:1) has to be an object"),
        (archive(#"{"request":{"method":"GET"}}"#), "entry 1, request (line 2:12) lacks 'url'"),
        (archive(#"{"request":{"method":"G T","url":"http://h/"}}"#), "entry 1, request.method (line 2:22) is not a method"),
        (archive(#"{"request":{"method":"GET","url":"nothing"}}"#), "entry 1, request.url (line 2:34) is not a URL"),
        (archive(#"{\#(request),"response":{"status":"200"}}"#), "entry 1, response.status (line 2:68) has to be a number"),
        (archive(#"{\#(request),"response":{"status":1000}}"#), "response.status (line 2:68) has to be a status from 0 to 999"),
        (archive(#"{\#(request),"response":{"status":20.5}}"#), "has to be a whole number"),
        (archive(#"{\#(request),"response":{"status":200,"headers":[{"value":""}]}}"#), "lacks 'name'"),
        (archive(#"{\#(request),"response":{"status":200,"content":{"text":"?","encoding":"base64"}}}"#), "is not base64"),
        (
            archive(#"{\#(request),"response":{"status":200,"content":{"text":"?","encoding":"rot13"}}}"#),
            "is 'rot13'; only base64 is known"
        ),
        (archive(#"{\#(request),"response":{"status":302,"redirectURL":"http://["}}"#), "redirectURL"),
        (archive(#"{\#(request),"time":"long"}"#), "entry 1, time"),
        (#"{"loads":[{"events":[{"event":"data","bytes":1}]}]}"#, "load 1, events[0] (line 1:22) comes before a load begins"),
        (
            #"{"loads":[{"events":[{"event":"started","url":"x:","method":"GET"},{"event":"data","bytes":1}]}]}"#,
            "comes before the response"
        ),
        (
            #"{"loads":[{"events":[{"event":"started","url":"x:","method":"GET"},{"event":"finished"}]}]}"#,
            "ends a load that has no response"
        ),
        (
            #"{"loads":[{"events":[{"event":"started","url":"x:","method":"GET"},{"event":"failed","code":"bad luck"}]}]}"#,
            "events[1].code (line 1:93) is not an error code"
        ),
        (
            #"{"loads":[{"events":[{"event":"started","url":"x:","method":"GET"},{"event":"response"},{"event":"data","bytes":1,"base64":"AAAA"}]}]}"#,
            "has more bytes than its 'bytes' member says"
        ),
    ])
    func errorNamesItsLocation(text: String, phrase: String) {
        let error = #expect(throws: RecordingError.self) { try Recording(parsing: Array(text.utf8)) }
        #expect(error?.description.contains(phrase) == true, "\(error?.description ?? "no error")")
    }

    /// A malformed entry does not affect the others, and stays in the file.
    @Test(arguments: [
        (
            #"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/1"},"response":{"status":200}},7,{"request":{"method":"GET","url":"http://h/2"},"response":{"status":1000}},{"request":{"method":"GET","url":"http://h/3"},"response":{"status":204}}]}}"#,
            ["entry 2 (line 1:94) has to be an object", "entry 3, response.status (line 1:164) has to be a status from 0 to 999"]
        ),
        (
            #"{"loads":[{"events":[{"event":"started","url":"http://h/1","method":"GET"},{"event":"response"},{"event":"finished"}]},{"events":[{"event":"data"}]},{"events":[{"event":"started","url":"http://h/3","method":"GET"},{"event":"response"},{"event":"finished"}]}]}"#,
            ["load 2, events[0] (line 1:131) comes before a load begins, or after its end"]
        ),
    ])
    func unreadableEntryIsSkippedAndKept(text: String, problems: [String]) throws {
        let recording = try Recording(parsing: Array(text.utf8))
        #expect(recording.transactions.map(\.url.description) == ["http://h/1", "http://h/3"])
        #expect(recording.problems.map(\.description) == problems)
        #expect(recording.bytes(as: try #require(recording.form)) == Array(text.utf8) + [0x0A])
    }

    @Test(arguments: Recording.Form.allCases, [0, 1, 42, 99, 100, 999]) func everyStatusRoundTrips(
        form: Recording.Form, code: Int
    ) throws {
        var (recording, transaction) = (Recording(), Transaction(.get, try URLRecord(parsing: "http://h/"), began: 0))
        transaction.append(.response(Response(url: transaction.url, status: .init(code: code, reasonPhrase: "X"))), at: .zero)
        transaction.append(.finished, at: .zero)
        recording.add(transaction)
        let read = try #require(try Recording(parsing: recording.bytes(as: form)).transactions.first)
        #expect(read.response?.status?.code == code && read.response?.status?.reasonPhrase == "X" && read.incompleteness == nil)
    }

    /// A parser can not decide which of two lists with the same name is valid.
    @Test(arguments: [
        #"{"log":{"entries":[],"entries":[]}}"#, #"{"log":{"entries":[]},"log":{"entries":[]}}"#, #"{"loads":[],"loads":[]}"#,
        #"{"log":{"entries":[],"\u0065ntries":null}}"#,
    ])
    func duplicateListIsRefused(text: String) {
        let error = #expect(throws: RecordingError.self) { try Recording(parsing: Array(text.utf8)) }
        #expect(error?.description.hasSuffix("keep one") == true, "\(error?.description ?? "no error")")
    }

    /// The recording contains a transaction that another process has added since the file was read. Its equal is not
    /// added.
    @Test func entriesOfOtherProcessesAreMerged() throws {
        func transaction(_ url: String) throws -> Transaction {
            var transaction = Transaction(.get, try URLRecord(parsing: url), began: 0)
            transaction.append(.response(Response(url: transaction.url)), at: .zero)
            transaction.append(.finished, at: .zero)
            return transaction
        }
        var recording = Recording()
        for url in ["x:known", "x:others"] { recording.add(try transaction(url)) }
        recording.add([try transaction("x:known"), try transaction("x:others"), try transaction("x:own")], besidesFirst: 1)
        #expect(recording.transactions.map(\.url.description) == ["x:known", "x:others", "x:known", "x:own"])
    }

    /// A timestamp of RFC 3339 has no sign before the fraction of a second.
    @Test(arguments: [(-0.5, "1969-12-31T23:59:59.500Z"), (0.25, "1970-01-01T00:00:00.250Z")])
    func timestampsBefore1970AreWritten(time: Double, text: String) {
        #expect(time.timestamp == text && Double(timestamp: text) == time)
    }

    @Test func fieldsOfABrowserArchiveAreKept() throws {
        let page = try Self.transactions(Archives.chromium)[1]
        let response = try #require(page.response)
        #expect(response.fields[.contentEncoding] == "br" && response.expectedLength == nil && response.remainingContentCodings.isEmpty)
        #expect(response.fields[values: try #require(HTTPField.Name("vary"))] == ["a", "b"])
        #expect(try Self.transactions(Archives.chromium)[0].fields == [.accept: "*/*"])
    }

    /// The browser has decoded the text to Unicode. The text is replayed as UTF-8 with that charset.
    @Test func decodedTextOfABrowserBecomesUTF8() throws {
        let text = Archives.chromium.replacing(
            #""mimeType":"text/html","text""#, with: #""mimeType":"text/html;charset=ISO-8859-1","text""#)
        let page = try Self.transactions(text)[1]
        #expect(page.receivedBody.bytes == Array("<b>é</b>".utf8) && page.incompleteness == nil)
        #expect(page.response?.mimeType?.description == "text/html;charset=utf-8")
        #expect(page.response?.fields[.contentType] == "text/html;charset=utf-8")
    }

    @Test func timesOfEventsAreSumsOfTheTimings() throws {
        let times = try Self.transactions(Archives.chromium).map { $0.moments.map { $0.time / .milliseconds(1) } }
        try #require(times.count > 1)
        #expect(times[0] == [12.5, 12.5, 12.5])
        #expect(times[1] == [10, 30, 30])
    }

    @Test(arguments: [
        ("net::ERR_NAME_NOT_RESOLVED", LoadError.Code.nameNotFound), ("net::ERR_CONNECTION_REFUSED", .cannotConnect),
        ("net::ERR_CERT_DATE_INVALID", .certificateNotTrusted), ("net::ERR_TIMED_OUT", .timedOut), ("net::ERR_SOMETHING", .connectionLost),
        ("truncated", .truncated),
    ])
    func recordedFailuresMapToErrorCodes(name: String, code: LoadError.Code) throws {
        let text = Archives.chromium.replacing("net::ERR_NAME_NOT_RESOLVED", with: name)
        #expect(try Self.transactions(text)[3].failure?.code == code)
    }

    @Test func incompletenessNamesTheMissingPart() throws {
        #expect(
            try Self.transactions(Archives.firefox).map(\.incompleteness) == [
                nil, nil, "it has the first 18 bytes of 2000000", "it has none of the 9 bytes ('Response bodies are not included.')", nil,
            ])
        #expect(try Self.transactions(Archives.events).map(\.incompleteness) == [nil, nil, nil, "interrupted"])
        let textWithLostEvents = Archives.events.replacing("\"redirects\":1}],\"lostEvents\":0", with: "\"redirects\":1}],\"lostEvents\":3")
        #expect(try Self.transactions(textWithLostEvents)[1].incompleteness == "the recording lacks 3 events")
    }

    @Test func emptyRecordingRoundTrips() throws {
        for form in Recording.Form.allCases {
            let recording = try Recording(parsing: Recording().bytes(as: form))
            #expect(recording.count == 0 && recording.form == form)
        }
    }

    /// Members that this version does not know stay in the file.
    @Test(arguments: [Archives.chromium, Archives.events]) func unknownMembersAreKept(text: String) throws {
        var recording = try Recording(parsing: Array(text.utf8))
        let form = try #require(recording.form)
        let bytesBefore = recording.bytes(as: form)
        #expect(bytesBefore.filter { $0 != 0x0A && $0 != 0x20 } == Array(text.utf8).filter { $0 != 0x0A && $0 != 0x20 })
        var newTransaction = Transaction(.get, try URLRecord(parsing: "x:new"), began: 0)
        newTransaction.append(.response(Response(url: newTransaction.url)), at: .zero)
        newTransaction.append(.finished, at: .zero)
        recording.add(newTransaction)
        let bytesAfter = recording.bytes(as: form)
        let commonPrefixLength = zip(bytesBefore, bytesAfter).prefix { $0 == $1 }.count
        #expect(commonPrefixLength > bytesBefore.count - 8 && bytesAfter.count > bytesBefore.count)
        #expect(try Recording(parsing: bytesAfter).transactions.last?.url == newTransaction.url)
    }
}
