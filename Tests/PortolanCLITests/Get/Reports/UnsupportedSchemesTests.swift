// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import Testing

@testable import PortolanCLI

@Suite struct UnsupportedSchemesTests {
    @Test(
        "If none of the authentication schemes of a 401 is supported, a line names them",
        arguments: [
            (401, ["Negotiate", "NTLM"], "the server offers authentication by 'negotiate', 'ntlm', which is not supported"),
            (401, ["SCRAM-SHA-256 realm=\"r\""], "'scram-sha-256', which is not supported; basic and digest are"),
            (401, ["Bearer realm=\"r\""], "for bearer, give a token with --oauth2-bearer"),
            (401, ["Digest realm=\"r\", nonce=n, algorithm=SHA-1"], "by 'digest'"),
            (401, ["Negotiate", "Basic realm=\"r\""], nil), (401, [], nil), (200, ["NTLM"], nil),
        ] as [(Int, [String], String?)])
    func lineNamesTheUnsupportedSchemes(status: Int, challenges: [String], expected: String?) throws {
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .init(code: status))
        for challenge in challenges { response.fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
        let line = UnsupportedSchemes.line(for: response)
        if let expected { #expect(line?.contains(expected) == true, "\(line ?? "none")") } else { #expect(line == nil) }
    }

    @Test func proxyIsNamed() throws {
        var response = Response(url: try URLRecord(parsing: "http://h/"), status: .proxyAuthenticationRequired)
        response.fields.append(HTTPField(name: .proxyAuthenticate, value: "NTLM"))
        #expect(UnsupportedSchemes.line(for: response)?.hasPrefix("the proxy offers authentication by 'ntlm'") == true)
    }
}
