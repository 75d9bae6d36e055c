// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
import Synchronization

/// Serves the connections of a ``ConnectionAcceptor``. A delegate must not retain its acceptor.
protocol ConnectionDelegate: AnyObject, Sendable {
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
    private let delegate: any ConnectionDelegate
    /// Readable once the server closes.
    private let stopEvent: FileDescriptor
    /// The event that stops the open connections. ``closeConnections()`` replaces the event for later connections.
    private let connectionStopEvent: Mutex<FileDescriptor>
    private let threadCount = Mutex(0)
    /// Opens when all threads have ended. The first thread starts the threads of the connections. The first thread ends
    /// only when no further thread can start, so the count cannot reach 0 too early.
    private let allThreadsEnded: Gate

    /// - Parameter limit: the number of connections after which the server stops listening. The kernel refuses further
    ///   connections.
    init(on loopback: Loopback, port: Int, for delegate: any ConnectionDelegate, accepting limit: Int) throws {
        let listener = try SystemCalls.boundSocket(loopback, port: port)
        try SystemCalls.listen(listener, backlog: 4096)
        self.port = try SystemCalls.port(of: listener)
        self.delegate = delegate
        stopEvent = try SystemCalls.event()
        connectionStopEvent = Mutex(try SystemCalls.event())
        allThreadsEnded = try Gate()
        try startThread { [self] in accept(from: listener, atMost: limit) }
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

    /// Closes the open connections. The server still accepts new connections.
    func closeConnections() throws {
        let newEvent = try SystemCalls.event()
        SystemCalls.signal(
            connectionStopEvent.withLock { event in
                defer { event = newEvent }
                return event
            })
    }

    private func signalStop() {
        SystemCalls.signal(stopEvent)
        SystemCalls.signal(connectionStopEvent.withLock { $0 })
    }

    private func startThread(running function: @escaping @Sendable () -> Void) throws {
        threadCount.withLock { $0 += 1 }
        do {
            try PlatformThread.start { [self] in
                function()
                threadDidEnd()
            }
        } catch {
            threadDidEnd()
            throw error
        }
    }

    private func threadDidEnd() {
        let isLastThread = threadCount.withLock {
            $0 -= 1
            return $0 == 0
        }
        if isLastThread { allThreadsEnded.open() }
    }

    private func accept(from listener: FileDescriptor, atMost limit: Int) {
        defer { listener.close() }
        var count = 0
        while count < limit {
            let events = SystemCalls.wait(for: [(listener, Int32(POLLIN)), (stopEvent, Int32(POLLIN))])
            guard events[1] == 0, let descriptor = try? SystemCalls.accept(listener) else {
                if events[1] != 0 { return }
                continue
            }
            let index = count
            count += 1
            delegate.didAccept(index)
            let socket = ServerSocket(descriptor: descriptor, stopEvent: connectionStopEvent.withLock { $0 })
            // If no thread can start, the acceptor closes the connection, and the test fails.
            do {
                try startThread { [self] in
                    // `try?` because an error is a normal end: the peer closed the connection, the server is closing,
                    // or the script closed the connection.
                    try? delegate.serve(socket, index)
                    close(socket, index)
                }
            } catch {
                close(socket, index)
            }
        }
    }

    private func close(_ socket: ServerSocket, _ index: Int) {
        socket.descriptor.close()
        delegate.didClose(index)
    }
}
