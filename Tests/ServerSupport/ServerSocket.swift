// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The byte connection that a ``ScriptRunner`` uses.
protocol Wire {
    /// - Returns: an empty array if the peer has ended sending.
    func receive() throws -> [UInt8]
    func send(_ bytes: ArraySlice<UInt8>) throws
    /// Ends sending. The peer can still send.
    func endSending() throws
    /// Performs a step that only works over TLS.
    func perform(_ step: ScriptedServer.TLSStep) throws
}

/// Thrown to end a script. Not a failure.
enum ScriptEnd: Error {
    case peerEndedSending, serverIsClosed, scriptCloses
}

/// A connected socket that sends clear text. Closing the server ends all waits for the socket.
struct ServerSocket: Wire {
    let socket: FileDescriptor
    /// Readable once the server is closed.
    let stop: FileDescriptor

    func wait(for events: Int32) throws { try wait(for: socket, events) }

    func wait(for descriptor: FileDescriptor, _ events: Int32) throws {
        let found = SystemCalls.wait(for: [(descriptor, events), (stop, Int32(POLLIN))])
        if found[1] != 0 { throw ScriptEnd.serverIsClosed }
    }

    func checkStop() throws {
        if SystemCalls.wait(for: [(stop, Int32(POLLIN))], milliseconds: 0)[0] != 0 { throw ScriptEnd.serverIsClosed }
    }

    func receive() throws -> [UInt8] {
        while true {
            try wait(for: Int32(POLLIN))
            if let bytes = try SystemCalls.read(socket) { return bytes }
        }
    }

    func send(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            rest = rest.dropFirst(try SystemCalls.send(rest, to: socket))
            if !rest.isEmpty { try wait(for: Int32(POLLOUT)) }
        }
    }

    func endSending() { SystemCalls.endSending(socket) }

    func perform(_ step: ScriptedServer.TLSStep) throws { throw ServerError("\(step) needs TLS") }
}
