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

/// A port on which a server listens, but whose queue of connections is full. The kernel neither
/// establishes nor refuses connections to it (listen(2)).
package final class BlackHolePort: Sendable {
    package let port: Int
    private let listener: FileDescriptor
    private let pendingSockets: [FileDescriptor]

    package init(on loopback: Loopback = .ipv4, port: Int = 0) throws {
        listener = try SystemCalls.boundSocket(loopback, port: port)
        self.port = try SystemCalls.port(of: listener)
        try SystemCalls.listen(listener, backlog: 0)
        pendingSockets = try Self.fill(loopback, self.port)
    }

    /// Connects sockets until a connection stays pending. A connection to a loopback address is normally established
    /// before the call returns. The function waits 50 ms for a slow kernel.
    private static func fill(_ loopback: Loopback, _ port: Int) throws -> [FileDescriptor] {
        var pendingSockets: [FileDescriptor] = []
        while pendingSockets.count < 128 {
            let pendingSocket = try SystemCalls.openSocket(loopback)
            try SystemCalls.connect(pendingSocket, loopback, port: port)
            pendingSockets.append(pendingSocket)
            if SystemCalls.wait(for: [(pendingSocket, Int32(POLLOUT))], milliseconds: 50)[0] == 0 { return pendingSockets }
        }
        throw ServerError("port \(port) accepts 128 connections, although its queue has length 0")
    }
}
