// SPDX-License-Identifier: Apache-2.0

extension SecureServer {
    /// What a server of TLS shows, and what it takes.
    package struct Settings: Sendable {
        /// A chain, leaf first, and the leaf's key.
        package enum Certificate: Sendable {
            /// In PEM.
            case files(chain: String, key: String)
            case der(chain: [[UInt8]], key: [UInt8])
        }

        /// As on the wire (RFC 8446 §4.2.1).
        package enum Version: Int32, Sendable {
            case tls10 = 0x0301
            case tls11 = 0x0302
            case tls12 = 0x0303
            case tls13 = 0x0304
        }

        /// Whether clients show who they are; `roots` is a file in PEM.
        package enum ClientCertificates: Sendable {
            case none
            case optional(roots: String)
            case required(roots: String)
        }

        package var certificate: Certificate
        /// What is said and heard in clear before the handshake, as with STARTTLS.
        package var prelude: [ScriptedServer.Step] = []
        package var minimumVersion = Version.tls12
        package var maximumVersion = Version.tls13
        /// For ALPN (RFC 7301), the best first.
        package var applicationProtocols = ["http/1.1"]
        /// Whether a client that offers none of ``applicationProtocols`` is refused with no_application_protocol.
        package var requiresApplicationProtocol = false
        /// Up to TLS 1.2, as openssl-ciphers(1) writes them. Weak ones and short keys are allowed.
        package var ciphers = "DEFAULT"
        /// Of TLS 1.3; `nil` for OpenSSL's.
        package var cipherSuites: String?
        package var clientCertificates = ClientCertificates.none
        /// Whether sessions can be taken up again, which is by tickets only.
        package var sendsTickets = true
        /// Of each handshake of TLS 1.3.
        package var ticketCount = 2
        package var sendsCloseNotify = true
        /// Whether each client is refused with unrecognized_name.
        package var refusesName = false
        /// The most bytes of a record, 512 to 16384; messages of the handshake go in as many as it takes.
        package var recordLimit: Int?
        /// In how many bytes a packet the handshake goes; `nil` for as they come.
        package var packetLimit: Int?

        package init(_ certificate: Certificate) { self.certificate = certificate }
    }

    /// What is done with a connection, after the handshake where there is one.
    package enum Behaviour: Sendable {
        case answer(String)
        /// The moment that something comes. Then the connection is closed.
        case clear(String)
        /// Nothing is ever said.
        case silence
        /// The connection is reset when something comes.
        case reset
        /// The connection is closed without a word when something comes.
        case close
        /// The connection is closed without close_notify, behind this answer.
        case cut(String)
        /// Over HTTP/1.1 as `answer`; over HTTP/2 each stream is reset with HTTP_1_1_REQUIRED.
        case requireHTTP1(String)
        /// When the head of a request has come.
        case script([ScriptedServer.Step])

        /// - Parameter asked: to be called at the first byte of each request.
        func steps(applicationProtocol: String?, asked: @escaping @Sendable () -> Void) -> [ScriptedServer.Step] {
            let start: [ScriptedServer.Step] = [.receive(1), .perform(asked)]
            let head = start + [.receiveThrough("\r\n\r\n")]
            switch self {
            case .requireHTTP1 where applicationProtocol == "h2": return Self.refusingStreams(asked)
            case .answer(let text), .requireHTTP1(let text): return [.forever(head + [.send(text: text)])]
            case .clear(let text): return start + [.send(text: text)]
            case .silence: return start + [.receiveToEnd]
            case .reset: return start + [.reset]
            case .close: return start + [.close]
            case .cut(let text): return head + [.send(text: text), .close]
            case .script(let steps): return head + steps
            }
        }

        /// HTTP/2 in bytes (RFC 9113 §3.4, §6.4, §6.5).
        private static func refusingStreams(_ asked: @escaping @Sendable () -> Void) -> [ScriptedServer.Step] {
            let settings: UInt8 = 4
            let http11Required: [UInt8] = [0, 0, 0, 0x0D]
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send([0, 0, 0, settings, 0, 0, 0, 0, 0]),
                .answerFrames { frame in
                    if frame.type == settings, frame.flags & 1 == 0 { return [0, 0, 0, settings, 1, 0, 0, 0, 0] }
                    guard frame.isHead else { return [] }
                    asked()
                    let stream = (0..<4).map { UInt8(truncatingIfNeeded: frame.stream >> (24 - 8 * $0)) }
                    return [0, 0, 4, 3, 0] + stream + http11Required
                },
            ]
        }
    }
}
