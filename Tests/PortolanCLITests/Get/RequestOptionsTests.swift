// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

@Suite struct RequestOptionsTests {
    /// The request that `get` makes of these arguments.
    private func request(_ arguments: String..., for url: String = "http://h/") throws -> Request {
        try DataOptionsTests.request(arguments, for: url)
    }

    @Test func dataOptionPostsAForm() throws {
        let request = try request("-d", "a=1", "-d", "b")
        #expect(request.method == .post)
        #expect(request.body?.length == 5)
        #expect(request.fields == [.contentType: "application/x-www-form-urlencoded"])
    }

    @Test func explicitOptionsReplaceTheDefaults() throws {
        #expect(try request("-d", "a", "-X", "PATCH").method == .patch)
        #expect(try request("-d", "a", "-H", "content-type: text/plain").fields == [.contentType: "text/plain"])
        #expect(try request("-d", "a", "-H", "Content-Type:").fields.isEmpty)
        #expect(try request("-d", "a", for: "x://h/").fields.isEmpty)
    }

    @Test func fieldCanBeRepeated() throws {
        let name = try #require(HTTPField.Name("a"))
        #expect(try request("-H", "A: 1", "-H", "a:2").fields[values: name] == ["1", "2"])
    }

    @Test func codedOptionAsksForContentCodings() throws {
        let request = try request("--coded")
        #expect(!request.decodesContent)
        #expect(request.fields == [.acceptEncoding: "gzip, deflate"])
        #expect(try self.request("--raw", "-H", "Accept-Encoding: br").fields == [.acceptEncoding: "br"])
        #expect(try self.request("--raw", "-H", "Accept-Encoding:").fields[.acceptEncoding] == nil)
        #expect(try self.request("--raw", "-H", "Accept-Encoding:", "-H", "accept-encoding: br").fields == [.acceptEncoding: "br"])
    }

    @Test func timeLimitIsInSeconds() throws {
        #expect(try request("-m", "1.5").timeouts.total == .milliseconds(1500))
        #expect(try request("-m", "0").timeouts.total == nil)
        #expect(throws: (any Error).self) { try request("--max-time=-1") }
        #expect(throws: (any Error).self) { try request("--max-time", "nan") }
        #expect(throws: (any Error).self) { try request("--max-time", "1e99") }
    }

    @Test(arguments: [
        ["-T", "f", "-d", "x"], ["-T", "f", "-I"], ["-I", "-d", "x"], ["-H", "a b: x"], ["-H", ": v"], ["-H", "a: x\ny"],
    ])
    func invalidOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try GetCommand.parse(["http://h/"] + arguments) }
    }

    /// The text could be a secret of which the user forgot the name.
    @Test func textWithoutAColonIsIgnored() throws {
        for text in ["x", "", "X-T5;ignored", "a b;"] {
            #expect(try request("-H", text).fields.isEmpty && RequestOptions.parse(["-H", text]).hasTextWithoutField)
        }
        #expect(try !RequestOptions.parse(["-H", "a: x"]).hasTextWithoutField)
    }

    @Test(arguments: [
        ("Proxy-Connection: Keep-Alive", nil), ("Keep-Alive: 300", nil), ("Upgrade: x", nil), ("Trailer: X", nil), ("TE: gzip", nil),
        ("TE: trailers", "trailers"), ("Connection: Upgrade", nil), ("Connection: close, x", "close"),
        ("Connection: close , TE", "close , TE"),
    ])
    func fieldOfTheConnectionIsLeftOut(text: String, value: String?) throws {
        #expect(try request("-H", text).fields.first?.value == value)
        #expect(try request("-H", text, for: "x://h/").fields.count == 1)
        let options = try RequestOptions.parse(["-H", text])
        #expect(options.unsentFields(for: ["h"]).isEmpty == (value == String(text.drop { $0 != ":" }.dropFirst(2))))
        #expect(options.unsentFields(for: ["x://h/"]).isEmpty)
    }

    @Test func omittedFieldIsNotAddedByDefault() throws {
        var configuration = HTTPConfiguration()
        try RequestOptions.parse(["-H", "user-agent:", "-H", "Accept: ", "-H", "Accept-Encoding:", "-H", "Expect:"]).apply(
            to: &configuration)
        #expect(configuration.userAgent == nil && configuration.accept == nil && !configuration.sendsAcceptEncoding)
        #expect(configuration.expectContinue.bodySizeThreshold == nil)
        var configurationWithDefaults = HTTPConfiguration()
        try RequestOptions.parse(["-H", "user-agent: x", "-H", "Accept;", "-H", "User-Agent:"]).apply(to: &configurationWithDefaults)
        #expect(configurationWithDefaults.userAgent != nil && configurationWithDefaults.accept != nil)
    }
}

@Suite struct FieldArgumentTests {
    @Test(arguments: [
        ("A: b", "A", "b"), ("A:b", "A", "b"), ("A:\t b c \t", "A", "b c"), ("A: b: c", "A", "b: c"), ("A;", "A", ""), ("A: x;", "A", "x;"),
    ])
    func fieldHasANameAndAValue(text: String, name: String, value: String) throws {
        guard case .field(let field)? = FieldArgument(text) else {
            Issue.record("the argument is not parsed as a field")
            return
        }
        #expect(field.name.rawName == name && field.value == value)
    }

    @Test(arguments: ["A:", "A: ", "A:\t"])
    func fieldWithoutAValueIsOmitted(text: String) throws {
        #expect(FieldArgument(text) == .omission(try #require(HTTPField.Name("a"))))
    }

    @Test(arguments: ["", "A", ";", ":", "A b: c", "A: b\nC: d", "A: \u{0}", "A:;\r"])
    func invalidFieldIsRefused(text: String) {
        #expect(FieldArgument(text) == nil)
    }
}
