// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore

/// A server that does on each connection what a script says, right or wrong, on threads and sockets of its own. It shares no code with what it tests.
///
/// Everything of it has ended when ``close()`` returns, which it does itself when it goes.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (_ connection: Int) -> [Step]

    package let port: Int
    package let loopback: Loopback
    private let floor: Floor

    /// - Parameters:
    ///   - port: one that the kernel gives, where it is 0.
    ///   - limit: after so many connections it listens no more, and others are refused.
    ///   - script: of each connection, by its number from 0.
    package init(on loopback: Loopback = .ipv4, port: Int = 0, accepting limit: Int = .max, script: @escaping Script) throws {
        let listener = try SystemCalls.boundSocket(loopback, port: port)
        try SystemCalls.listen(listener, backlog: 4096)
        self.loopback = loopback
        self.port = try SystemCalls.port(of: listener)
        floor = try Floor(script: script)
        try floor.start { [floor] in floor.accept(from: listener, atMost: limit) }
    }

    /// - Parameter scripts: of the first connection, the second, and so on; the last is also that of all others.
    package convenience init(_ scripts: [Step]..., on loopback: Loopback = .ipv4, port: Int = 0, accepting limit: Int = .max) throws {
        let scripts = scripts.isEmpty ? [[]] : scripts
        try self.init(on: loopback, port: port, accepting: limit) { scripts[min($0, scripts.count - 1)] }
    }

    deinit { close() }

    /// Closes all its connections, and waits until its threads have ended.
    package func close() { floor.close() }

    package func url(_ path: String = "/") -> String { "http://\(loopback.host):\(port)\(path)" }

    // MARK: What happened

    /// In the order in which they were made.
    package var connections: [ScriptedConnection] { floor.connections.state }

    package var openConnections: Int { connections.count { $0.isOpen } }

    /// Waits until so many connections have been made.
    package func waitForConnections(_ count: Int) async throws {
        try await floor.connections.wait { $0.count >= count }
    }

    /// Waits until no connection is open, after `count` or more have been made.
    package func waitUntilClosed(_ count: Int = 1) async throws {
        try await floor.connections.wait { $0.count >= count && $0.allSatisfy { !$0.isOpen } }
    }

    /// Waits until connection `index` has received so many bytes.
    package func waitForBytes(_ count: Int, on index: Int = 0) async throws {
        try await floor.connections.wait { $0.count > index && $0[index].received.count >= count }
    }
}

/// What the threads of a server share. They hold it, but not the server, which can so go while they run.
private final class Floor: Sendable {
    let connections = Observed<[ScriptedConnection]>([])
    private let script: ScriptedServer.Script
    private let stop: Descriptor
    private let threads = Monitor(0)

    init(script: @escaping ScriptedServer.Script) throws {
        self.script = script
        stop = try SystemCalls.event()
    }

    func start(_ body: @escaping @Sendable () -> Void) throws {
        threads.withLock { $0 += 1 }
        do {
            try PlatformThread.start { [threads] in
                body()
                threads.signalling { $0 -= 1 }
            }
        } catch {
            threads.signalling { $0 -= 1 }
            throw error
        }
    }

    func close() {
        SystemCalls.signal(stop)
        threads.wait { $0 == 0 ? () : nil }
    }

    func accept(from listener: Descriptor, atMost limit: Int) {
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
            connections.update { $0.append(ScriptedConnection()) }
            // Where no thread can be had the connection is closed, and the test fails on that.
            do {
                try start { [self] in converse(on: accepted, index) }
            } catch {
                accepted.close()
                connections.update { $0[index].isOpen = false }
            }
        }
    }

    private func converse(on socket: Descriptor, _ index: Int) {
        var conversation = Conversation(socket: socket, stop: stop) { [connections] bytes in
            connections.update { $0[index].received += bytes }
        }
        conversation.run(script(index))
        connections.update { $0[index].isOpen = false }
    }
}
