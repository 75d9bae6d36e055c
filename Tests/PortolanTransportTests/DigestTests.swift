// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanHTTPSyntax
@testable import PortolanTransport

/// Digest authentication: the examples of its RFCs, and the order of challenges by strength.
@Suite struct DigestTests {
    /// The offers in `WWW-Authenticate` fields with these values.
    private func offers(_ values: String...) -> [AuthenticationOffer] {
        AuthenticationOffer.all(in: .wwwAuthenticate, of: HTTPFields(values.map { HTTPField(name: .wwwAuthenticate, value: $0) }))
    }

    private func authorization(_ challenge: String, _ user: String, _ password: String) throws -> Authorization {
        Authorization(PasswordCredential(user: user, password: password), for: try #require(offers(challenge).first))
    }

    /// The parameters of an `Authorization` field.
    private func parameters(_ value: [UInt8]) throws -> HTTPChallenge {
        #expect(value.starts(with: Array("Digest ".utf8)))
        return try #require(HTTPChallenge.parse(value.span).first)
    }

    /// The challenge of RFC 7616 §3.9.1, without the name of the algorithm.
    private static let mufasaChallenge =
        #"Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "#
        + #"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm="#

    /// The examples of RFC 7616 §3.9.1, RFC 2617 §3.5 and RFC 2069 §2.4 (with erratum 749). The example of RFC 7616
    /// §3.9.2 has wrong values (erratum 4897); its expected values here are from Python's hashlib.
    @Test(arguments: [
        (
            mufasaChallenge + "MD5", "Mufasa", "Circle of Life", "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            "8ca523f5e9506fed4657c9700eebdbec"
        ),
        (
            mufasaChallenge + "SHA-256", "Mufasa", "Circle of Life", "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
        ),
        (
            #"Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", "#
                + #"opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true"#,
            "Jäsøn Doe", "Secret, or not?", "/doe.json", "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
            "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c"
        ),
        (
            #"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#, "Mufasa",
            "Circle Of Life", "/dir/index.html", "0a4f113b", "6629fae49393a05397450978507c4ef1"
        ),
        (
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#, "Mufasa", "CircleOfLife", "/dir/index.html",
            "unused", "1949323746fe6a43ef61f9606e7febea"
        ),
    ])
    func responseEqualsTheExample(
        challenge: String, user: String, password: String, target: String, clientNonce: String, response: String
    ) throws {
        let value = try authorization(challenge, user, password).value(
            method: "GET", target: target, clientNonce: clientNonce, contents: { () throws(LoadError) in [] }
        ).octets
        let parameters = try parameters(value)
        #expect(parameters["response"] == response, "\(value)")
        #expect(parameters["uri"] == target && parameters["nc"] == (clientNonce == "unused" ? nil : "00000001"))
        #expect((parameters["cnonce"] != nil) == (clientNonce != "unused"))
        if user != "Mufasa" {
            #expect(parameters["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
            #expect(parameters["userhash"] == "true")
        }
    }

    @Test("A realm that is not UTF-8 is hashed and sent back as received")
    func realmThatIsNotUTF8IsKeptAsReceived() throws {
        let value = HTTPField(name: .wwwAuthenticate, value: Array(#"Digest realm="caf"#.utf8) + [0xE9] + Array(#"", nonce="n""#.utf8))
        let offer = try #require(AuthenticationOffer.all(in: .wwwAuthenticate, of: HTTPFields([value])).first)
        #expect(offer.realm == "café")
        let octets = try Authorization(PasswordCredential(user: "u", password: "p"), for: offer)
            .value(method: "GET", target: "/", contents: { () throws(LoadError) in [] }).octets
        #expect(try parameters(octets).octets(of: "realm") == Array("caf".utf8) + [0xE9])
        // By Python's hashlib: md5(md5(b"u:caf\xe9:p") ":n:" md5("GET:/"))
        #expect(try parameters(octets)["response"] == "2c4b022adab1768a5d63d2c55d953cd9")
    }

    @Test("Authentication-Info announces the next nonce, RFC 7616 §3.5")
    func authenticationInfoAnnouncesTheNextNonce() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n", qop=auth, opaque=o"#, "u", "p")
        let proof = try #require(
            try authorization.value(method: "GET", target: "/", contents: { () throws(LoadError) in [] }).proof)
        func nextChallenge(_ value: String) throws -> DigestChallenge? {
            let name = try #require(HTTPField.Name("Authentication-Info"))
            let fields = HTTPFields([HTTPField(name: name, value: value)])
            return proof.nextChallenge(try #require(HTTPChallenge.information(in: fields)))
        }
        let challenge = try #require(try nextChallenge(#"nextnonce="m""#))
        #expect(challenge.nonce == Array("m".utf8) && challenge.realm == "r" && challenge.opaque == Array("o".utf8))
        #expect(challenge.nextUse() == "00000001")
        #expect(try nextChallenge(#"nextnonce="""#) == nil && nextChallenge("qop=auth") == nil && nextChallenge(#"nextnonce="n""#) == nil)
    }

    @Test func sessionKeyDependsOnBothNonces() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n", qop="auth", algorithm=MD5-sess"#, "u", "p")
        let value = try authorization.value(method: "GET", target: "/", clientNonce: "c", contents: { () throws(LoadError) in [] }).octets
        // By Python's hashlib: md5(md5(md5("u:r:p") ":n:c") ":n:00000001:c:auth:" md5("GET:/"))
        #expect(try parameters(value)["response"] == "6e4aac8b22e97762f88ccd0d5ccf5b1d")
    }

    /// RFC 7616 §3.4.2, §3.6. The expected responses are from Python's hashlib, with the key md5(md5("u:r:p") ":n:c").
    @Test func sessionKeyIsMadeOnceForAllRequestsOfASession() throws {
        let first = try authorization(#"Digest realm="r", nonce="n", qop="auth", algorithm=MD5-sess"#, "u", "p")
        func send(_ authorization: Authorization, _ target: String, _ clientNonce: String) throws -> ([String?], Authorization.Proof?) {
            let (octets, proof) = try authorization.value(
                method: "GET", target: target, clientNonce: clientNonce, contents: { () throws(LoadError) in [] })
            let sent = try parameters(octets)
            return ([sent["cnonce"], sent["nc"], sent["response"]], proof)
        }
        _ = try send(first, "/", "c")
        let (second, proof) = try send(first, "/b", "d")
        #expect(second == ["c", "00000002", "3ed04a031cf450f520e0afb275c6e195"])
        // The nonce changes, and the key does not.
        let name = try #require(HTTPField.Name("Authentication-Info"))
        let information = HTTPChallenge.information(in: HTTPFields([HTTPField(name: name, value: #"nextnonce="m""#)]))
        let next = try #require(information.flatMap { proof?.nextChallenge($0) })
        let (third, _) = try send(Authorization(first.credential, for: .digest(next)), "/c", "e")
        #expect(third == ["c", "00000001", "72a17eabef8c73f6b930d6a731d05ddc"])
        // Another user has another session, and so has each challenge.
        let other = Authorization(PasswordCredential(user: "v", password: "q"), for: first.offer)
        #expect(try send(other, "/", "d").0 == ["d", "00000003", "2743bdde83d4ead75f8236fcaa782ddf"])
        first.offer.endSession()
        #expect(try send(first, "/", "d").0 == ["d", "00000004", "fe5d3632662a90585b0dd7e4a36f318c"])
    }

    @Test func realmsAndPasswordsAreEqualIfTheirOctetsAre() {
        let offers = offers("Basic realm=\"\u{212A}\", Basic realm=\"K\", Basic realm=\"K\"")
        #expect(offers.map { $0.realm?.utf8.count } == [3, 1])
        #expect(PasswordCredential(user: "u", password: "\u{E9}") != PasswordCredential(user: "u", password: "e\u{301}"))
        #expect(PasswordCredential(user: "\u{E9}", password: "p") != PasswordCredential(user: "e\u{301}", password: "p"))
        #expect(PasswordCredential(user: "\u{E9}", password: "p") == PasswordCredential(user: "\u{E9}", password: "p"))
    }

    @Test func responseWithAuthIntDependsOnTheBody() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n", qop="auth-int""#, "u", "p")
        var responses: [String?] = []
        for body in ["a", "b"] {
            let value = try authorization.value(
                method: "POST", target: "/", clientNonce: "c", contents: { () throws(LoadError) in Array(body.utf8) }
            ).octets
            responses.append(try parameters(value)["response"])
            #expect(try parameters(value)["qop"] == "auth-int")
        }
        #expect(responses[0] != responses[1])
    }

    @Test func eachUseOfANonceIsCounted() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n", qop="auth""#, "u", "p")
        let copy = authorization
        let counts = try [authorization, copy, authorization].map { authorization in
            try parameters(
                authorization.value(method: "GET", target: "/", contents: { () throws(LoadError) in [] }).octets)["nc"]
        }
        #expect(counts == ["00000001", "00000002", "00000003"])
    }

    @Test func textsAreQuotedAndEncoded() throws {
        let octets = try authorization(#"Digest realm="a\"b\\c", nonce="n", opaque="", qop=auth"#, "é\"", "p").value(
            method: "GET", target: "/?\"", contents: { () throws(LoadError) in [] }
        ).octets
        let value = String(decoding: octets, as: UTF8.self)
        #expect(value.contains(#"realm="a\"b\\c""#) && value.contains("username*=UTF-8''%C3%A9%22, ") && value.contains(#"opaque="""#))
        let octetsOfASCIIUser = try authorization(#"Digest realm="r", nonce="n""#, #"a"b\"#, "p").value(
            method: "GET", target: "/", contents: { () throws(LoadError) in [] }
        ).octets
        #expect(String(decoding: octetsOfASCIIUser, as: UTF8.self).contains(#"username="a\"b\\""#))
    }

    @Test(arguments: [
        ([#"Basic realm="r""#, #"Digest realm="r", nonce="n""#], ["digest", "basic"]),
        (
            [#"Digest realm="r", nonce="1", algorithm=MD5, Digest realm="r", nonce="2", algorithm=SHA-256, Basic realm="r""#],
            ["digest", "basic"]
        ),
        ([#"Digest realm="a", nonce="1", Digest realm="b", nonce="2""#], ["digest", "digest"]),
        ([#"Digest nonce="n""#, #"Digest realm="r""#, #"Digest realm="r", nonce="n", algorithm=SHA-1"#], []),
        ([#"Digest realm="r", nonce="n", qop="x""#, "Negotiate", "Bearer realm=r"], []),
        ([#"Digest realm="r", nonce="n", qop="""#, #"Digest realm=x, nonce=abc==, qop=auth"#], ["digest", "digest"]),
        ([#"DIGEST Realm="r", NONCE="n", Qop="AUTH", Algorithm=sha-256"#], ["digest"]),
    ])
    func strongestChallengeComesFirst(values: [String], schemes: [String]) {
        let fields = HTTPFields(values.map { HTTPField(name: .wwwAuthenticate, value: $0) })
        #expect(AuthenticationOffer.all(in: .wwwAuthenticate, of: fields).map(\.scheme) == schemes)
    }

    @Test func strongestAlgorithmOfARealmIsUsed() {
        let offer = offers(#"Digest realm="r", nonce="1", algorithm=MD5"#, #"Digest realm="r", nonce="2", algorithm=SHA-256"#).first
        guard case .digest(let challenge)? = offer else {
            Issue.record("no digest")
            return
        }
        #expect(challenge.nonce == Array("2".utf8) && challenge.algorithm.function == .sha256)
    }

    /// With `rspauth`, the server proves that it knows the password (RFC 7616 §3.5).
    @Test func wrongResponseAuthOfTheServerIsAnError() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n", qop="auth""#, "u", "p")
        let (_, proof) = try authorization.value(method: "GET", target: "/x", clientNonce: "c", contents: { () throws(LoadError) in [] })
        let algorithm = try #require(DigestAlgorithm("MD5"))
        func hash(_ text: String) throws -> String { try algorithm.hash(Array(text.utf8)) }
        let correctResponse = try hash("\(hash("u:r:p")):n:00000001:c:auth:\(hash(":/x"))")
        for (info, isAccepted) in [
            (#"rspauth="\#(correctResponse)", cnonce="c", nc=00000001, qop=auth"#, true),
            (#"rspauth="\#(correctResponse.uppercased())""#, true),
            (#"nextnonce="m""#, true), (#"rspauth="\#(correctResponse.dropLast())0""#, false),
            (#"rspauth="\#(correctResponse)", cnonce="d""#, false),
            (#"rspauth="\#(correctResponse)", nc=00000002"#, false), (#"rspauth="""#, false),
            (#"rspauth="\#(correctResponse)", qop=AUTH"#, true), (#"rspauth="\#(correctResponse)", qop=auth-int"#, false),
            (#"rspauth="00", qop=auth-int"#, false),
            // Several lines are one list.
            ("nextnonce=m|rspauth=00", false), (#"nextnonce=m|qop=auth|rspauth="\#(correctResponse)""#, true),
        ] {
            var fields = HTTPFields()
            let name = try #require(HTTPField.Name("Authentication-Info"))
            for line in info.split(separator: "|") { fields.append(HTTPField(name: name, value: String(line))) }
            let information = try #require(HTTPChallenge.information(in: fields))
            do throws(LoadError) {
                try proof?.check(information, host: "h")
                #expect(isAccepted, "\(info)")
            } catch {
                #expect(!isAccepted && error.code == .badResponse && error.message.contains("rspauth"), "\(info)")
            }
        }
    }

    @Test func descriptionHasNoPassword() throws {
        let authorization = try authorization(#"Digest realm="r", nonce="n""#, "u", "s3cret")
        #expect(!"\(authorization)".contains("s3cret") && !String(reflecting: authorization).contains("s3cret"))
    }
}
