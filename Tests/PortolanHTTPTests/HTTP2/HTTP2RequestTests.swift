// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOEmbedded
import NIOHPACK
import PortolanCore
import Testing

@testable import PortolanHTTP

@Suite struct HTTP2RequestTests {
    private func sent(_ exchange: RecordingExchange) throws -> [String] {
        let server = try EmbeddedServer()
        server.start(exchange)
        return try server.fields().map { "\($0): \($1)" }
    }

    private func sent(_ fields: HTTPFields) throws -> [String] {
        Array(try sent(try RecordingExchange(fields: fields)).dropFirst(4))
    }

    @Test func requestsBeginWithTheirPseudoFields() throws {
        let exchange = try RecordingExchange(.delete, path: "/a?b", fields: [.userAgent: "x"])
        #expect(try sent(exchange) == [":method: DELETE", ":scheme: https", ":authority: example.org", ":path: /a?b", "user-agent: x"])
    }

    @Test func anEmptyPathIsARoot() throws {
        #expect(try sent(try RecordingExchange(path: "")).dropFirst(3).first == ":path: /")
    }

    @Test func namesAreInLowerCase() throws {
        let name = try #require(HTTPField.Name("X-UPPER"))
        #expect(try sent([name: "Value"]) == ["x-upper: Value"])
    }

    @Test(arguments: [
        "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Content-Length",
    ])
    func fieldsOfAnHTTP1ConnectionStayBehind(_ name: String) throws {
        let field = try #require(HTTPField.Name(name))
        #expect(try sent([field: "x", .accept: "*/*"]) == ["accept: */*"])
    }

    @Test func trailersMayBeAskedFor() throws {
        #expect(try sent([.te: "trailers"]) == ["te: trailers"])
    }

    @Test(arguments: ["gzip", "trailers, deflate", ""])
    func otherTransferCodingsAreRefused(_ value: String) throws {
        let exchange = try RecordingExchange(fields: [.te: value])
        #expect(try sent(exchange).isEmpty)
        #expect(exchange.events == [.failed(.badRequest)])
    }

    /// SwiftNIO sends no CONTINUATION frames: what does not fit in one frame can't be sent (RFC 9113 §4.2).
    @Test(arguments: ["~", "0"]) func aRequestWithTooLargeAHeadFailsAlone(_ character: String) throws {
        let server = try EmbeddedServer()
        let other = try RecordingExchange()
        server.start(other)
        let name = try #require(HTTPField.Name("x-large"))
        let large = try RecordingExchange(fields: [name: String(repeating: character, count: 30_000)])
        server.start(large)
        #expect(large.error?.code == .limitExceeded)
        #expect(large.error?.message.hasPrefix("the header fields of the request take ") == true, "\(String(describing: large.error))")
        #expect(large.error?.remedy == .useHTTP1)
        #expect(server.channel.isActive && server.frames.count { $0.type == 1 } == 1)
        server.send(ServerFrames.headers([(":status", "200")], ends: true))
        #expect(other.events.last == .end)
        let next = try RecordingExchange()
        server.start(next)
        server.send(ServerFrames.headers([(":status", "200")], stream: 3, ends: true))
        #expect(next.events.last == .end)
    }

    /// What Huffman coding makes small enough is sent.
    @Test func aHeadIsMeasuredAsItIsCoded() throws {
        let server = try EmbeddedServer()
        let name = try #require(HTTPField.Name("x-large"))
        let exchange = try RecordingExchange(fields: [name: String(repeating: "0", count: 24_000)])
        server.start(exchange)
        // Five bits each.
        #expect(server.frames.first { $0.type == 1 }.map { $0.payload.count >= 15_000 } == true)
        #expect(exchange.events == [.requestSent])
    }

    @Test func repeatedFieldsStayRepeated() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cookie, value: "a=1"))
        fields.append(HTTPField(name: .cookie, value: "b=2"))
        #expect(try sent(fields) == ["cookie: a=1", "cookie: b=2"])
    }

    @Test func theLengthOfABodyIsSentWhereItIsKnown() throws {
        let exchange = try RecordingExchange(.post, body: .bytes(Array("hello".utf8)))
        #expect(try sent(exchange).last == "content-length: 5")
    }

    @Test(arguments: ["a b", "ä", "a\u{7F}"])
    func authoritiesThatNoURLHasAreRefused(_ host: String) throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: try #require(HTTPField.Name("Host")), lenientValue: Array(host.utf8)))
        let exchange = try RecordingExchange(fields: fields)
        #expect(try sent(exchange).isEmpty)
        #expect(exchange.events == [.failed(.badURL)])
    }

    @Test func controlCharactersInValuesAreRefused() throws {
        let exchange = try RecordingExchange(fields: [.accept: ""])
        var outgoing = exchange.outgoing
        outgoing.fields[.accept] = "x"
        outgoing.fields.append(HTTPField(name: .accept, lenientValue: Array("a\u{1}b".utf8)))
        #expect(throws: LoadError.self) { try HTTP2RequestHead(outgoing) }
    }

    @Test(arguments: [(LoadPriority.high, "u=1"), (.low, "u=5"), (.normal, nil)] as [(LoadPriority, String?)])
    func prioritiesAreSaid(_ priority: LoadPriority, _ value: String?) throws {
        var outgoing = try RecordingExchange().outgoing
        outgoing.priority = priority
        let head = try HTTP2RequestHead(outgoing)
        #expect(head.block.first(name: "priority") == value)
        outgoing.fields[try #require(HTTPField.Name("Priority"))] = "u=0, i"
        #expect(try HTTP2RequestHead(outgoing).block["priority"] == ["u=0, i"])
    }

    @Test func secretsStayOutOfTheTable() throws {
        var outgoing = try RecordingExchange().outgoing
        outgoing.fields = [.authorization: "Basic x", .proxyAuthorization: "Basic y", .cookie: "a=1", .accept: "*/*"]
        outgoing.fields.append(HTTPField(name: .cookie, value: "long=0123456789abcdefghij"))
        let head = try HTTP2RequestHead(outgoing)
        let indexings = head.block.dropFirst(4).map { "\($0.name) \($0.indexable)" }
        #expect(
            indexings == [
                "authorization [neverIndexed]", "proxy-authorization [neverIndexed]", "cookie [neverIndexed]", "accept []", "cookie []",
            ])
    }
}
