// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanHTTPSyntax

@Suite("Challenges of WWW-Authenticate, RFC 9110 §11.6.1")
struct HTTPChallengeTests {
    /// A field value, and its challenges in the notation of this table: `scheme(token68)` or `scheme[name=value|…]`.
    private static let rows: [(value: String, challenges: String)] = [
        // Schemes
        ("Basic", "basic[]"),
        ("bAsIc realm=\"x\"", "basic[realm=x]"),
        ("Basic realm=\"WallyWorld\"", "basic[realm=WallyWorld]"),
        ("Basic   realm=\"two blanks\"", "basic[realm=two blanks]"),
        ("Basic\trealm=\"a tab\"", "basic[realm=a tab]"),
        ("Basic realm=token", "basic[realm=token]"),
        ("Basic realm=\"\"", "basic[realm=]"),
        ("X-Own!#$%&'*+-.^_`|~ a=b", "x-own!#$%&'*+-.^_`|~[a=b]"),
        // Parameters
        ("Basic realm=\"foo\", charset=\"UTF-8\"", "basic[realm=foo|charset=UTF-8]"),
        ("Basic realm = \"blanks around\" , charset\t=\tUTF-8", "basic[realm=blanks around|charset=UTF-8]"),
        ("Basic REALM=\"a\"", "basic[realm=a]"),
        ("Basic realm=\"a\",,, charset=b,", "basic[realm=a|charset=b]"),
        ("Basic , realm=\"after an empty element\"", "basic[realm=after an empty element]"),
        ("Basic realm=\"a\", realm=\"b\"", "basic[realm=a|realm=b]"),
        ("Digest realm=\"r\", qop=\"auth, auth-int\", nonce=\"n==\"", "digest[realm=r|qop=auth, auth-int|nonce=n==]"),
        // Quoted strings
        ("Basic realm=\"say \\\"hi\\\"\"", "basic[realm=say \"hi\"]"),
        ("Basic realm=\"a\\b\\\\c\"", "basic[realm=ab\\c]"),
        ("Basic realm=\"a, Digest realm=b\"", "basic[realm=a, Digest realm=b]"),
        ("Basic realm=\"=,=\"", "basic[realm==,=]"),
        ("Basic realm=\"grün\"", "basic[realm=grün]"),
        // token68
        ("Negotiate YIIZ+/~-._=", "negotiate(YIIZ+/~-._=)"),
        ("Negotiate oRQwEqADCgEB==", "negotiate(oRQwEqADCgEB==)"),
        ("NTLM abc", "ntlm(abc)"),
        ("Bearer a=", "bearer(a=)"),
        ("Bearer a=b", "bearer[a=b]"),
        ("Bearer a =", "bearer[]"),
        // Several challenges
        ("Negotiate, Basic realm=\"x\"", "negotiate[] basic[realm=x]"),
        ("Negotiate abc==, Basic realm=\"x\"", "negotiate(abc==) basic[realm=x]"),
        ("Basic realm=\"a\", Basic realm=\"b\"", "basic[realm=a] basic[realm=b]"),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            "newauth[realm=apps|type=1|title=Login to \"apps\"] basic[realm=simple]"
        ),
        (" , ,Basic realm=x, ,Digest a=b,", "basic[realm=x] digest[a=b]"),
        ("A,B,C", "a[] b[] c[]"),
        // Malformed: the complete part counts, and the rest is ignored.
        ("", ""), (",,,", ""), ("=", ""), ("\"", ""), ("realm=\"x\"", ""), ("(Basic)", ""),
        ("Basic realm", "basic(realm)"),
        ("Basic realm=", "basic(realm=)"),
        ("Basic realm=,charset=b", "basic(realm=)"),
        ("Basic realm=\"never closed", "basic[]"),
        ("Basic realm=\"never closed\\", "basic[]"),
        ("Basic realm=\"never closed\\\"", "basic[]"),
        ("Basic realm=foo bar", "basic[realm=foo]"),
        ("Basic realm=\"a\" charset=b", "basic[realm=a]"),
        ("Basic realm=\"a\"charset=b", "basic[realm=a]"),
        ("Basic realm=\"a\u{1}b\"", "basic[]"),
        ("Basic realm=\"a\\\u{1}b\"", "basic[]"),
        ("Basic realm=\"a\u{7F}b\"", "basic[]"),
        ("Basic realm=a;charset=b", "basic[realm=a]"),
        ("Basic =a", ""),
        ("Basic Digest realm=a", "basic[]"),
        ("Negotiate abc==, realm=x", "negotiate(abc==)"),
        ("Negotiate abc=d=", "negotiate[abc=d=]"),
        ("Basic/realm", "basic[]"),
    ]

    private static func notation(_ challenges: [HTTPChallenge]) -> String {
        challenges.map { challenge in
            guard let token68 = challenge.token68 else {
                return "\(challenge.scheme)[\(challenge.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "|"))]"
            }
            return "\(challenge.scheme)(\(token68))"
        }.joined(separator: " ")
    }

    private static func parse(_ octets: [UInt8]) -> [HTTPChallenge] { HTTPChallenge.parse(octets.span) }

    @Test(arguments: rows)
    func valueIsParsedIntoItsChallenges(_ value: String, _ challenges: String) {
        #expect(Self.notation(Self.parse(Array(value.utf8))) == challenges)
    }

    @Test(arguments: rows)
    func truncatedValueKeepsItsCompleteChallenges(_ value: String, _ challenges: String) {
        let octets = Array(value.utf8)
        let whole = Self.parse(octets)
        for count in 0..<octets.count {
            let truncated = Self.parse(Array(octets.prefix(count)))
            // The parser can take a truncated parameter name for the name of a scheme.
            #expect(truncated.count <= whole.count + 1, "\(count)")
            // All challenges except the last are the same as in the whole value.
            for (short, long) in zip(truncated.dropLast(), whole) { #expect(short.scheme == long.scheme, "\(count)") }
        }
    }

    @Test func anyTwoBytesAreParsedWithoutATrap() {
        for start in ["", "Basic ", "Basic realm=\"", "Basic realm=a,", "Negotiate ab"] {
            for first in UInt8.min...UInt8.max {
                for second in [UInt8(0), 9, 10, 13, 32, 34, 44, 61, 65, 92, 127, 255] {
                    _ = Self.parse(Array(start.utf8) + [first, second])
                }
            }
        }
    }

    @Test func malformedFieldDoesNotAffectTheNextField() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"never closed, Negotiate"))
        fields.append(HTTPField(name: .proxyAuthenticate, value: "Other"))
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Digest a=b, Negotiate"))
        #expect(Self.notation(HTTPChallenge.parse(.wwwAuthenticate, of: fields)) == "basic[] digest[a=b] negotiate[]")
    }

    @Test func realmThatIsNotUTF8IsReadAsISO88591() {
        #expect(Self.parse(Array("Basic realm=\"gr".utf8) + [0xFC] + Array("n\"".utf8)).first?["realm"] == "grün")
    }

    @Test func longHostileValueIsParsedInLinearTime() {
        let octets = Array("Basic ".utf8) + (0..<40_000).flatMap { _ in Array("a=b,".utf8) }
        #expect(Self.parse(octets).first?.parameters.count == 40_000)
        let schemes = (0..<40_000).flatMap { _ in Array("a ,".utf8) }
        #expect(Self.parse(schemes).count == 40_000)
    }
}
