// SPDX-License-Identifier: Apache-2.0

/// A server that does on each connection what a script says, right or wrong, on threads and sockets of its own. It shares no code with what it tests.
///
/// Everything of it has ended when ``close()`` returns, which it does itself when it goes.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (_ connection: Int) -> [Step]

    package let port: Int
    package let loopback: Loopback
    private let journal: Journal
    private let floor: ServerFloor

    /// - Parameters:
    ///   - port: one that the kernel gives, where it is 0.
    ///   - limit: after this many connections it stops listening, and others are refused.
    ///   - script: of each connection, by its number from 0.
    package init(on loopback: Loopback = .ipv4, port: Int = 0, accepting limit: Int = .max, script: @escaping Script) throws {
        self.loopback = loopback
        journal = Journal(script)
        floor = try ServerFloor(on: loopback, port: port, for: journal, accepting: limit)
        self.port = floor.port
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
    package var connections: [ScriptedConnection] { journal.connections.state }

    package var openConnections: Int { connections.count { $0.isOpen } }

    /// Waits until so many connections have been made.
    package func waitForConnections(_ count: Int) async throws {
        try await journal.connections.wait { $0.count >= count }
    }

    /// Waits until no connection is open, after `count` or more have been made.
    package func waitUntilClosed(_ count: Int = 1) async throws {
        try await journal.connections.wait { $0.count >= count && $0.allSatisfy { !$0.isOpen } }
    }

    /// Waits until connection `index` has received so many bytes.
    package func waitForBytes(_ count: Int, on index: Int = 0) async throws {
        try await journal.connections.wait { $0.count > index && $0[index].received.count >= count }
    }
}

/// What its scripts are, and what happened on its connections.
private final class Journal: ConnectionHost {
    let connections = Observed<[ScriptedConnection]>([])
    private let script: ScriptedServer.Script

    init(_ script: @escaping ScriptedServer.Script) { self.script = script }

    func didAccept(_ index: Int) { connections.update { $0.append(ScriptedConnection()) } }

    func converse(on socket: ServerSocket, _ index: Int) throws {
        var conversation = Conversation(socket, over: socket) { [connections] bytes in
            connections.update { $0[index].received += bytes }
        }
        try conversation.run(script(index))
    }

    func didClose(_ index: Int) { connections.update { $0[index].isOpen = false } }
}
