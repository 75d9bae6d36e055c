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
        /// Reads and sends nothing until the peer sends no more.
        case stall
        /// Does these again and again, until the peer has gone.
        case forever([Step])
        /// Ends the server's direction; it can still receive.
        case halfClose
        /// Closes at once: where something was not read, the peer sees a reset, and may lose what was sent.
        case close
        /// Sends a reset, which overtakes what was sent and has not been read.
        case reset

        package static func send(text: String) -> Self { .send(Array(text.utf8)) }
    }

    /// A script of one exchange: the head of a request, then an answer.
    package static func answering(_ answer: String) -> [Step] { [.receiveHead, .send(text: answer)] }
}
