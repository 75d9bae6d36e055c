// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs the script of one connection on the thread of the connection. Closing the server ends the script.
struct ScriptRunner {
    let socket: ServerSocket
    /// Sends and receives the bytes over ``socket``, in clear text or over TLS.
    let wire: any Wire
    let didReceive: (_ bytes: [UInt8]) -> Void
    /// Received bytes that no step has consumed yet.
    private var unconsumed: [UInt8] = []

    init(_ socket: ServerSocket, over wire: any Wire, didReceive: @escaping (_ bytes: [UInt8]) -> Void = { _ in }) {
        self.socket = socket
        self.wire = wire
        self.didReceive = didReceive
    }

    /// Runs the script, ends sending, and reads until the peer ends sending. The caller closes the socket.
    ///
    /// - Throws: the reason why the script ended early.
    mutating func run(_ steps: [ScriptedServer.Step]) throws {
        for step in steps { try run(step) }
        try wire.endSending()
        while try receiveMore() {}
    }

    /// Runs the steps. The connection stays open.
    ///
    /// - Returns: the received bytes that no step consumed.
    mutating func runPrelude(_ steps: [ScriptedServer.Step]) throws -> [UInt8] {
        for step in steps { try run(step) }
        return unconsumed
    }

    private mutating func run(_ step: ScriptedServer.Step) throws {
        switch step {
        case .receiveHead: try receive { Self.length(through: "\r\n\r\n", in: $0) }
        case .receiveThrough(let text): try receive { Self.length(through: text, in: $0) }
        case .receive(let count): try receive { $0.count >= count ? count : nil }
        case .receiveToEnd: while try receiveMore() {}
        case .send(let bytes): try wire.send(bytes[...])
        case .sendByteByByte(let bytes):
            try SystemCalls.disableNagle(socket.descriptor)
            for index in bytes.indices { try wire.send(bytes[index...index]) }
        case .wait(let gate): try socket.wait(for: gate.event, Int32(POLLIN))
        case .open(let gate): gate.open()
        case .perform(let closure): closure()
        case .stall: try socket.wait(for: Self.peerEndedSending)
        case .respondToFrames(let respond): while let bytes = respond(try receiveFrame()) { try wire.send(bytes[...]) }
        case .tls(let step): try wire.perform(step)
        case .forever(let steps):
            while true {
                try socket.checkStop()
                for step in steps { try run(step) }
            }
        case .halfClose: try wire.endSending()
        case .close: throw ScriptEnd.scriptCloses
        case .reset:
            try SystemCalls.resetOnClose(socket.descriptor)
            throw ScriptEnd.scriptCloses
        }
    }

    /// `POLLRDHUP` (poll(2)), which Swift does not import because it is a macro.
    private static let peerEndedSending: Int32 = 0x2000

    // MARK: Bytes

    /// Reads until `consumedLength` returns the number of bytes to consume. `nil` means that it needs more bytes.
    private mutating func receive(_ consumedLength: ([UInt8]) -> Int?) throws {
        while true {
            if let length = consumedLength(unconsumed) { return unconsumed.removeFirst(length) }
            guard try receiveMore() else { throw ScriptEnd.peerEndedSending }
        }
    }

    private mutating func receiveFrame() throws -> ScriptedServer.Frame {
        var header: [UInt8] = []
        try receive { bytes in
            header = Array(bytes.prefix(9))
            return bytes.count >= 9 ? 9 : nil
        }
        let bigEndianInteger = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | Int($1) } }
        let length = bigEndianInteger(header[0..<3])
        var payload: [UInt8] = []
        try receive { bytes in
            payload = Array(bytes.prefix(length))
            return bytes.count >= length ? length : nil
        }
        let stream = bigEndianInteger(header[5..<9]) & 0x7FFF_FFFF
        return ScriptedServer.Frame(type: header[3], flags: header[4], stream: stream, payload: payload)
    }

    /// - Returns: `false` if the peer has ended sending.
    private mutating func receiveMore() throws -> Bool {
        let bytes = try wire.receive()
        didReceive(bytes)
        unconsumed += bytes
        return !bytes.isEmpty
    }

    /// - Returns: the number of bytes up to and including `text`; `nil` if `bytes` does not contain it.
    private static func length(through text: String, in bytes: [UInt8]) -> Int? {
        let textBytes = Array(text.utf8)
        let length = textBytes.count
        guard bytes.count >= length else { return nil }
        return (0...bytes.count - length).first { bytes[$0..<$0 + length].elementsEqual(textBytes) }.map { $0 + length }
    }
}
