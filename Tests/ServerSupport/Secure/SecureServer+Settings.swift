// SPDX-License-Identifier: Apache-2.0

extension SecureServer {
    /// The TLS settings of a server.
    package struct Settings: Sendable {
        /// A certificate chain, leaf first, and the leaf's key.
        package enum Certificate: Sendable {
            /// Paths of PEM files.
            case files(chain: String, key: String)
            case der(chain: [[UInt8]], key: [UInt8])
        }

        /// A version of TLS. The raw value is the number in the protocol (RFC 8446 §4.2.1).
        package enum Version: Int32, Sendable {
            case tls10 = 0x0301
            case tls11 = 0x0302
            case tls12 = 0x0303
            case tls13 = 0x0304
        }

        /// Whether the server requests certificates of clients. `roots` is the path of a PEM file.
        package enum ClientCertificates: Sendable {
            case none
            case optional(roots: String)
            case required(roots: String)
        }

        package var certificate: Certificate
        /// The steps before the handshake, in clear text, as with STARTTLS.
        package var prelude: [ScriptedServer.Step] = []
        package var minimumVersion = Version.tls12
        package var maximumVersion = Version.tls13
        /// The ALPN protocols (RFC 7301), in order of preference.
        package var applicationProtocols = ["http/1.1"]
        /// Whether the server refuses a client that offers none of ``applicationProtocols``, with
        /// no_application_protocol.
        package var requiresApplicationProtocol = false
        /// The ciphers up to TLS 1.2, in the format of openssl-ciphers(1). Weak ciphers and short keys are allowed.
        package var ciphers = "DEFAULT"
        /// The cipher suites of TLS 1.3. `nil` means OpenSSL's default.
        package var cipherSuites: String?
        package var clientCertificates = ClientCertificates.none
        /// Whether clients can resume sessions. The server supports resumption by tickets only.
        package var sendsTickets = true
        /// The number of tickets after each TLS 1.3 handshake.
        package var ticketCount = 2
        package var sendsCloseNotify = true
        /// Whether the server refuses each client with unrecognized_name.
        package var refusesName = false
        /// The maximum size of a record in bytes, from 512 to 16384. A larger handshake message spans several records.
        package var recordLimit: Int?
        /// The maximum size of a packet during the handshake, in bytes. `nil` means no limit.
        package var packetLimit: Int?

        package init(_ certificate: Certificate) { self.certificate = certificate }
    }

    /// What the server does on each connection, over TLS after the handshake.
    package enum Behaviour: Sendable {
        /// Sends this response to each request.
        case respond(String)
        /// Sends the text when the first byte arrives, then closes the connection.
        case sendAtFirstByte(String)
        /// Never sends anything.
        case silence
        /// Resets the connection when the first byte arrives.
        case reset
        /// Closes the connection when the first byte arrives, without sending anything.
        case close
        /// Sends this response, then closes the connection without close_notify.
        case respondWithoutCloseNotify(String)
        /// Sends this response to each request over HTTP/1.1. Resets each stream of HTTP/2 with HTTP_1_1_REQUIRED.
        case requireHTTP1(String)
        /// Runs these steps after the head of a request has arrived.
        case script([ScriptedServer.Step])

        /// - Parameter requestBegan: called at the first byte of each request.
        func steps(applicationProtocol: String?, requestBegan: @escaping @Sendable () -> Void) -> [ScriptedServer.Step] {
            let firstByte: [ScriptedServer.Step] = [.receive(1), .perform(requestBegan)]
            let head = firstByte + [.receiveThrough("\r\n\r\n")]
            switch self {
            case .requireHTTP1 where applicationProtocol == "h2": return Self.resettingEachStream(requestBegan)
            case .respond(let text), .requireHTTP1(let text): return [.forever(head + [.send(text: text)])]
            case .sendAtFirstByte(let text): return firstByte + [.send(text: text)]
            case .silence: return firstByte + [.receiveToEnd]
            case .reset: return firstByte + [.reset]
            case .close: return firstByte + [.close]
            case .respondWithoutCloseNotify(let text): return head + [.send(text: text), .close]
            case .script(let steps): return head + steps
            }
        }

        /// Resets each HTTP/2 stream with HTTP_1_1_REQUIRED. The frames are raw bytes (RFC 9113 §3.4, §6.4, §6.5).
        private static func resettingEachStream(_ requestBegan: @escaping @Sendable () -> Void) -> [ScriptedServer.Step] {
            let settings: UInt8 = 4
            let http11Required: [UInt8] = [0, 0, 0, 0x0D]
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send([0, 0, 0, settings, 0, 0, 0, 0, 0]),
                .respondToFrames { frame in
                    if frame.type == settings, frame.flags & 1 == 0 { return [0, 0, 0, settings, 1, 0, 0, 0, 0] }
                    guard frame.isHead else { return [] }
                    requestBegan()
                    let stream = (0..<4).map { UInt8(truncatingIfNeeded: frame.stream >> (24 - 8 * $0)) }
                    return [0, 0, 4, 3, 0] + stream + http11Required
                },
            ]
        }
    }
}
