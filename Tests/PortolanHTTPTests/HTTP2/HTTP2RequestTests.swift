// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

@Suite struct HTTP2RequestTests {
    /// The fields that a server receives from the transaction, as `name: value`.
    private func sentFields(_ transaction: RecordingTransaction) throws -> [String] {
        let server = try HTTP2ConnectionFixture()
        server.start(transaction)
        return try server.fields().map { "\($0.name): \($0.text)" }
    }

    /// The fields that a server receives from a request with these fields, without the pseudo-fields.
    private func sentFields(_ fields: HTTPFields) throws -> [String] {
        Array(try sentFields(try RecordingTransaction(fields: fields)).dropFirst(4))
    }

    @Test func requestsBeginWithTheirPseudoFields() throws {
        let transaction = try RecordingTransaction(.delete, path: "/a?b", fields: [.userAgent: "x"])
        #expect(
            try sentFields(transaction) == [":method: DELETE", ":scheme: https", ":authority: example.org", ":path: /a?b", "user-agent: x"])
    }

    @Test func emptyPathIsSentAsASlash() throws {
        #expect(try sentFields(try RecordingTransaction(path: "")).dropFirst(3).first == ":path: /")
    }

    @Test func fieldNamesAreSentInLowerCase() throws {
        let name = try #require(HTTPField.Name("X-UPPER"))
        #expect(try sentFields([name: "Value"]) == ["x-upper: Value"])
    }

    @Test(arguments: [
        "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Content-Length",
    ])
    func connectionSpecificFieldsAreNotSent(_ name: String) throws {
        let field = try #require(HTTPField.Name(name))
        #expect(try sentFields([field: "x", .accept: "*/*"]) == ["accept: */*"])
    }

    @Test func teTrailersIsSent() throws {
        #expect(try sentFields([.te: "trailers"]) == ["te: trailers"])
    }

    @Test(arguments: ["gzip", "trailers, deflate", ""])
    func otherTransferCodingsAreRefused(_ value: String) throws {
        let transaction = try RecordingTransaction(fields: [.te: value])
        #expect(try sentFields(transaction).isEmpty)
        #expect(transaction.events == [.failed(.badRequest)])
    }

    /// If a head does not fit in a HEADERS frame, CONTINUATION frames follow (RFC 9113 §6.10).
    @Test(arguments: ["~", "0"]) func aLargeHeadIsSentInSeveralFrames(_ character: String) throws {
        let server = try HTTP2ConnectionFixture()
        let name = try #require(HTTPField.Name("x-large"))
        let transaction = try RecordingTransaction(fields: [name: String(repeating: character, count: 60_000)])
        server.start(transaction)
        let types = server.frames.map(\.type).filter { $0 == 1 || $0 == 9 }
        #expect(types.first == 1 && types.count > 1 && types.dropFirst().allSatisfy { $0 == 9 })
        #expect(transaction.events == [.requestSent])
        server.send(ServerFrames.headers([(":status", "200")], endsStream: true))
        #expect(transaction.events.last == .end)
    }

    @Test func repeatedFieldsStayRepeated() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cookie, value: "a=1"))
        fields.append(HTTPField(name: .cookie, value: "b=2"))
        #expect(try sentFields(fields) == ["cookie: a=1", "cookie: b=2"])
    }

    @Test func contentLengthIsSentIfItIsKnown() throws {
        let transaction = try RecordingTransaction(.post, body: .bytes(Array("hello".utf8)))
        #expect(try sentFields(transaction).last == "content-length: 5")
    }

    @Test(arguments: ["a b", "ä", "a\u{7F}"])
    func invalidAuthoritiesAreRefused(_ host: String) throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: try #require(HTTPField.Name("Host")), lenientValue: Array(host.utf8)))
        let transaction = try RecordingTransaction(fields: fields)
        #expect(try sentFields(transaction).isEmpty)
        #expect(transaction.events == [.failed(.badURL)])
    }

    @Test func controlCharactersInValuesAreRefused() throws {
        let transaction = try RecordingTransaction(fields: [.accept: ""])
        var preparedRequest = transaction.preparedRequest
        preparedRequest.fields[.accept] = "x"
        preparedRequest.fields.append(HTTPField(name: .accept, lenientValue: Array("a\u{1}b".utf8)))
        #expect(throws: LoadError.self) { try HTTP2RequestHead(preparedRequest) }
    }

    @Test(arguments: [(LoadPriority.high, "u=1"), (.low, "u=5"), (.normal, nil)] as [(LoadPriority, String?)])
    func prioritiesAreSentAsAField(_ priority: LoadPriority, _ value: String?) throws {
        var preparedRequest = try RecordingTransaction().preparedRequest
        preparedRequest.priority = priority
        let head = try HTTP2RequestHead(preparedRequest)
        #expect(Self.values(of: "priority", in: head) == (value.map { [$0] } ?? []))
        preparedRequest.fields[try #require(HTTPField.Name("Priority"))] = "u=0, i"
        #expect(Self.values(of: "priority", in: try HTTP2RequestHead(preparedRequest)) == ["u=0, i"])
    }

    private static func values(of name: String, in head: HTTP2RequestHead) -> [String] {
        var remainingBytes = head.block.bytes[...]
        return head.block.entries.compactMap { entry in
            let field = remainingBytes.prefix(entry.nameCount + entry.valueCount)
            remainingBytes = remainingBytes.dropFirst(field.count)
            let hasName = field.prefix(entry.nameCount).elementsEqual(name.utf8)
            return hasName ? String(decoding: field.dropFirst(entry.nameCount), as: UTF8.self) : nil
        }
    }

    @Test func secretFieldsAreNeverIndexed() throws {
        var fields: HTTPFields = [.authorization: "Basic x", .proxyAuthorization: "Basic y", .cookie: "a=1", .accept: "*/*"]
        fields.append(HTTPField(name: .cookie, value: "long=0123456789abcdefghij"))
        var unindexedField = HTTPField(name: .userAgent, value: "x")
        unindexedField.indexingStrategy = .disallow
        fields.append(unindexedField)
        let server = try HTTP2ConnectionFixture()
        server.start(try RecordingTransaction(fields: fields))
        let sent = try server.fields().dropFirst(4).map { "\($0.name) \($0.isNeverIndexed)" }
        #expect(
            sent == [
                "authorization true", "proxy-authorization true", "cookie true", "accept false", "cookie false", "user-agent true",
            ])
    }
}
