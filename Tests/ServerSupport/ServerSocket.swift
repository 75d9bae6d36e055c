// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The byte connection of a ``Conversation``.
protocol Wire {
    /// - Returns: an empty array if the peer has ended its direction.
    func receive() throws -> [UInt8]
    func send(_ bytes: ArraySlice<UInt8>) throws
    /// Ends this direction. The peer reads the end and may still send.
    func endSending() throws
    /// Performs a step that only works over TLS.
    func perform(_ step: ScriptedServer.TLSStep) throws
}

/// Ends a conversation without a report.
enum ConversationEnd: Error {
    case peerHasGone, serverIsClosed, scriptCloses
}

/// A connected socket whose waits end when its server is closed. As a wire, it sends clear text.
struct ServerSocket: Wire {
    let socket: FileDescriptor
    /// Readable once the server is closed.
    let stop: FileDescriptor

    func wait(for events: Int32) throws { try wait(for: socket, events) }

    func wait(for descriptor: FileDescriptor, _ events: Int32) throws {
        let found = SystemCalls.wait(for: [(descriptor, events), (stop, Int32(POLLIN))])
        if found[1] != 0 { throw ConversationEnd.serverIsClosed }
    }

    func checkStop() throws {
        if SystemCalls.wait(for: [(stop, Int32(POLLIN))], milliseconds: 0)[0] != 0 { throw ConversationEnd.serverIsClosed }
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
