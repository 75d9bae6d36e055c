// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport
@testable import PortolanHTTPSyntax

@Suite("Tunnels by CONNECT, RFC 9110 §9.3.6")
struct ConnectNegotiationTests {
    private static func negotiation(_ credential: PasswordCredential? = nil, userAgent: String? = nil) throws -> ConnectNegotiation {
        try ConnectNegotiation(
            to: "h.test:443", through: Proxy(kind: .http, host: "p.test", port: 3128, credential: credential), userAgent: userAgent,
            limits: HTTPLimits())
    }

    private enum Outcome: Equatable {
        case needsMore
        case established(consumedCount: Int)
        case failed(LoadError)
    }

    /// The outcome after the negotiation has received the input in pieces of `size` bytes.
    private static func run(_ input: String, by size: Int, _ credential: PasswordCredential? = nil) throws -> Outcome {
        var negotiation = try negotiation(credential)
        let input = Array(input.utf8)
        for start in stride(from: 0, to: input.count, by: size) {
            let piece = Array(input[start..<min(start + size, input.count)])
            var offset = 0
            do throws(LoadError) {
                if try negotiation.next(unsafe piece.span.bytes, from: &offset) == .established {
                    return .established(consumedCount: start + offset)
                }
            } catch {
                return .failed(error)
            }
        }
        return .needsMore
    }

    @Test func connectRequestHasOnlyHostUserAgentAndCredential() throws {
        #expect(
            String(decoding: try Self.negotiation().greeting, as: UTF8.self) == "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\n\r\n")
        let negotiationWithAllFields = try Self.negotiation(PasswordCredential(user: "u", password: "p"), userAgent: "A/1")
        #expect(
            String(decoding: negotiationWithAllFields.greeting, as: UTF8.self)
                == "CONNECT h.test:443 HTTP/1.1\r\nHost: h.test:443\r\nUser-Agent: A/1\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
    }

    @Test func userAgentWithALineBreakIsNotSent() throws {
        #expect(try Self.negotiation(userAgent: "A\r\nX: y").greeting == Self.negotiation().greeting)
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\r\n\r\n", "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 299 \r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 100 \r\n\r\nHTTP/1.1 102 \r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func bytesAfterASuccessHeadBelongToTheTunnel(_ head: String) throws {
        for size in [1, 7, 1000] {
            #expect(try Self.run(head + "\u{16}\u{3}\u{1}", by: size) == .established(consumedCount: head.utf8.count))
        }
        for count in 0..<head.utf8.count {
            #expect(try Self.run(String(decoding: head.utf8.prefix(count), as: UTF8.self), by: 1000) == .needsMore, "\(count)")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", LoadError.Code.tunnelFailed, "refused a tunnel to h.test:443 with '403 Forbidden'"),
        ("HTTP/1.1 503\r\n\r\n", .tunnelFailed, "refused a tunnel to h.test:443 with '503'"),
        ("HTTP/1.1 301 x\r\nLocation: http://evil/\r\n\r\n", .tunnelFailed, "'301 x'"),
        ("HTTP/1.1 101 Switch\r\n\r\n", .tunnelFailed, "'101 Switch'"), ("HTTP/1.1 000 x\r\n\r\n", .tunnelFailed, "'000 x'"),
        ("HTTP/1.1 500 a\u{1B}[31mb\r\n\r\n", .tunnelFailed, "'500 a\\u{1B}[31mb'"),
        ("HTTP/1.1 407 Who\r\n\r\n", .tunnelFailed, "'407 Who'"), ("SSH-2.0-x\r\n", .tunnelFailed, "does not respond in HTTP/1"),
        ("HTTP/1.1 200 OK\r\nbad\r\n\r\n", .tunnelFailed, "no colon"),
    ])
    func otherResponsesFailWithTheStatusLine(_ input: String, _ code: LoadError.Code, _ phrase: String) throws {
        for size in [1, 1000] {
            guard case .failed(let error) = try Self.run(input, by: size) else {
                Issue.record("no failure")
                continue
            }
            #expect(
                error.code == code && error.message.contains(phrase) && error.message.contains("http://p.test:3128"), "\(error.message)")
        }
    }

    @Test func errorSaysWhetherACredentialWasRefused() throws {
        let input = "HTTP/1.1 407 Who\r\n\r\n"
        for (credential, end) in [
            (nil, "with '407 Who'; give the proxy's URL a user and password"),
            (PasswordCredential(user: "u", password: "s3cret"), "with '407 Who'; it did not accept user 'u': check name and password"),
        ] {
            guard case .failed(let error) = try Self.run(input, by: 1000, credential) else {
                Issue.record("no failure")
                continue
            }
            #expect(error.message.hasSuffix(end), "\(error.message)")
        }
    }

    @Test func longReasonPhraseIsShortened() throws {
        guard case .failed(let error) = try Self.run("HTTP/1.1 403 " + String(repeating: "x", count: 5000) + "\r\n\r\n", by: 9000) else {
            Issue.record("no failure")
            return
        }
        #expect(error.message.utf8.count < 300)
    }

    @Test func tooManyInterimResponsesFail() throws {
        let input = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: HTTPLimits().maximumInterimResponsesPerResponse + 1)
        guard case .failed(let error) = try Self.run(input, by: 1000) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .limitExceeded)
    }

    @Test func challengeListsTheSupportedOffers() throws {
        let input =
            "HTTP/1.1 407 x\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: Basic realm=\"r\"\r\nWWW-Authenticate: Basic realm=\"o\"\r\n\r\n"
        guard case .failed(let error) = try Self.run(input, by: 1000) else {
            Issue.record("no failure")
            return
        }
        #expect((error.underlyingError as? ProxyChallenge)?.offers == [.basic(realm: "r")])
    }
}
