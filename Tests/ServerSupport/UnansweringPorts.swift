// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A reserved port on which no server listens. The kernel refuses connections to it.
package final class RefusingPort: Sendable {
    package let port: Int
    private let socket: FileDescriptor

    package init(on loopback: Loopback = .ipv4, port: Int = 0) throws {
        socket = try SystemCalls.boundSocket(loopback, port: port)
        self.port = try SystemCalls.port(of: socket)
    }
}

/// A port whose queue is full. The kernel neither establishes nor refuses connections to it (listen(2)).
package final class BlackHolePort: Sendable {
    package let port: Int
    private let listener: FileDescriptor
    private let fillers: [FileDescriptor]

    package init(on loopback: Loopback = .ipv4, port: Int = 0) throws {
        listener = try SystemCalls.boundSocket(loopback, port: port)
        self.port = try SystemCalls.port(of: listener)
        try SystemCalls.listen(listener, backlog: 0)
        fillers = try Self.fill(loopback, self.port)
    }

    /// Connects until a connection stays pending. On loopback, a connection is normally established before the call
    /// returns; the 50 ms wait is for a slower kernel.
    private static func fill(_ loopback: Loopback, _ port: Int) throws -> [FileDescriptor] {
        var fillers: [FileDescriptor] = []
        while fillers.count < 128 {
            let filler = try SystemCalls.openSocket(loopback)
            try SystemCalls.connect(filler, loopback, port: port)
            fillers.append(filler)
            if SystemCalls.wait(for: [(filler, Int32(POLLOUT))], milliseconds: 50)[0] == 0 { return fillers }
        }
        throw ServerError("port \(port) accepts 128 connections, although its queue has length 0")
    }
}
