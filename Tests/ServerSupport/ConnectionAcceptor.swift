// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
import Synchronization

/// Handles the connections that a ``ConnectionAcceptor`` accepts. It must not retain the acceptor.
protocol ConnectionHost: AnyObject, Sendable {
    /// - Parameter index: the connection's number, from 0.
    func didAccept(_ index: Int)
    /// Runs on the connection's thread. The acceptor closes the connection when this method returns or throws.
    func converse(on socket: ServerSocket, _ index: Int) throws
    func didClose(_ index: Int)
}

/// State that the threads of a server share. The threads retain this object and not the server, so that the server can
/// be released while they run.
final class ConnectionAcceptor: Sendable {
    let port: Int
    private let host: any ConnectionHost
    private let stop: FileDescriptor
    /// The stop event of connections that are accepted from now on.
    private let connectionStop: Mutex<FileDescriptor>
    private let threads = Mutex(0)
    /// Open when no thread runs. The first thread runs until no further thread can start.
    private let ended: Gate

    /// - Parameter limit: after this many connections the server stops listening, and further connections are refused.
    init(on loopback: Loopback, port: Int, for host: any ConnectionHost, accepting limit: Int) throws {
        let listener = try SystemCalls.boundSocket(loopback, port: port)
        try SystemCalls.listen(listener, backlog: 4096)
        self.port = try SystemCalls.port(of: listener)
        self.host = host
        stop = try SystemCalls.event()
        connectionStop = Mutex(try SystemCalls.event())
        ended = try Gate()
        try start { [self] in accept(from: listener, atMost: limit) }
    }

    /// Closes the listener and all connections, and waits until all threads have ended.
    func close() {
        signalEnd()
        _ = SystemCalls.wait(for: [(ended.event, Int32(POLLIN))])
    }

    /// Has the effect of ``close()`` without blocking a thread.
    func end() async throws {
        signalEnd()
        try await ended.wait()
    }

    /// Closes the current connections. The server still accepts new ones.
    func closeConnections() throws {
        let next = try SystemCalls.event()
        SystemCalls.signal(
            connectionStop.withLock { current in
                defer { current = next }
                return current
            })
    }

    private func signalEnd() {
        SystemCalls.signal(stop)
        SystemCalls.signal(connectionStop.withLock { $0 })
    }

    private func start(_ body: @escaping @Sendable () -> Void) throws {
        threads.withLock { $0 += 1 }
        do {
            try PlatformThread.start { [self] in
                body()
                leave()
            }
        } catch {
            leave()
            throw error
        }
    }

    private func leave() {
        let isLast = threads.withLock {
            $0 -= 1
            return $0 == 0
        }
        if isLast { ended.open() }
    }

    private func accept(from listener: FileDescriptor, atMost limit: Int) {
        defer { listener.close() }
        var count = 0
        while count < limit {
            let found = SystemCalls.wait(for: [(listener, Int32(POLLIN)), (stop, Int32(POLLIN))])
            guard found[1] == 0, let accepted = try? SystemCalls.accept(listener) else {
                if found[1] != 0 { return }
                continue
            }
            let index = count
            count += 1
            host.didAccept(index)
            let socket = ServerSocket(socket: accepted, stop: connectionStop.withLock { $0 })
            // If no thread can start, the connection is closed, and the test fails because of that.
            do {
                try start { [self] in
                    // The script ended: the peer closed the connection, the server is closing, or the script closed it.
                    // `try?` because each of these ends is normal.
                    try? host.converse(on: socket, index)
                    end(socket, index)
                }
            } catch {
                end(socket, index)
            }
        }
    }

    private func end(_ socket: ServerSocket, _ index: Int) {
        socket.socket.close()
        host.didClose(index)
    }
}
