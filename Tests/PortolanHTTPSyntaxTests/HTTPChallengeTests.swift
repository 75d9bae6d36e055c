// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import PortolanHTTPSyntax

@Suite("Challenges of WWW-Authenticate, RFC 9110 §11.6.1")
struct HTTPChallengeTests {
    /// A field value, and its challenges in the notation that `description(of:)` writes: `scheme(token68)` or
    /// `scheme[name=value|…]`.
    private static let samples: [(value: String, challenges: String)] = [
        // Scheme names, and the white space after them
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
        // Malformed values: the parser returns the complete challenges and parameters before the error
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

    /// Returns the challenges in the notation of `samples`.
    private static func description(of challenges: [HTTPChallenge]) -> String {
        challenges.map { challenge in
            guard let token68 = challenge.token68 else {
                return "\(challenge.scheme)[\(challenge.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "|"))]"
            }
            return "\(challenge.scheme)(\(token68))"
        }.joined(separator: " ")
    }

    private static func parse(_ octets: [UInt8]) -> [HTTPChallenge] { HTTPChallenge.parse(octets.span) }

    @Test(arguments: samples)
    func valueIsParsedIntoItsChallenges(_ value: String, _ challenges: String) {
        #expect(Self.description(of: Self.parse(Array(value.utf8))) == challenges)
    }

    @Test(arguments: samples)
    func truncatedValueGivesTheCompleteChallengesBeforeItsEnd(_ value: String, _ challenges: String) {
        let octets = Array(value.utf8)
        let allChallenges = Self.parse(octets)
        for count in 0..<octets.count {
            let truncatedChallenges = Self.parse(Array(octets.prefix(count)))
            // The parser can mistake a truncated parameter name for the name of a scheme.
            #expect(truncatedChallenges.count <= allChallenges.count + 1, "\(count)")
            // All challenges except the last have the same schemes as in the value that is not truncated.
            for (challenge, expectedChallenge) in zip(truncatedChallenges.dropLast(), allChallenges) {
                #expect(challenge.scheme == expectedChallenge.scheme, "\(count)")
            }
        }
    }

    @Test func anyTwoBytesAreParsedWithoutATrap() {
        for beginning in ["", "Basic ", "Basic realm=\"", "Basic realm=a,", "Negotiate ab"] {
            for firstByte in UInt8.min...UInt8.max {
                for secondByte in [UInt8(0), 9, 10, 13, 32, 34, 44, 61, 65, 92, 127, 255] {
                    _ = Self.parse(Array(beginning.utf8) + [firstByte, secondByte])
                }
            }
        }
    }

    @Test func malformedFieldDoesNotAffectLaterFieldsOfTheSameName() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"never closed, Negotiate"))
        fields.append(HTTPField(name: .proxyAuthenticate, value: "Other"))
        fields.append(HTTPField(name: .wwwAuthenticate, value: "Digest a=b, Negotiate"))
        #expect(Self.description(of: HTTPChallenge.parse(.wwwAuthenticate, of: fields)) == "basic[] digest[a=b] negotiate[]")
    }

    @Test func realmThatIsNotUTF8IsDecodedAsISO88591() {
        #expect(Self.parse(Array("Basic realm=\"gr".utf8) + [0xFC] + Array("n\"".utf8)).first?["realm"] == "grün")
    }

    @Test func valueWithManyChallengesOrParametersIsParsed() {
        let manyParameters = Array("Basic ".utf8) + (0..<40_000).flatMap { _ in Array("a=b,".utf8) }
        #expect(Self.parse(manyParameters).first?.parameters.count == 40_000)
        let manySchemes = (0..<40_000).flatMap { _ in Array("a ,".utf8) }
        #expect(Self.parse(manySchemes).count == 40_000)
    }
}
