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
        var unsentBytes = Array(text.utf8)[...]
        while !unsentBytes.isEmpty {
            _ = SystemCalls.wait(for: [(socket, Int32(POLLOUT))])
            unsentBytes = unsentBytes.dropFirst(try SystemCalls.send(unsentBytes, to: socket))
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
        var receivedBytes: [UInt8] = []
        do {
            while true {
                let bytes = try receive()
                if bytes.isEmpty { return (String(decoding: receivedBytes, as: UTF8.self), .closed) }
                receivedBytes += bytes
            }
        } catch {
            return (String(decoding: receivedBytes, as: UTF8.self), .reset)
        }
    }

    /// Whether bytes, or the end of the stream, arrive within the time.
    func receives(withinMilliseconds milliseconds: Int32) -> Bool {
        SystemCalls.wait(for: [(socket, Int32(POLLIN))], milliseconds: milliseconds)[0] != 0
    }
}
