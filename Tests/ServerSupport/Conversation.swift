// SPDX-License-Identifier: Apache-2.0

import Glibc

/// One connection of a ``ScriptedServer``, on a thread of its own: what it does is decided by its script, and it ends when the server is closed.
struct Conversation {
    /// Why a script goes no further; nobody is told.
    private enum End: Error {
        case peerHasGone, serverIsClosed, scriptCloses
    }

    let socket: Descriptor
    /// Readable once the server is closed.
    let stop: Descriptor
    let didReceive: (_ bytes: [UInt8]) -> Void
    /// Received, but not yet asked for by a step.
    private var pending: [UInt8] = []

    init(socket: Descriptor, stop: Descriptor, didReceive: @escaping (_ bytes: [UInt8]) -> Void) {
        self.socket = socket
        self.stop = stop
        self.didReceive = didReceive
    }

    /// Returns when the connection is closed.
    mutating func run(_ steps: [ScriptedServer.Step]) {
        do {
            for step in steps { try run(step) }
            SystemCalls.endSending(socket)
            while try receiveMore() {}
        } catch {
            // The script is over: the peer has gone, or the server goes, or this was its will.
        }
        socket.close()
    }

    private mutating func run(_ step: ScriptedServer.Step) throws {
        switch step {
        case .receiveHead: try receive { Self.length(through: "\r\n\r\n", in: $0) }
        case .receiveThrough(let text): try receive { Self.length(through: text, in: $0) }
        case .receive(let count): try receive { $0.count >= count ? count : nil }
        case .receiveToEnd: while try receiveMore() {}
        case .send(let bytes): try send(bytes[...])
        case .sendByteByByte(let bytes):
            try SystemCalls.sendAtOnce(socket)
            for index in bytes.indices { try send(bytes[index...index]) }
        case .wait(let gate): try wait(for: gate.event, Int32(POLLIN))
        case .open(let gate): gate.open()
        case .stall: try wait(for: socket, Self.peerSendsNoMore)
        case .answerFrames(let answer): while let bytes = answer(try receiveFrame()) { try send(bytes[...]) }
        case .forever(let steps):
            while true {
                try checkStop()
                for step in steps { try run(step) }
            }
        case .halfClose: SystemCalls.endSending(socket)
        case .close: throw End.scriptCloses
        case .reset:
            try SystemCalls.resetOnClose(socket)
            throw End.scriptCloses
        }
    }

    /// `POLLRDHUP`, a macro that Swift does not see: poll(2).
    private static let peerSendsNoMore: Int32 = 0x2000

    // MARK: Bytes

    /// Reads until `length` says how many of the bytes it wants.
    private mutating func receive(_ length: ([UInt8]) -> Int?) throws {
        while true {
            if let length = length(pending) { return pending.removeFirst(length) }
            guard try receiveMore() else { throw End.peerHasGone }
        }
    }

    private mutating func receiveFrame() throws -> ScriptedServer.Frame {
        var header: [UInt8] = []
        try receive { bytes in
            header = Array(bytes.prefix(9))
            return bytes.count >= 9 ? 9 : nil
        }
        let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | Int($1) } }
        let length = number(header[0..<3])
        var payload: [UInt8] = []
        try receive { bytes in
            payload = Array(bytes.prefix(length))
            return bytes.count >= length ? length : nil
        }
        return ScriptedServer.Frame(type: header[3], flags: header[4], stream: number(header[5..<9]) & 0x7FFF_FFFF, payload: payload)
    }

    /// - Returns: false where the peer sends no more.
    private mutating func receiveMore() throws -> Bool {
        while true {
            try wait(for: socket, Int32(POLLIN))
            guard let bytes = try SystemCalls.read(socket) else { continue }
            didReceive(bytes)
            pending += bytes
            return !bytes.isEmpty
        }
    }

    private func send(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            rest = rest.dropFirst(try SystemCalls.send(rest, to: socket))
            if !rest.isEmpty { try wait(for: socket, Int32(POLLOUT)) }
        }
    }

    private static func length(through text: String, in bytes: [UInt8]) -> Int? {
        let end = Array(text.utf8)
        guard bytes.count >= end.count else { return nil }
        return (0...bytes.count - end.count).first { bytes[$0..<$0 + end.count].elementsEqual(end) }.map { $0 + end.count }
    }

    // MARK: Waiting

    private func wait(for descriptor: Descriptor, _ events: Int32) throws {
        let found = SystemCalls.wait(for: [(descriptor, events), (stop, Int32(POLLIN))])
        if found[1] != 0 { throw End.serverIsClosed }
    }

    private func checkStop() throws {
        if SystemCalls.wait(for: [(stop, Int32(POLLIN))], milliseconds: 0)[0] != 0 { throw End.serverIsClosed }
    }
}
