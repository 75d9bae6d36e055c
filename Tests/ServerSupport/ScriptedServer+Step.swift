// SPDX-License-Identifier: Apache-2.0

extension ScriptedServer {
    /// One action of a server on a connection. A script ends early if the peer closes the connection. After the last
    /// step, the server ends sending, reads until the peer ends sending, and closes the connection.
    package indirect enum Step: Sendable {
        /// Reads up to and including an empty line.
        case receiveHead
        /// Reads this many bytes.
        case receive(Int)
        /// Reads up to and including this text.
        case receiveThrough(String)
        /// Reads until the peer ends sending.
        case receiveToEnd
        case send([UInt8])
        /// Sends each byte in a separate packet.
        case sendByteByByte([UInt8])
        /// Reads and sends nothing until the test opens the gate.
        case wait(Gate)
        /// Opens the gate, which signals the test that the script has reached this step.
        case open(Gate)
        /// Runs the closure. It must not block.
        case perform(@Sendable () -> Void)
        /// Reads and sends nothing until the peer ends sending.
        case stall
        /// Reads HTTP/2 frames, calls the closure for each, and sends the result. The next step begins when the closure
        /// returns `nil`.
        case respondToFrames(@Sendable (Frame) -> [UInt8]?)
        /// Repeats these steps until the peer has closed the connection.
        case forever([Step])
        /// A step that only works over TLS.
        case tls(TLSStep)
        /// Ends sending. The server can still receive.
        case halfClose
        /// Closes immediately, over TLS without close_notify. If the server has not read all bytes, the peer gets a
        /// reset and can lose data that the server sent.
        case close
        /// Sends a reset. The peer loses data that it has not read yet.
        case reset

        package static func send(text: String) -> Self { .send(Array(text.utf8)) }
    }

    /// A step that only works over TLS.
    package enum TLSStep: Sendable {
        case closeNotify
        /// Sends a KeyUpdate (RFC 8446 §4.6.3). `isRequested`: whether the peer must update its keys, too.
        case updateKeys(isRequested: Bool)
        /// Sends a HelloRequest. A later read processes the peer's reply.
        case renegotiate
        /// Sends this number of NewSessionTicket messages (RFC 8446 §4.6.1).
        case sendTickets(Int)
        /// Limits the content of each following record to this many bytes, at least 512.
        case limitRecords(Int)
        /// Sends the following records in packets of this many bytes.
        case limitPackets(Int)
        /// Sends bytes without encryption.
        case sendInClear([UInt8])
        /// Encrypts and sends records that OpenSSL would not write. Requires TLS 1.3 with AES-128-GCM and no tickets.
        /// No other step of the connection can send a record.
        case sendSealed([Plaintext])
    }

    /// The plaintext of a TLS record (RFC 8446 §5.2).
    package struct Plaintext: Sendable {
        let type: UInt8
        let content: [UInt8]

        package static func data(_ text: String) -> Self { Self(type: 23, content: Array(text.utf8)) }
        package static func handshake(_ content: [UInt8]) -> Self { Self(type: 22, content: content) }
        package static func alert(level: UInt8, _ code: UInt8) -> Self { Self(type: 21, content: [level, code]) }
    }

    /// An HTTP/2 frame (RFC 9113 §4.1).
    package struct Frame: Sendable {
        package let type: UInt8
        package let flags: UInt8
        package let stream: Int
        package let payload: [UInt8]

        /// Whether this frame completes the peer's request: DATA or HEADERS with END_STREAM.
        package var endsRequest: Bool { type <= 1 && flags & 1 != 0 }
        /// Whether this frame begins a request: HEADERS.
        package var isHead: Bool { type == 1 }
    }

    /// Returns the script of one transaction: it reads the head of a request, then sends the response.
    package static func responding(_ response: String) -> [Step] { [.receiveHead, .send(text: response)] }
}
