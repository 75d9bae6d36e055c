// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

/// Failures that a URL of the echo plugin requests, and invalid URLs.
@Suite(.timeLimit(.minutes(2))) struct EchoFailureTests {
    private static let hostCodes: Set<LoadError.Code> = [.protocolViolation, .pluginNotLoadable, .pluginRefused]

    /// All codes except those that are reserved for the host.
    @Test(arguments: LoadError.Code.published.filter { !hostCodes.contains($0.code) }.map(\.name))
    func everyPublishedCodeCanBeRequested(_ name: String) throws {
        let client = try Echo.run("echo:fail?code=\(name)")
        #expect(client.error?.code.description == name)
        #expect(client.error?.domain == nil)
        #expect(client.events.count == 1)
    }

    @Test func failureComesAfterTheRequestedBytes() throws {
        let client = try Echo.run("echo:fail?code=notFound&after=5&piece=3&message=the%20%C3%BC%20sank")
        #expect(client.events.dropLast() == [.response(nil), .data(3), .data(2)])
        #expect(client.bytes == Echo.pattern(0..<5))
        #expect(client.error?.message == "the ü sank")
        #expect(try Echo.run("echo:fail?code=notFound&after=0").events.first == .response(nil))
        #expect(try Echo.run("echo:fail?code=notFound&after=9") { $0.method = .head }.events.count == 2)
    }

    @Test(arguments: [Int32.min, -1, 0, 7, .max])
    func codesOfAnErrorDomainCanBeRequested(_ number: Int32) throws {
        let error = try Echo.run("echo:fail?code=\(number)&domain=org.example.tide").error
        #expect(error?.code.rawValue == number)
        #expect(error?.domain == "org.example.tide")
    }

    /// The URL, and two parts of the error message: the wrong part of the URL, and an allowed value or the rule.
    @Test(arguments: [
        ("echo:nowhere", "'nowhere'", "request, text"),
        ("echo:Text", "'Text'", "sink"),
        ("echo:request/", "'request/'", "hang"),
        ("echo:%0A", "'%0A'", "hang"),
        ("echo://host/nowhere", "'nowhere'", "request"),
        ("echo:text?colour=red", "'colour'", "text, step"),
        ("echo:request?text=a", "'text'", "echo:request has no parameter"),
        ("echo:text?text=a&text=b", "'text'", "2 times"),
        ("echo:text?status=200&status=201", "'status'", "once"),
        ("echo:text?text=%zz", "'text'", "hexadecimal"),
        ("echo:text?text=%4", "'text'", "hexadecimal"),
        ("echo:text?%z=a", "name", "%25"),
        ("echo:text?%FF=a", "name", "malformed"),
        ("echo:text?type=%FF", "'type'", "UTF-8"),
        ("echo:bytes?base64=A", "'base64'", "base64"),
        ("echo:bytes?base64=AA=", "'base64'", "base64"),
        ("echo:bytes?base64=AAA=A", "'base64'", "base64"),
        ("echo:bytes?base64=AAAA====", "'base64'", "base64"),
        ("echo:bytes?base64=A%20A=", "'base64'", "base64"),
        ("echo:bytes?base64=A%C3%BCA", "'base64'", "base64"),
        ("echo:size", "'bytes'", "1099511627776"),
        ("echo:size?bytes=", "'bytes'", "1099511627776"),
        ("echo:size?bytes=-1", "'-1'", "from 0"),
        ("echo:size?bytes=%2B1", "'+1'", "from 0"),
        ("echo:size?bytes=1.0", "'1.0'", "from 0"),
        ("echo:size?bytes=1099511627777", "'1099511627777'", "1099511627776"),
        ("echo:size?bytes=99999999999999999999", "'bytes'", "1099511627776"),
        ("echo:size?bytes=\u{661}", "'bytes'", "1099511627776"),
        ("echo:text?status=199", "'status'", "200 to 999"),
        ("echo:text?status=1000", "'status'", "200 to 999"),
        ("echo:text?interim=99", "'interim'", "100 to 199"),
        ("echo:text?interim=103&interim=200", "'200'", "100 to 199"),
        ("echo:text?type=text", "'type'", "text/plain"),
        ("echo:text?type=text/plain;charset=utf-8", "'type'", "without parameters"),
        ("echo:text?charset=a%20b", "'charset'", "token"),
        ("echo:text?charset=", "'charset'", "token"),
        ("echo:text?field=a", "'field'", "Name:value"),
        ("echo:text?field=:a", "'field'", "Name:value"),
        ("echo:text?field=a%20b:c", "'field'", "Name:value"),
        ("echo:text?field=a:b%0D%0Ac:d", "'field'", "control character"),
        ("echo:text?field=a:%00", "'field'", "control character"),
        ("echo:text?trailer=a:%7F", "'trailer'", "control character"),
        ("echo:text?wait=3600001", "'wait'", "3600000"),
        ("echo:text?pause=x", "'pause'", "3600000"),
        ("echo:text?piece=0", "'piece'", "1 to 1048576"),
        ("echo:text?piece=1048577", "'piece'", "1 to 1048576"),
        ("echo:text?length=none", "'length'", "unknown, or a number"),
        ("echo:text?length=%2B1", "'length'", "unknown, or a number"),
        ("echo:text?step=landed", "'landed'", "connected"),
        ("echo:text?step=secured&step=secured", "'step'", "once"),
        ("echo:text?cut=-1", "'cut'", "from 0"),
        ("echo:fail", "'code'", "notFound"),
        ("echo:fail?code=sunk", "'sunk'", "notFound"),
        ("echo:fail?code=protocolViolation", "'protocolViolation'", "notFound"),
        ("echo:fail?code=-5", "'-5'", "notFound"),
        ("echo:fail?code=notFound&domain=org.example", "'notFound'", "2147483647"),
        ("echo:fail?code=2147483648&domain=org.example", "'2147483648'", "2147483647"),
        ("echo:fail?code=1&domain=example", "'domain'", "reverse DNS"),
        ("echo:fail?code=1&domain=org..x", "'domain'", "reverse DNS"),
        ("echo:fail?code=notFound&message=", "'message'", "one line"),
        ("echo:fail?code=notFound&message=a%0Ab", "'message'", "one line"),
        ("echo:fail?code=notFound&message=a%E2%80%A8b", "'message'", "one line"),
        ("echo:fail?code=notFound&message=\(String(repeating: "a", count: 4097))", "'message'", "4096"),
        ("echo:challenge?user=&password=&realm=a%0Ab", "'realm'", "line breaks"),
        ("echo:challenge?user=&password=&attempts=101", "'attempts'", "1 to 100"),
        ("echo:text?" + String(repeating: "interim=103&", count: 257), "256", "parameters"),
    ])
    func errorNamesTheWrongPartOfTheURL(_ url: String, _ wrongPart: String, _ allowedValue: String) throws {
        let client = try Echo.run(url)
        let error = try #require(client.error)
        #expect(client.events.count == 1)
        #expect(error.code == .badURL)
        #expect(error.message.contains(wrongPart) && error.message.contains(allowedValue), "\(error.message)")
        #expect(error.message.utf8.count < 1000)
    }

    @Test func maximumNumberOfParametersIsAccepted() throws {
        let client = try Echo.run("echo:text?" + String(repeating: "field=a:b&", count: 256))
        #expect(client.response?.fields.count == 256)
    }
}
