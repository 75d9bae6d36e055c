// SPDX-License-Identifier: Apache-2.0

/// A server that runs a script on each connection. A script can violate the protocol. The server has its own threads
/// and sockets, and shares no code with the tested code.
///
/// ``close()`` returns after all connections and threads have ended. `deinit` calls it.
package final class ScriptedServer: Sendable {
    package typealias Script = @Sendable (_ connection: Int) -> [Step]

    package let port: Int
    package let loopback: Loopback
    private let connectionDelegate: ScriptedConnectionDelegate
    private let acceptor: ConnectionAcceptor

    /// - Parameters:
    ///   - port: the port to bind, or 0 for one that the kernel chooses.
    ///   - limit: the number of connections after which the server stops listening. Further ones are refused.
    ///   - script: returns the steps for a connection, by its number from 0.
    package init(on loopback: Loopback = .ipv4, port: Int = 0, accepting limit: Int = .max, script: @escaping Script) throws {
        self.loopback = loopback
        connectionDelegate = ScriptedConnectionDelegate(script)
        acceptor = try ConnectionAcceptor(on: loopback, port: port, for: connectionDelegate, accepting: limit)
        self.port = acceptor.port
    }

    /// - Parameter scripts: the scripts of the first connection, the second, and so on. All further connections use the
    ///   last script.
    package convenience init(_ scripts: [Step]..., on loopback: Loopback = .ipv4, port: Int = 0, accepting limit: Int = .max) throws {
        let scripts = scripts.isEmpty ? [[]] : scripts
        try self.init(on: loopback, port: port, accepting: limit) { scripts[min($0, scripts.count - 1)] }
    }

    deinit { close() }

    /// Closes all connections and waits until all threads have ended.
    package func close() { acceptor.close() }

    package func url(_ path: String = "/") -> String { "http://\(loopback.host):\(port)\(path)" }

    // MARK: Connections

    /// All connections, in the order in which they were accepted.
    package var connections: [ScriptedConnection] { connectionDelegate.connections.state }

    package var openConnections: Int { connections.count { $0.isOpen } }

    /// Waits until `count` connections have been accepted.
    package func waitForConnections(_ count: Int) async throws {
        try await connectionDelegate.connections.wait { $0.count >= count }
    }

    /// Waits until at least `count` connections have been accepted and no connection is open.
    package func waitUntilClosed(_ count: Int = 1) async throws {
        try await connectionDelegate.connections.wait { $0.count >= count && $0.allSatisfy { !$0.isOpen } }
    }

    /// Waits until connection `index` has received `count` bytes.
    package func waitForBytes(_ count: Int, on index: Int = 0) async throws {
        try await connectionDelegate.connections.wait { $0.count > index && $0[index].received.count >= count }
    }
}

/// Runs the server's script on each connection, and records the connections.
private final class ScriptedConnectionDelegate: ConnectionDelegate {
    let connections = Observed<[ScriptedConnection]>([])
    private let script: ScriptedServer.Script

    init(_ script: @escaping ScriptedServer.Script) { self.script = script }

    func didAccept(_ index: Int) { connections.update { $0.append(ScriptedConnection()) } }

    func serve(_ socket: ServerSocket, _ index: Int) throws {
        var runner = ScriptRunner(socket, over: socket) { [connections] bytes in
            connections.update { $0[index].received += bytes }
        }
        try runner.run(script(index))
    }

    func didClose(_ index: Int) { connections.update { $0[index].isOpen = false } }
}
