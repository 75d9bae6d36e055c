// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
import Synchronization

/// Handles the connections of a ``ConnectionAcceptor``. A host must not retain the acceptor.
protocol ConnectionHost: AnyObject, Sendable {
    /// - Parameter index: the connection's number, from 0.
    func didAccept(_ index: Int)
    /// Runs on the connection's thread. The acceptor closes the connection when this method returns or throws.
    func serve(_ socket: ServerSocket, _ index: Int) throws
    func didClose(_ index: Int)
}

/// State that the threads of a server share. The threads retain this object and not the server, so that the server can
/// be released while they run.
final class ConnectionAcceptor: Sendable {
    let port: Int
    private let host: any ConnectionHost
    /// Readable once the server closes.
    private let stop: FileDescriptor
    /// The event that stops the current connections and the connections of the future.
    private let connectionStop: Mutex<FileDescriptor>
    private let threadCount = Mutex(0)
    /// Open when all threads have ended. The first thread starts the other threads, and ends only when no further
    /// thread can start.
    private let allThreadsEnded: Gate

    /// - Parameter limit: after this many connections the server stops listening, and further connections are refused.
    init(on loopback: Loopback, port: Int, for host: any ConnectionHost, accepting limit: Int) throws {
        let listener = try SystemCalls.boundSocket(loopback, port: port)
        try SystemCalls.listen(listener, backlog: 4096)
        self.port = try SystemCalls.port(of: listener)
        self.host = host
        stop = try SystemCalls.event()
        connectionStop = Mutex(try SystemCalls.event())
        allThreadsEnded = try Gate()
        try start { [self] in accept(from: listener, atMost: limit) }
    }

    /// Closes the listener and all connections. Blocks until all threads have ended.
    func close() {
        signalStop()
        _ = SystemCalls.wait(for: [(allThreadsEnded.event, Int32(POLLIN))])
    }

    /// Does the same as ``close()`` without blocking a thread.
    func closeAsync() async throws {
        signalStop()
        try await allThreadsEnded.wait()
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

    private func signalStop() {
        SystemCalls.signal(stop)
        SystemCalls.signal(connectionStop.withLock { $0 })
    }

    private func start(_ body: @escaping @Sendable () -> Void) throws {
        threadCount.withLock { $0 += 1 }
        do {
            try PlatformThread.start { [self] in
                body()
                threadDidEnd()
            }
        } catch {
            threadDidEnd()
            throw error
        }
    }

    private func threadDidEnd() {
        let isLast = threadCount.withLock {
            $0 -= 1
            return $0 == 0
        }
        if isLast { allThreadsEnded.open() }
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
            // If no thread can start, the acceptor closes the connection, and the test fails.
            do {
                try start { [self] in
                    // `try?` because an error is a normal end: the peer closed the connection, the server is closing,
                    // or the script closed the connection.
                    try? host.serve(socket, index)
                    close(socket, index)
                }
            } catch {
                close(socket, index)
            }
        }
    }

    private func close(_ socket: ServerSocket, _ index: Int) {
        socket.socket.close()
        host.didClose(index)
    }
}
