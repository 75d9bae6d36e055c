// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanStreams
import PortolanTransport
import ServerSupport
import Synchronization
import TestThreads
import Testing

@Suite(.blocking, .timeLimit(.minutes(2))) struct SocketStreamsTests {
    /// Opens both streams.
    private func connect(to port: Int, _ configuration: SocketConfiguration = SocketConfiguration()) -> SocketStreams {
        let socket = SocketStreams(toHost: "127.0.0.1", port: port, configuration: configuration)
        socket.input.open()
        socket.output.open()
        return socket
    }

    /// TLS with the authority of the test certificates.
    private func secure(_ change: (inout SocketConfiguration) throws -> Void = { _ in }) async throws -> SocketConfiguration {
        var configuration = SocketConfiguration.tls
        let authority = try await inOwnThread { try certificates().path("authority.pem") }
        configuration.tls.trustRoots = .only([.file(path: authority)])
        try change(&configuration)
        return configuration
    }

    // MARK: Both directions

    @Test func serverMayEndItsDirectionFirst() async throws {
        let server = try ScriptedServer([.send(text: "hello"), .halfClose, .receiveToEnd])
        let socket = connect(to: server.port)
        #expect(try readAll(socket.input) == Array("hello".utf8))
        #expect(socket.input.status == .atEnd && socket.output.status == .open)
        let bytes = numberedBytes(1 << 20)
        try socket.output.write(all: bytes)
        socket.output.close()
        try await server.waitUntilClosed()
        #expect(server.connections.first?.received == bytes)
    }

    @Test func clientMayEndItsDirectionFirst() async throws {
        let server = try ScriptedServer([.receiveToEnd, .send(text: "got it"), .close])
        let socket = connect(to: server.port)
        try socket.output.write(all: [1, 2, 3])
        socket.output.close()
        #expect(try readAll(socket.input) == Array("got it".utf8))
        #expect(server.connections.first?.received == [1, 2, 3])
        socket.input.close()
        try await server.waitUntilClosed()
    }

    /// Both directions are larger than all buffers, and each side waits for the other.
    @Test(arguments: [1, 1000, 64 << 10])
    func smallBuffersMoveManyBytes(bufferSize: Int) async throws {
        let bytes = numberedBytes(bufferSize == 1 ? 500 : bufferSize == 1000 ? 100_000 : 3 << 20)
        let server = try ScriptedServer([.receive(bytes.count), .send(bytes), .close])
        var configuration = SocketConfiguration()
        configuration.bufferSize = bufferSize
        let socket = connect(to: server.port, configuration)
        try await socket.output.write(bytes)
        var received: [UInt8] = []
        for try await chunk in socket.input.chunks() { received += chunk }
        #expect(received == bytes)
        #expect(server.connections.first?.received == bytes)
    }

    @Test func closedStreamsCloseTheConnection() async throws {
        let server = try ScriptedServer([.forever([.send(numberedBytes(1000))])])
        let socket = connect(to: server.port)
        #expect(try socket.input.read(atMost: 10).count == 10)
        socket.input.close()
        socket.output.close()
        try await server.waitUntilClosed()
    }

    @Test func releasedStreamsCloseTheConnection() async throws {
        let server = try ScriptedServer([.stall])
        do {
            let socket = connect(to: server.port)
            try await server.waitForConnections(1)
            #expect(socket.output.status != .closed)
        }
        try await server.waitUntilClosed()
    }

    @Test func onlyOneStreamIsUsed() async throws {
        let server = try ScriptedServer([.send(text: "x"), .receiveToEnd])
        let input = SocketStreams(toHost: "127.0.0.1", port: server.port).input
        input.open()
        // The output was released without being opened.
        #expect(try input.read(atMost: 9) == [UInt8(ascii: "x")])
        input.close()
        try await server.waitUntilClosed()
    }

    @Test func outputMayBeClosedWhileTheConnectionIsMade() async throws {
        let server = try ScriptedServer([.receiveToEnd, .send(text: "bye"), .close])
        let socket = connect(to: server.port)
        socket.output.close()
        #expect(try readAll(socket.input) == Array("bye".utf8))
    }

    @Test func releasedOutputIsNoProperEnd() async throws {
        let server = try ScriptedServer([.receive(1), .stall])
        let input: ByteInputStream
        do {
            let socket = connect(to: server.port)
            try await socket.output.write([1])
            input = socket.input
        }
        #expect { try readAll(input) } throws: { ($0 as? LoadError)?.code == .connectionLost }
        try await server.waitUntilClosed()
    }

    /// The connection is paused, so only a write shows that it was reset.
    @Test func writerOfAPausedConnectionLearnsOfAReset() async throws {
        let server = try ScriptedServer([.receive(1), .send(numberedBytes(300_000)), .receive(1), .reset])
        var configuration = SocketConfiguration()
        configuration.bufferSize = 1000
        let socket = connect(to: server.port, configuration)
        #expect {
            while true { try socket.output.write(all: numberedBytes(1000)) }
        } throws: {
            ($0 as? LoadError)?.code == .connectionLost
        }
    }

    // MARK: Failures

    @Test(arguments: [
        ("127.0.0.1", 1, LoadError.Code.cannotConnect), ("127.0.0.1", 0, .badURL), ("127.0.0.1", 65536, .badURL), ("a b", 80, .badURL),
        ("h/x", 80, .badURL), ("u@h", 80, .badURL), ("host.invalid", 80, .nameNotFound),
    ])
    func hostThatCannotBeReachedFailsBothStreams(host: String, port: Int, code: LoadError.Code) throws {
        let socket = SocketStreams(toHost: host, port: port)
        let log = EventLog()
        try socket.input.schedule(on: .background) { _, event in log.record(event) }
        socket.input.open()
        log.waitForEnd()
        guard case .errorOccurred(let error) = log.events.first else { return #expect(Bool(false), "\(log.events)") }
        #expect(error.code == code && log.events.count == 1, "\(error)")
        socket.output.open()
        #expect { try socket.output.write(all: [1]) } throws: { ($0 as? LoadError)?.code == code }
    }

    @Test func resetFailsBothStreams() async throws {
        let server = try ScriptedServer([.receive(1), .reset])
        let socket = connect(to: server.port)
        try socket.output.write(all: [1])
        #expect { try readAll(socket.input) } throws: { ($0 as? LoadError)?.code == .connectionLost }
        #expect { try socket.output.write(all: [1]) } throws: {
            let error = $0 as? LoadError
            return error?.code == .connectionLost && error?.message.contains("was lost: Connection reset by peer") == true
        }
    }

    @Test func closeEndsAnAttempt() async throws {
        let port = try BlackHolePort()
        let socket = connect(to: port.port)
        let error = try OwnThread { () -> LoadError? in
            do throws(LoadError) {
                _ = try socket.input.read(atMost: 1)
                return nil
            } catch {
                return error
            }
        }
        #expect(socket.input.status == .opening)
        socket.input.close()
        socket.output.close()
        #expect(try error.result()?.code == .streamNotOpen)
    }

    // MARK: TLS

    @Test func secureStreamsEchoBytes() async throws {
        let server = try await SecureServer("good", .script([.receive(3), .send(text: "bye"), .receiveToEnd]))
        let socket = connect(to: server.port, try await secure { $0.applicationProtocols = ["http/1.1"] })
        try socket.output.write(all: Array("GET\r\n\r\nabc".utf8))
        #expect(try socket.input.read(atMost: 100) == Array("bye".utf8))
        #expect(socket.input.property(.tlsVersion) == "TLSv1.3")
        #expect(socket.output.property(.applicationProtocol) == "http/1.1")
        #expect(socket.input.property(.peerCertificates)?.first?.subject == "good.test")
        #expect(socket.input.property(.remoteHost) == "127.0.0.1" && socket.input.property(.remotePort) == server.port)
        socket.output.close()
        #expect(try readAll(socket.input) == [])
        try await server.stop()
    }

    @Test func untrustedServerFailsTheStreams() async throws {
        let server = try await SecureServer("self")
        let socket = connect(to: server.port, try await secure())
        #expect { try socket.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .certificateNotTrusted }
        #expect(socket.input.property(.tlsVersion) == nil)
        try await server.stop()
    }

    @Test(arguments: [true, false])
    func programDecidesAboutTrust(isTrusted: Bool) async throws {
        let server = try await SecureServer("self", .script([.send(text: "hi")]))
        let socket = connect(
            to: server.port,
            try await secure {
                $0.onChallenge = { challenge in challenge.answer(isTrusted ? .use(.serverTrust) : .cancel) }
            })
        if isTrusted {
            try socket.output.write(all: Array("GET\r\n\r\n".utf8))
            #expect(try socket.input.read(atMost: 2) == Array("hi".utf8))
        } else {
            #expect { try socket.output.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .authenticationCancelled }
        }
        socket.input.close()
        socket.output.close()
        try await server.stop()
    }

    /// Without close_notify, bytes can be missing (RFC 8446 §6.1).
    @Test func endWithoutCloseNotifyIsAnError() async throws {
        let server = try await SecureServer("good", .respondWithoutCloseNotify("part"))
        let socket = connect(to: server.port, try await secure())
        try socket.output.write(all: Array("GET\r\n\r\n".utf8))
        #expect(try socket.input.read(atMost: 100) == Array("part".utf8))
        #expect { try socket.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .connectionLost }
        try await server.stop()
    }

    @Test(arguments: [false, true])
    func manyBytesInBothDirections(isSecure: Bool) async throws {
        let bytes = numberedBytes(2 << 20)
        let behaviour = SecureServer.Behaviour.script([.receive(bytes.count), .send(bytes), .receiveToEnd])
        let server = try await isSecure ? SecureServer("good", behaviour) : SecureServer(nil, behaviour)
        let socket = connect(to: server.port, isSecure ? try await secure() : SocketConfiguration())
        try await socket.output.write(Array("GET\r\n\r\n".utf8))
        try await socket.output.write(bytes)
        socket.output.close()
        #expect(try readAll(socket.input) == bytes)
        try await server.stop()
    }

    // MARK: Proxies

    @Test(arguments: [TestServer.socksOpen, .socksLocked], ["socks5", "socks5h"])
    func socksProxyConnects(proxy: TestServer, scheme: String) throws {
        let servers = try TestServers.shared
        let server = try ScriptedServer([.receive(1), .send(text: "through"), .close])
        let user = proxy == .socksLocked ? "\(servers.user):\(servers.password)@" : ""
        var configuration = SocketConfiguration()
        configuration.proxy = .proxy("\(scheme)://\(user)127.0.0.1:\(try servers.endpoint(proxy).port)")
        let socket = connect(to: server.port, configuration)
        try socket.output.write(all: [1])
        #expect(try readAll(socket.input) == Array("through".utf8))
    }

    @Test func wrongPasswordOfAProxyFailsTheStreams() throws {
        let servers = try TestServers.shared
        var configuration = SocketConfiguration()
        configuration.proxy = .proxy("socks5://x:y@127.0.0.1:\(try servers.endpoint(.socksLocked).port)")
        let socket = connect(to: 9, configuration)
        #expect { try socket.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .socksFailed }
    }

    @Test func malformedProxyFailsTheStreams() throws {
        var configuration = SocketConfiguration()
        configuration.proxy = .proxy("ftp://h")
        let socket = connect(to: 9, configuration)
        #expect { try socket.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .proxyNotFound }
    }
}
