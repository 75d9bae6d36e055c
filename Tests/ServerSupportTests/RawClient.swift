// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import ServerSupport

/// A client socket for a ``ScriptedServer``. The methods block; the test's time limit ends them.
struct RawClient {
    /// How the server ended sending.
    enum End: Equatable {
        case closed, reset
    }

    private let socket: FileDescriptor

    init(to port: Int, on loopback: Loopback = .ipv4) throws {
        socket = try SystemCalls.openSocket(loopback)
        try SystemCalls.connect(socket, loopback, port: port)
        _ = SystemCalls.wait(for: [(socket, Int32(POLLOUT))])
        // Throws the error if the connection was refused.
        _ = try SystemCalls.send([], to: socket)
    }

    func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            _ = SystemCalls.wait(for: [(socket, Int32(POLLOUT))])
            rest = rest.dropFirst(try SystemCalls.send(rest, to: socket))
        }
    }

    func endSending() { SystemCalls.endSending(socket) }

    func close() { socket.close() }

    /// - Returns: the next bytes; an empty array at the end of the stream.
    func receive() throws -> [UInt8] {
        while true {
            _ = SystemCalls.wait(for: [(socket, Int32(POLLIN))])
            if let bytes = try SystemCalls.read(socket) { return bytes }
        }
    }

    /// Receives all bytes until the end of the stream.
    func receiveAll() -> (text: String, end: End) {
        var all: [UInt8] = []
        do {
            while true {
                let bytes = try receive()
                if bytes.isEmpty { return (String(decoding: all, as: UTF8.self), .closed) }
                all += bytes
            }
        } catch {
            return (String(decoding: all, as: UTF8.self), .reset)
        }
    }

    /// Whether bytes are available now or within the time.
    func receives(within milliseconds: Int32) -> Bool {
        SystemCalls.wait(for: [(socket, Int32(POLLIN))], milliseconds: milliseconds)[0] != 0
    }
}
