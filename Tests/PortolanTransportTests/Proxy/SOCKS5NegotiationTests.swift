// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanTransport

@Suite("SOCKS5, RFC 1928 and RFC 1929")
struct SOCKS5NegotiationTests {
    private static func negotiation(
        _ destination: SOCKS5Negotiation.Destination = .name("h.test"), login: PasswordCredential? = nil
    ) throws -> SOCKS5Negotiation {
        try SOCKS5Negotiation(
            to: destination, port: 0x1F90, through: Proxy(kind: .socks5(.byProxy), host: "p.test", port: 1080, credential: login))
    }

    /// The outcome of a negotiation.
    private struct Outcome: Equatable {
        /// The messages that the client sends after the greeting.
        var sentMessages: [[UInt8]] = []
        var isEstablished = false
        var error: LoadError?
        var consumedCount = 0
    }

    /// The outcome after the negotiation has received the input in pieces of `size` bytes.
    private static func run(_ negotiation: SOCKS5Negotiation, _ input: [UInt8], by size: Int) -> Outcome {
        var (negotiation, outcome) = (negotiation, Outcome())
        for start in stride(from: 0, to: input.count, by: size) {
            let piece = Array(input[start..<min(start + size, input.count)])
            var offset = 0
            do throws(LoadError) {
                steps: while true {
                    switch try negotiation.next(unsafe piece.span.bytes, from: &offset) {
                    case .needsMore: break steps
                    case .send(let bytes): outcome.sentMessages.append(bytes)
                    case .established:
                        outcome.isEstablished = true
                        outcome.consumedCount += offset
                        return outcome
                    }
                }
            } catch {
                outcome.error = error
                return outcome
            }
            outcome.consumedCount += offset
        }
        return outcome
    }

    private static let login = PasswordCredential(user: "u", password: "pw")
    private static let nameRequest: [UInt8] = [5, 1, 0, 3, 6] + Array("h.test".utf8) + [0x1F, 0x90]
    /// A reply that reports success, with the bound address 0.0.0.0.
    private static let reply: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

    @Test func greetingOffersALoginOnlyWithACredential() throws {
        #expect(try Self.negotiation().greeting == [5, 1, 0])
        #expect(try Self.negotiation(login: Self.login).greeting == [5, 2, 0, 2])
    }

    @Test(arguments: [
        (SOCKS5Negotiation.Destination.name("h.test"), nameRequest),
        (.address(IPAddress(bytes: [127, 0, 0, 1])), [5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]),
        (
            .address(IPAddress(bytes: [UInt8](repeating: 0, count: 15) + [1])),
            [5, 1, 0, 4] + [UInt8](repeating: 0, count: 15) + [1, 0x1F, 0x90]
        ),
    ])
    func aRequestNamesTheDestination(_ destination: SOCKS5Negotiation.Destination, _ request: [UInt8]) throws {
        let outcome = Self.run(try Self.negotiation(destination), [5, 0] + Self.reply, by: 1)
        #expect(outcome.sentMessages == [request] && outcome.isEstablished)
    }

    @Test(
        arguments: [1, 2, 3, 1000],
        [
            [5, 0, 0, 1, 1, 2, 3, 4, 5, 6], [5, 0, 0, 4] + [UInt8](repeating: 9, count: 18), [5, 0, 0, 3, 0, 1, 2],
            [5, 0, 0, 3, 2, 65, 66, 1, 2],
            [5, 0, 0xFF, 3, 255] + [UInt8](repeating: 7, count: 257),
        ] as [[UInt8]])
    func bytesAfterTheReplyBelongToTheTunnel(_ size: Int, _ reply: [UInt8]) throws {
        for login in [nil, Self.login] {
            let methodAndLoginReplies: [UInt8] = login == nil ? [5, 0] : [5, 2, 1, 0]
            let outcome = Self.run(try Self.negotiation(login: login), methodAndLoginReplies + reply + Array("HTTP/1.1".utf8), by: size)
            #expect(outcome.isEstablished && outcome.consumedCount == methodAndLoginReplies.count + reply.count)
            #expect(outcome.sentMessages == (login == nil ? [] : [[1, 1, 0x75, 2, 0x70, 0x77]]) + [Self.nameRequest])
        }
    }

