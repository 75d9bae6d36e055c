// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTPSyntax

/// `RequestFields`, which adds the missing fields to the fields that the caller sets.
@Suite struct RequestFieldsTests {
    private let defaults = RequestFields.Defaults(userAgent: "p/1", acceptEncoding: "gzip")

    /// Returns the fields with the given pairs of a name and a value.
    private func callerFields(_ pairs: [[String]]) throws -> HTTPFields {
        HTTPFields(try pairs.map { HTTPField(name: try #require(HTTPField.Name($0[0])), value: $0[1]) })
    }

    /// Returns the lines of the completed fields, in their order.
    private func sentFields(_ pairs: [[String]] = [], _ framing: RequestFraming = .none) throws -> [String] {
        let fields = try RequestFields(completing: callerFields(pairs), host: "a:81", framing: framing, defaults: defaults).fields
        return fields.map { "\($0.name.rawName): \($0.value)" }
    }

    @Test func hostComesFirst() throws {
        #expect(try sentFields() == ["Host: a:81", "User-Agent: p/1", "Accept: */*", "Accept-Encoding: gzip"])
    }

    @Test func fieldsOfTheCallerReplaceDefaults() throws {
        let pairs = [["accept-encoding", "br"], ["USER-AGENT", "x"], ["Accept", "text/html"], ["X-A", "b"], ["X-A", "c"]]
        #expect(try sentFields(pairs) == ["Host: a:81", "accept-encoding: br", "USER-AGENT: x", "Accept: text/html", "X-A: b", "X-A: c"])
    }

    /// RFC 6265bis §5.8: a request has at most one `Cookie` field. `HTTPFields` can hold one for each cookie.
    @Test func cookiesAreSentInOneField() throws {
        #expect(try sentFields([["Cookie", "a=1"], ["X", "y"], ["cookie", "b=2; c=3"]]).suffix(2) == ["Cookie: a=1; b=2; c=3", "X: y"])
        var fields = HTTPFields()
        fields[.cookie] = "a=1; b=2"
        let completedFields = try RequestFields(completing: fields, host: "a", framing: .none, defaults: defaults).fields
        #expect(completedFields.filter { $0.name == .cookie }.map(\.value) == ["a=1; b=2"])
    }

    @Test func hostFieldOfTheCallerIsSentFirst() throws {
        #expect(try sentFields([["X-A", "b"], ["host", "other"]]).prefix(1) == ["host: other"])
    }

    @Test func bodyOfKnownLengthHasAContentLength() throws {
        #expect(try sentFields([], .length(5)).last == "Content-Length: 5")
        #expect(try sentFields([["Content-Length", "5"]], .length(5)).filter { $0.hasPrefix("Content-Length") } == ["Content-Length: 5"])
    }

    @Test func chunkedBodyHasATransferEncoding() throws {
        #expect(try sentFields([], .chunked).last == "Transfer-Encoding: chunked")
    }

    @Test func connectionOptionsAreSentInOneField() throws {
        #expect(try sentFields([["Connection", "Close"]]).last == "Connection: close")
        #expect(
            try sentFields([["TE", "trailers"], ["Connection", "keep-alive, TE"]]).suffix(2) == [
                "TE: trailers", "Connection: keep-alive, TE",
            ])
        let fields = try RequestFields(
            completing: callerFields([["Connection", " close "]]), host: "a", framing: .none, defaults: defaults)
        #expect(fields.closesConnection)
    }

    @Test func expectContinueIsSentOnlyWithABody() throws {
        let fields = try RequestFields(completing: [:], host: "a", framing: .length(1), defaults: defaults, expectsContinue: true)
        #expect(fields.expectsContinue && fields.fields.contains(.expect))
        let fieldsWithoutBody = try RequestFields(
            completing: [:], host: "a", framing: .length(0), defaults: defaults, expectsContinue: true)
        #expect(!fieldsWithoutBody.expectsContinue && !fieldsWithoutBody.fields.contains(.expect))
        #expect(try sentFields([["Expect", "100-Continue"]], .chunked).filter { $0.hasPrefix("Expect") } == ["Expect: 100-continue"])
    }

    @Test(arguments: [
        ["Content-Length", "6"], ["Content-Length", "+5"], ["Transfer-Encoding", "chunked"], ["Upgrade", "h2c"], ["Connection", "upgrade"],
        ["Connection", "x-a"], ["Keep-Alive", "300"], ["Proxy-Connection", "close"], ["Trailer", "X-A"], ["TE", "gzip"], ["Expect", "x"],
        ["Host", "a b"], ["Host", "a, b"], ["Host", "a/b"], ["HTTP2-Settings", "x"],
    ]) func invalidAndReservedFieldsOfTheCallerAreRefused(_ pair: [String]) throws {
        let error = #expect(throws: LoadError.self) { try sentFields([pair], .length(5)) }
        #expect(error?.code == .badRequest)
        #expect(error?.message.contains(pair[0]) == true)
    }

    @Test func fieldsThatContradictTheBodyOrRepeatHostAreRefused() {
        #expect(throws: LoadError.self) { try sentFields([["Content-Length", "0"]], .none) }
        #expect(throws: LoadError.self) { try sentFields([["Content-Length", "5"]], .chunked) }
        #expect(throws: LoadError.self) { try sentFields([["Expect", "100-continue"]], .none) }
        #expect(throws: LoadError.self) { try sentFields([["Host", "a"], ["Host", "b"]]) }
    }

    @Test func framingDependsOnMethodAndBodyLength() {
        #expect(RequestFraming(method: .get, body: nil) == .none)
        #expect(RequestFraming(method: .delete, body: nil) == .none)
        #expect(RequestFraming(method: .post, body: nil) == .length(0))
        #expect(RequestFraming(method: .put, body: nil) == .length(0))
        #expect(RequestFraming(method: .get, body: .text("abc")) == .length(3))
        #expect(RequestFraming(method: .post, body: BodyWriter().body()) == .chunked)
        #expect(!RequestFraming.length(0).hasBody && RequestFraming.chunked.hasBody)
    }
}
