// SPDX-License-Identifier: Apache-2.0

extension ScriptedServer {
    /// One thing that a server does on a connection. A script ends where the peer has gone; after its last step the server ends its own
    /// direction, reads until the peer ends the other, and closes.
    package indirect enum Step: Sendable {
        /// Reads to an empty line.
        case receiveHead
        /// Reads so many bytes of those that follow.
        case receive(Int)
        /// Reads up to and with this text.
        case receiveThrough(String)
        /// Reads until the peer sends no more.
        case receiveToEnd
        case send([UInt8])
        /// Each byte in a packet of its own.
        case sendByteByByte([UInt8])
        /// Reads and sends nothing until the test opens the gate.
        case wait(Gate)
        /// Tells the test that the script has come this far.
        case open(Gate)
        /// Tells the test in another way; it must not wait.
        case perform(@Sendable () -> Void)
        /// Reads and sends nothing until the peer sends no more.
        case stall
        /// Reads frames of HTTP/2 and sends what the closure answers to each; goes on with the next step where it answers `nil`.
        case answerFrames(@Sendable (Frame) -> [UInt8]?)
        /// Does these again and again, until the peer has gone.
        case forever([Step])
        /// Only over TLS.
        case tls(TLSStep)
        /// Ends the server's direction; it can still receive.
        case halfClose
        /// Closes at once, over TLS without close_notify: where something was not read, the peer sees a reset, and may lose what was sent.
        case close
        /// Sends a reset, which overtakes what was sent and has not been read.
        case reset

        package static func send(text: String) -> Self { .send(Array(text.utf8)) }
    }

    /// What only a server over TLS does on a connection.
    package enum TLSStep: Sendable {
        case closeNotify
        /// RFC 8446 §4.6.3
        case updateKeys(isRequested: Bool)
        /// A HelloRequest; what the peer answers is read with what it sends.
        case renegotiate
        /// The number of NewSessionTicket messages (RFC 8446 §4.6.1).
        case sendTickets(Int)
        /// From here on no record has more bytes in it; at least 512.
        case limitRecords(Int)
        /// From here on records are sent in packets of this many bytes.
        case limitPackets(Int)
        /// Past TLS.
        case sendInClear([UInt8])
        /// Records that OpenSSL would not write. Of TLS 1.3 with AES-128-GCM, without tickets, and nothing else was or is sent.
        case sendSealed([Plaintext])
    }

    /// What is in a record (RFC 8446 §5.2).
    package struct Plaintext: Sendable {
        let type: UInt8
        let content: [UInt8]

        package static func data(_ text: String) -> Self { Self(type: 23, content: Array(text.utf8)) }
        package static func handshake(_ content: [UInt8]) -> Self { Self(type: 22, content: content) }
        package static func alert(level: UInt8, _ code: UInt8) -> Self { Self(type: 21, content: [level, code]) }
    }

    /// A frame of HTTP/2 (RFC 9113 §4.1).
    package struct Frame: Sendable {
        package let type: UInt8
        package let flags: UInt8
        package let stream: Int
        package let payload: [UInt8]

        /// Whether the peer's request is complete with it.
        package var endsRequest: Bool { type <= 1 && flags & 1 != 0 }
        /// Whether a request begins with it.
        package var isHead: Bool { type == 1 }
    }

    /// A script of one exchange: the head of a request, then an answer.
    package static func answering(_ answer: String) -> [Step] { [.receiveHead, .send(text: answer)] }
}
