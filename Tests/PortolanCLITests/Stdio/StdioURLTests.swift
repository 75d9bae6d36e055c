// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanJSON
import Testing

@testable import PortolanCLI

/// The operation `parseURL` of `portolan stdio`. It returns the same values as the constructor and the getters of the
/// URL Standard's API.
@Suite struct StdioURLTests {
    private static func response(to request: String) throws -> String {
        guard case .parseURL(let url) = try StdioRequest(JSONParser.parse(Array(request.utf8))) else { throw UnexpectedOperation() }
        return String(decoding: StdioResponse.url(id: .integer(1), url).bytes, as: UTF8.self)
    }

    private struct UnexpectedOperation: Error {}

    @Test(arguments: [
        (
            ##"{"op":"parseURL","value":" HTTPS://U%20ser:p@ss@EXAMPLE.org:8443/a/../b c?q'r#f g\n"}"##,
            ##"{"id":1,"url":{"href":"https://U%20ser:p%40ss@example.org:8443/b%20c?q%27r#f%20g","protocol":"https:","username":"U%20ser","##
                + ##""password":"p%40ss","hostname":"example.org","port":"8443","pathname":"/b%20c","search":"?q%27r","hash":"#f%20g"}}"##
        ),
        // The default port, and an empty query and fragment, give empty members. The `?` and the `#` stay in `href`.
        (
            ##"{"op":"parseURL","value":"http://[::1]:80?#"}"##,
            ##"{"id":1,"url":{"href":"http://[::1]/?#","protocol":"http:","username":"","password":"","hostname":"[::1]","port":"","##
                + ##""pathname":"/","search":"","hash":""}}"##
        ),
        (
            ##"{"op":"parseURL","value":"../x?y","base":"file:///C:/a/b/c#z"}"##,
            ##"{"id":1,"url":{"href":"file:///C:/a/x?y","protocol":"file:","username":"","password":"","hostname":"","port":"","##
                + ##""pathname":"/C:/a/x","search":"?y","hash":""}}"##
        ),
        (  // an opaque path, in which the space before the query is percent-encoded
            ##"{"op":"parseURL","value":"data:a b ?c#d","base":null}"##,
            ##"{"id":1,"url":{"href":"data:a b%20?c#d","protocol":"data:","username":"","password":"","hostname":"","port":"","##
                + ##""pathname":"a b%20","search":"?c","hash":"#d"}}"##
        ),
        (  // the "/." of `href` is no part of the path
            ##"{"op":"parseURL","value":"foo:/a/..//b"}"##,
            ##"{"id":1,"url":{"href":"foo:/.//b","protocol":"foo:","username":"","password":"","hostname":"","port":"","##
                + ##""pathname":"//b","search":"","hash":""}}"##
        ),
        (
            ##"{"op":"parseURL","value":"https://:p@xn--:0"}"##,
            ##"{"id":1,"url":{"href":"https://:p@xn--:0/","protocol":"https:","username":"","password":"p","hostname":"xn--","port":"0","##
                + ##""pathname":"/","search":"","hash":""}}"##
        ),
        (  // unpaired surrogates become U+FFFD, as in a USVString
            ##"{"op":"parseURL","value":"x:/\udc00?\ud83d\ude00\ud83d","base":"data:,\ud800"}"##,
            ##"{"id":1,"url":{"href":"x:/%EF%BF%BD?%F0%9F%98%80%EF%BF%BD","protocol":"x:","username":"","password":"","hostname":"","port":"","##
                + ##""pathname":"/%EF%BF%BD","search":"?%F0%9F%98%80%EF%BF%BD","hash":""}}"##
        ),
        (##"{"op":"parseURL","value":"a/b"}"##, ##"{"id":1,"url":null}"##),
        (##"{"op":"parseURL","value":""}"##, ##"{"id":1,"url":null}"##),
        (##"{"op":"parseURL","value":"http://a b/"}"##, ##"{"id":1,"url":null}"##),
        // With an invalid base, `url` is null even if `value` is absolute.
        (##"{"op":"parseURL","value":"http://h/","base":""}"##, ##"{"id":1,"url":null}"##),
        (##"{"op":"parseURL","value":"http://h/","base":"/x"}"##, ##"{"id":1,"url":null}"##),
        // Relative to a base with an opaque path, only a fragment is valid.
        (##"{"op":"parseURL","value":"x","base":"mailto:a@b"}"##, ##"{"id":1,"url":null}"##),
    ])
    func membersMatchTheURLStandard(request: String, response: String) throws {
        #expect(try Self.response(to: request) == response)
    }

    @Test func valueAndBaseMustBeStrings() throws {
        let error = #expect(throws: LoadError.self) { try Self.response(to: ##"{"op":"parseURL","base":"x:y"}"##) }
        #expect(error?.message == "the member 'value' is missing")
        let valueError = #expect(throws: LoadError.self) { try Self.response(to: ##"{"op":"parseURL","value":7}"##) }
        #expect(valueError?.message == "the member 'value' has to be a string")
        let baseError = #expect(throws: LoadError.self) { try Self.response(to: ##"{"op":"parseURL","value":"x","base":7}"##) }
        #expect(baseError?.message == "the member 'base' has to be a string")
    }
}