    @Test func truncatedNegotiationFailsAndSaysThatTheProxyClosed() throws {
        let input = [5, 2, 1, 0] + Self.reply
        for count in 0..<input.count {
            var negotiation = try Self.negotiation(login: Self.login)
            var offset = 0
            let piece = Array(input.prefix(count))
            steps: while true {
                switch try negotiation.next(unsafe piece.span.bytes, from: &offset) {
                case .needsMore: break steps
                case .send: continue
                case .established:
                    Issue.record("established after \(count)")
                    break steps
                }
            }
            let error = negotiation.errorAtEnd
            #expect(error.code == .socksFailed, "\(count)")
            #expect(error.message.contains("socks5h://p.test:1080 closed"))
        }
    }

    /// The bytes of a proxy that refuses or breaks the protocol, whether the client offers a log-in, the code of the
    /// error, and a phrase of its message.
    private static let failures: [(input: [UInt8], hasLogin: Bool, code: LoadError.Code, phrase: String)] = [
        ([4], false, .socksFailed, "version is 4"), ([0x48, 0x54], false, .socksFailed, "version is 72"),
        ([5, 1], false, .socksFailed, "method 1"),
        ([5, 2], false, .socksFailed, "was not offered"), ([5, 3], true, .socksFailed, "method 3"),
        ([5, 0x80], true, .socksFailed, "method 128"),
        ([5, 0xFF], false, .socksFailed, "wants a user name"), ([5, 0xFF], true, .socksFailed, "an authentication method other"),
        ([5, 2, 5], true, .socksFailed, "log-in is 5"),
        ([5, 2, 1, 1], true, .socksFailed, "did not accept user 'u'; check name and password"),
        ([5, 2, 1, 255], true, .socksFailed, "did not accept"), ([5, 0, 4], false, .socksFailed, "version is 4"),
        ([5, 0, 5, 1], false, .socksFailed, "general failure"), ([5, 0, 5, 2], false, .socksFailed, "rules do not allow"),
        ([5, 0, 5, 3], false, .socksFailed, "network unreachable"), ([5, 0, 5, 4], false, .socksFailed, "host unreachable"),
        ([5, 0, 5, 5], false, .socksFailed, "connection refused"), ([5, 0, 5, 6], false, .socksFailed, "time to live"),
        ([5, 0, 5, 7], false, .socksFailed, "the command CONNECT"), ([5, 0, 5, 8], false, .socksFailed, "type of address"),
        ([5, 0, 5, 9], false, .socksFailed, "an unknown reason (9);"),
        ([5, 0, 5, 255], false, .socksFailed, "an unknown reason (255);"),
        ([5, 0, 5, 0, 0, 2], false, .socksFailed, "type 2"), ([5, 0, 5, 0, 0, 0], false, .socksFailed, "type 0"),
    ]

    @Test(arguments: failures)
    func errorDescribesTheFailure(_ row: (input: [UInt8], hasLogin: Bool, code: LoadError.Code, phrase: String)) throws {
        for size in [1, 1000] {
            let outcome = Self.run(try Self.negotiation(login: row.hasLogin ? Self.login : nil), row.input, by: size)
            #expect(
                outcome.error?.code == row.code && outcome.error?.message.contains(row.phrase) == true,
                "\(outcome.error?.message ?? "none")"
            )
            #expect(outcome.error?.message.contains("pw") == false)
        }
    }

    @Test func aHostThatIsTooLongIsRefused() {
        #expect(throws: LoadError.self) { try Self.negotiation(.name(String(repeating: "x", count: 256))) }
        #expect(throws: Never.self) { try Self.negotiation(.name(String(repeating: "x", count: 255))) }
    }
}
