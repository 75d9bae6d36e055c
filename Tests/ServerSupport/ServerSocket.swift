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

/// Thrown to end a script early. None of the cases is a failure.
enum ScriptEnd: Error {
    case peerEndedSending, serverIsClosed, scriptCloses
}

/// A connected socket that sends clear text. Closing the server ends all waits for the socket.
struct ServerSocket: Wire {
    let descriptor: FileDescriptor
    /// Readable once the server closes its connections.
    let stopEvent: FileDescriptor

    /// - Parameter events: the events of poll(2) that end the wait.
    func wait(for events: Int32) throws { try wait(for: descriptor, events) }

    func wait(for descriptor: FileDescriptor, _ events: Int32) throws {
        let foundEvents = SystemCalls.wait(for: [(descriptor, events), (stopEvent, Int32(POLLIN))])
        if foundEvents[1] != 0 { throw ScriptEnd.serverIsClosed }
    }

    /// - Throws: `ScriptEnd.serverIsClosed` if the server closes its connections.
    func checkStop() throws {
        if SystemCalls.wait(for: [(stopEvent, Int32(POLLIN))], milliseconds: 0)[0] != 0 { throw ScriptEnd.serverIsClosed }
    }

    func receive() throws -> [UInt8] {
        while true {
            try wait(for: Int32(POLLIN))
            if let bytes = try SystemCalls.read(descriptor) { return bytes }
        }
    }

    func send(_ bytes: ArraySlice<UInt8>) throws {
        var unsentBytes = bytes
        while !unsentBytes.isEmpty {
            unsentBytes = unsentBytes.dropFirst(try SystemCalls.send(unsentBytes, to: descriptor))
            if !unsentBytes.isEmpty { try wait(for: Int32(POLLOUT)) }
        }
    }

    func endSending() { SystemCalls.endSending(descriptor) }

    func perform(_ step: ScriptedServer.TLSStep) throws { throw ServerError("\(step) needs TLS") }
}
