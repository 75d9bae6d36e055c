// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanCore
import PortolanStreams
import PortolanTestSupport
import PortolanTransport
import ServerSupport
import Synchronization
import TestThreads
import Testing

/// Accepted connections, TLS of a server, and TLS that starts later. Both ends are streams, unless a test says so.
@Suite(.blocking, .timeLimit(.minutes(2))) struct SocketListenerTests {
    private static let loopback = "127.0.0.1"

    private func connect(to listener: SocketListener, _ configuration: SocketConfiguration = SocketConfiguration()) throws -> SocketStreams
    {
        let socket = SocketStreams(toHost: Self.loopback, port: try #require(listener.port), configuration: configuration)
        open(socket)
        return socket
    }

    private func open(_ socket: SocketStreams) {
        socket.input.open()
        socket.output.open()
    }

    /// Accepts a connection, and opens its streams.
    private func accept(on listener: SocketListener) throws -> SocketStreams {
        let socket = try listener.accept()
        open(socket)
        return socket
    }

    /// Sends everything back.
    private func echo(_ socket: SocketStreams) throws {
        while case let bytes = try socket.input.read(atMost: 4096), !bytes.isEmpty { try socket.output.write(all: bytes) }
        socket.output.close()
    }

    private func settings(_ name: String = "good", _ change: (inout TLSServerSettings) -> Void = { _ in }) throws -> TLSServerSettings {
        let files = try certificates()
        var settings = TLSServerSettings(
            identity: TLSIdentity(certificatePath: files.path("\(name).pem"), keyPath: files.path("\(name).key")))
        change(&settings)
        return settings
    }

    private func secure(_ change: (inout SocketConfiguration) throws -> Void = { _ in }) throws -> SocketConfiguration {
        var configuration = SocketConfiguration.tls
        configuration.tls.trustRoots = .only([.file(path: try certificates().path("authority.pem"))])
        try change(&configuration)
        return configuration
    }

    private func clientIdentity(_ name: String) throws -> TLSIdentity {
        TLSIdentity(certificatePath: try certificates().path("\(name).pem"), keyPath: try certificates().path("\(name).key"))
    }

    // MARK: Accepting

    @Test func acceptedConnectionIsAPairOfStreams() throws {
        let listener = try SocketListener(port: 0)
        let client = try connect(to: listener)
        let server = try listener.accept()
        #expect(server.input.status == .notOpen)
        #expect(server.input.property(.remoteHost) == Self.loopback && server.output.property(.remotePort) ?? 0 > 0)
        open(server)
        try client.output.write(all: numberedBytes(100))
        client.output.close()
        #expect(try readAll(server.input) == numberedBytes(100))
        try server.output.write(all: [7])
        server.output.close()
        #expect(try readAll(client.input) == [7])
    }

    @Test(arguments: [1, 1000, 64 << 10])
    func manyBytesInBothDirections(bufferSize: Int) throws {
        let bytes = numberedBytes(bufferSize == 1 ? 500 : 1 << 20)
        var configuration = SocketListenerConfiguration()
        configuration.bufferSize = bufferSize
        let listener = try SocketListener(address: "::1", port: 0, configuration: configuration)
        let client = SocketStreams(toHost: "::1", port: try #require(listener.port))
        open(client)
        let server = try OwnThread { try echo(try accept(on: listener)) }
        let writer = try OwnThread {
            try client.output.write(all: bytes)
            client.output.close()
        }
        #expect(try readAll(client.input) == bytes)
        try writer.result()
        try server.result()
    }

    @Test func listenerOnAllAddressesAcceptsBothFamilies() throws {
        let listener = try SocketListener(address: "::", port: 0)
        for host in ["127.0.0.1", "::1"] {
            let client = SocketStreams(toHost: host, port: try #require(listener.port))
            open(client)
            let server = try accept(on: listener)
            try server.output.write(all: [1])
            #expect(try client.input.read(atMost: 1) == [1])
        }
    }

    @Test func connectionThatNobodyOpensIsClosed() throws {
        let listener = try SocketListener(port: 0)
        let client = try connect(to: listener)
        do { _ = try listener.accept() }
        #expect(try readAll(client.input) == [])
    }

    @Test func closeEndsTheSequenceAndResetsWaitingConnections() async throws {
        let listener = try SocketListener(port: 0)
        let first = try connect(to: listener)
        let hosts = Task {
            var count = 0
            for try await socket in listener.connections {
                count += 1
                open(socket)
                socket.output.close()
                #expect(try await socket.input.chunks().reduce(into: [UInt8]()) { $0 += $1 } == [1])
                listener.close()
            }
            return count
        }
        try await first.output.write([1])
        first.output.close()
        #expect(try await hosts.value == 1)
        let port = try #require(listener.port)
        let late = SocketStreams(toHost: Self.loopback, port: port)
        late.input.open()
        #expect { try late.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .cannotConnect }
        #expect { try listener.accept() } throws: { ($0 as? LoadError)?.code == .streamNotOpen }
    }

    @Test func cancelledTaskClosesTheListener() async throws {
        let listener = try SocketListener(port: 0)
        let task = Task { () -> LoadError? in
            do throws(LoadError) {
                var iterator = listener.connections.makeAsyncIterator()
                return try await iterator.next() == nil ? nil : LoadError(.unknown, message: "a connection")
            } catch {
                return error
            }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
    }

    @Test func closeWakesAThreadThatWaits() throws {
        let listener = try SocketListener(port: 0)
        let waiter = try OwnThread { () -> LoadError? in
            do throws(LoadError) {
                _ = try listener.accept()
                return nil
            } catch {
                return error
            }
        }
        listener.close()
        #expect(try waiter.result()?.code == .streamNotOpen)
    }

    @Test func eventsReportEachConnection() throws {
        let listener = try SocketListener(port: 0)
        let accepted = ConditionLock<[SocketStreams]>([])
        try listener.schedule(on: .background) { result in
            if case .success(let socket) = result { accepted.withLockBroadcasting { $0.append(socket) } }
        }
        #expect { try listener.accept() } throws: { ($0 as? LoadError)?.code == .streamInUse }
        let clients = try (0..<20).map { _ in try connect(to: listener) }
        accepted.wait { $0.count == 20 ? () : nil }
        for client in clients { client.output.close() }
        for socket in accepted.withLock({ $0 }) {
            open(socket)
            #expect(try readAll(socket.input) == [])
        }
        listener.unschedule()
        let last = try connect(to: listener)
        let socket = try accept(on: listener)
        last.output.close()
        #expect(try readAll(socket.input) == [])
    }

    @Test(arguments: [
        ("nowhere", 0, LoadError.Code.badURL), ("", 0, .badURL), ("127.0.0.1\0", 0, .badURL), ("127.0.0.1", -1, .badURL),
        ("127.0.0.1", 65536, .badURL), ("192.0.2.1", 0, .cannotConnect),
    ])
    func addressThatCannotBeUsedIsAnError(address: String, port: Int, code: LoadError.Code) {
        #expect { try SocketListener(address: address, port: port) } throws: { ($0 as? LoadError)?.code == code }
    }

    @Test func portInUseIsAnError() throws {
        let listener = try SocketListener(port: 0)
        #expect { try SocketListener(port: try #require(listener.port)) } throws: { ($0 as? LoadError)?.code == .cannotConnect }
    }

    // MARK: UNIX sockets

    @Test(arguments: [false, true])
    func unixSocketHasAPath(isSecure: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path(of: "s")
        let listener = try SocketListener(path: path, configuration: isSecure ? .tls(try settings()) : SocketListenerConfiguration())
        #expect(listener.port == nil && FileManager.default.fileExists(atPath: path))
        let server = try OwnThread { try echo(try accept(on: listener)) }
        // The certificate names localhost.
        let client = SocketStreams(toPath: path, configuration: isSecure ? try secure() : SocketConfiguration())
        open(client)
        try client.output.write(all: numberedBytes(100_000))
        client.output.close()
        #expect(try readAll(client.input) == numberedBytes(100_000))
        #expect(client.input.property(.remotePath) == path && client.input.property(.remoteHost) == nil)
        #expect((client.input.property(.tlsVersion) != nil) == isSecure)
        try server.result()
        #expect { try SocketListener(path: path) } throws: { ($0 as? LoadError)?.code == .cannotConnect }
        listener.close()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func closeKeepsTheFileOfAnotherListener() throws {
        let folder = try TemporaryFolder()
        let path = folder.path(of: "s")
        let first = try SocketListener(path: path)
        try FileManager.default.removeItem(atPath: path)
        let second = try SocketListener(path: path)
        first.close()
        #expect(FileManager.default.fileExists(atPath: path))
        second.close()
    }

    @Test(arguments: [
        ("missing", LoadError.Code.cannotConnect), ("", .badURL), ("a\0b", .badURL), (String(repeating: "x", count: 108), .badURL),
    ])
    func pathWithoutAServerFailsTheStreams(name: String, code: LoadError.Code) throws {
        let path = name == "missing" ? try TemporaryFolder().path(of: name) : name
        let socket = SocketStreams(toPath: path)
        socket.input.open()
        #expect { try socket.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == code }
    }

    // MARK: TLS of a server

    @Test(arguments: [TLSSettings.Version.tls12, .tls13])
    func secureConnectionsEchoBytes(version: TLSSettings.Version) throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings { $0.applicationProtocols = ["b", "a"] }))
        // The second connection resumes the session of the first.
        let configuration = try secure {
            $0.applicationProtocols = ["x", "a", "b"]
            ($0.tls.minimumVersion, $0.tls.maximumVersion) = (version, version)
        }
        for _ in 0..<2 {
            let server = try OwnThread {
                let socket = try accept(on: listener)
                try echo(socket)
                return (socket.input.property(.tlsVersion), socket.input.property(.applicationProtocol))
            }
            let client = try connect(to: listener, configuration)
            let writer = try OwnThread {
                try client.output.write(all: numberedBytes(1 << 20))
                client.output.close()
            }
            #expect(try readAll(client.input) == numberedBytes(1 << 20))
            try writer.result()
            let name = version == .tls12 ? "TLSv1.2" : "TLSv1.3"
            #expect(client.input.property(.tlsVersion) == name && client.input.property(.applicationProtocol) == "b")
            #expect(client.input.property(.securityLevel) == .only(version))
            #expect(try server.result() == (name, "b"))
        }
    }

    @Test func clientWithoutACommonProtocolIsRefused() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings { $0.applicationProtocols = ["a"] }))
        let client = try connect(to: listener, try secure { $0.applicationProtocols = ["x"] })
        let server = try accept(on: listener)
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
        #expect { try client.input.read(atMost: 1) } throws: {
            ($0 as? LoadError)?.message.contains("no_application_protocol") == true
        }
    }

    @Test(arguments: ["client", "client-unknown", nil], [true, false])
    func serverRequestsCertificates(name: String?, isRequired: Bool) throws {
        let roots = TrustRoots.only([.file(path: try certificates().path("authority.pem"))])
        let listener = try SocketListener(
            port: 0, configuration: .tls(try settings { $0.clientAuthentication = isRequired ? .required(roots) : .optional(roots) }))
        let client = try connect(to: listener, try secure { $0.tls.identity = try name.map(clientIdentity) })
        let server = try accept(on: listener)
        client.output.close()
        if name == "client" || name == nil && !isRequired {
            #expect(try readAll(server.input) == [])
            #expect(server.input.property(.peerCertificates)?.first?.subject == (name == nil ? nil : "A Client"))
        } else {
            #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
            // The client learns of it with its first read (RFC 8446 §4.4.2.4).
            #expect { try client.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
        }
    }

    @Test func clientInClearTextFails() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings()))
        let client = try connect(to: listener)
        try client.output.write(all: Array("GET / HTTP/1.0\r\n\r\n".utf8))
        let server = try accept(on: listener)
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.message.contains("is not TLS") == true }
    }

    @Test func silentClientFailsAfterTheTimeLimit() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings { $0.handshakeTimeout = .milliseconds(20) }))
        let client = try connect(to: listener)
        let server = try accept(on: listener)
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .timedOut }
        #expect(throws: LoadError.self) {
            while try !client.input.read(atMost: 100).isEmpty {}; throw LoadError(.truncated, message: "end")
        }
    }

    @Test(arguments: [("good", "missing"), ("good", "client"), ("text", "good")])
    func unusableIdentityFailsTheConnections(certificate: String, key: String) throws {
        let files = try certificates()
        let name = certificate == "text" ? "text.pem" : "\(certificate).pem"
        let identity = TLSIdentity(certificatePath: files.path(name), keyPath: files.path("\(key).key"))
        let listener = try SocketListener(port: 0, configuration: .tls(TLSServerSettings(identity: identity)))
        let client = try connect(to: listener, try secure())
        let server = try accept(on: listener)
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
        #expect(throws: LoadError.self) { try client.input.read(atMost: 1) }
    }

    /// Another implementation of TLS on the other side.
    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func opensslTalksToTheServer(version: String) throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings { $0.applicationProtocols = ["h2", "echo"] }))
        let server = try OwnThread { try echo(try accept(on: listener)) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "s_client", "-connect", "\(Self.loopback):\(try #require(listener.port))", "-CAfile",
            try certificates().path("authority.pem"), "-verify_return_error", "-alpn", "echo", "-quiet", "-no_ign_eof", version,
        ]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("hello\n".utf8))
        #expect(output.fileHandleForReading.readData(ofLength: 6) == Data("hello\n".utf8))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        try server.result()
        #expect(process.terminationStatus == 0)
    }

    // MARK: STARTTLS

    /// A listener whose connections agree on TLS in clear text.
    private func laterListener(_ change: (inout TLSServerSettings) -> Void = { _ in }) throws -> SocketListener {
        var configuration = SocketListenerConfiguration()
        configuration.tls = try settings("good", change)
        return try SocketListener(port: 0, configuration: configuration)
    }

    private func clearText() throws -> SocketConfiguration { try secure { $0.isSecure = false } }

    private func expect(_ text: String, on socket: SocketStreams) throws {
        var bytes: [UInt8] = []
        while bytes.count < text.utf8.count { bytes += try socket.input.read(atMost: text.utf8.count - bytes.count) }
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test func tlsStartsAfterClearText() throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try OwnThread {
            let socket = try accept(on: listener)
            try expect("STARTTLS\r\n", on: socket)
            try socket.output.write(all: Array("220 go\r\n".utf8))
            socket.startTLS()
            try echo(socket)
            return socket.input.property(.tlsVersion)
        }
        try client.output.write(all: Array("STARTTLS\r\n".utf8))
        try expect("220 go\r\n", on: client)
        #expect(client.input.property(.tlsVersion) == nil && client.input.property(.securityLevel) == SocketSecurityLevel.none)
        client.startTLS()
        let writer = try OwnThread {
            try client.output.write(all: numberedBytes(1 << 20))
            client.output.close()
        }
        #expect(try readAll(client.input) == numberedBytes(1 << 20))
        try writer.result()
        #expect(client.input.property(.tlsVersion) == "TLSv1.3" && client.input.property(.securityLevel) == .negotiated)
        #expect(try server.result() == "TLSv1.3")
    }

    /// The server calls `startTLS` after the client's handshake has arrived, and was looked at.
    @Test func handshakeMayArriveFirst() async throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        client.startTLS { _ in }
        let isThere = ConditionLock(false)
        try server.input.schedule(on: .background) { _, event in
            if event == .bytesAvailable { isThere.withLockBroadcasting { $0 = true } }
        }
        isThere.wait { $0 ? () : nil }
        server.input.unschedule()
        try await server.startTLS()
        try await server.output.write([1, 2, 3])
        server.output.close()
        #expect(try readAll(client.input) == [1, 2, 3])
    }

    /// RFC 3207 §6: what an attacker adds in clear text must not look like a part of the secure connection.
    @Test func addedClearTextFailsTheHandshake() async throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        try await client.output.write(Array("STARTTLS\r\nEVIL\r\n".utf8))
        try expect("STARTTLS\r\n", on: server)
        client.startTLS { _ in }
        await #expect { try await server.startTLS() } throws: { ($0 as? LoadError)?.message.contains("is not TLS") == true }
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
        #expect { try client.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
    }

    @Test func untrustedServerFailsBothStreams() async throws {
        var configuration = SocketListenerConfiguration()
        configuration.tls = try settings("self")
        let listener = try SocketListener(port: 0, configuration: configuration)
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        server.startTLS { _ in }
        await #expect { try await client.startTLS() } throws: { ($0 as? LoadError)?.code == .certificateNotTrusted }
        #expect { try client.output.write(all: [1]) } throws: { ($0 as? LoadError)?.code == .certificateNotTrusted }
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .secureConnectionFailed }
    }

    @Test func silentServerFailsAfterTheTimeLimit() async throws {
        let listener = try SocketListener(port: 0)
        var configuration = try clearText()
        configuration.connectTimeout = .milliseconds(50)
        let client = try connect(to: listener, configuration)
        let server = try accept(on: listener)
        try await server.output.write([1])
        #expect(try client.input.read(atMost: 1) == [1])
        await #expect { try await client.startTLS() } throws: { ($0 as? LoadError)?.code == .timedOut }
    }

    @Test func streamsMayBeClosedDuringTheHandshake() throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        try server.output.write(all: [1])
        #expect(try client.input.read(atMost: 1) == [1])
        client.startTLS()
        try client.output.write(all: numberedBytes(10_000))
        client.output.close()
        client.input.close()
        server.startTLS()
        #expect(try readAll(server.input) == numberedBytes(10_000))
    }

    @Test func peerThatEndsDuringTheHandshakeFailsIt() async throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        server.output.close()
        server.input.close()
        await #expect(throws: LoadError.self) { try await client.startTLS() }
        #expect(throws: LoadError.self) {
            try client.output.write(all: [1]); _ = try client.input.read(atMost: 1); throw LoadError(.truncated, message: "end")
        }
    }

    @Test func tlsCannotStart() async throws {
        let listener = try SocketListener(port: 0)
        let client = SocketStreams(toHost: Self.loopback, port: try #require(listener.port), configuration: try clearText())
        await #expect { try await client.startTLS() } throws: { ($0 as? LoadError)?.code == .connectionLost }
        open(client)
        let server = try accept(on: listener)
        await #expect { try await server.startTLS() } throws: { ($0 as? LoadError)?.code == .badRequest }
        try server.output.write(all: [1])
        #expect(try client.input.read(atMost: 1) == [1])
        client.output.close()
        await #expect { try await client.startTLS() } throws: { ($0 as? LoadError)?.code == .connectionLost }

        let secureListener = try SocketListener(port: 0, configuration: .tls(try settings()))
        let secureClient = try connect(to: secureListener, try secure())
        let secureServer = try accept(on: secureListener)
        try await secureServer.output.write([1])
        #expect(try secureClient.input.read(atMost: 1) == [1])
        await #expect { try await secureClient.startTLS() } throws: { ($0 as? LoadError)?.code == .badRequest }
    }

    /// The stream's own handler writes as soon as the connection is open, if that is after the call of `startTLS()`.
    @Test func nothingIsWrittenInClearTextBeforeTLS() throws {
        let listener = try SocketListener(port: 0)
        for _ in 0..<50 {
            let hasStarted = Mutex(false)
            let client = SocketStreams(toHost: Self.loopback, port: try #require(listener.port), configuration: try clearText())
            try client.output.schedule(on: .immediate) { output, event in
                if event == .spaceAvailable, hasStarted.withLock({ $0 }) { _ = try? output.write(Array("PASSWORD".utf8).span) }
            }
            client.output.open()
            client.startTLS()
            hasStarted.withLock { $0 = true }
            let server = try accept(on: listener)
            // The type of a TLS record with a handshake (RFC 8446 §5.1).
            #expect(try server.input.read(atMost: 1) == [22])
        }
    }

    @Test func nothingIsWrittenInClearTextAfterTheCall() throws {
        let listener = try SocketListener(port: 0)
        for _ in 0..<200 {
            let client = try connect(to: listener, try clearText())
            let server = try accept(on: listener)
            try client.output.write(all: [1])
            client.startTLS()
            try client.output.write(all: Array("PASSWORD".utf8))
            var bytes: [UInt8] = []
            while bytes.count < 2 { bytes += try server.input.read(atMost: 2 - bytes.count) }
            #expect(bytes == [1, 22])
        }
    }

    @Test(arguments: [false, true])
    func completionComesIfTheStreamsAreClosedAtOnce(isAccepted: Bool) async throws {
        let listener = try laterListener()
        for _ in 0..<100 {
            let client = SocketStreams(toHost: Self.loopback, port: try #require(listener.port), configuration: try clearText())
            if isAccepted { client.input.open() }
            let socket = isAccepted ? try listener.accept() : client
            let error: LoadError? = await withCheckedContinuation { continuation in
                open(socket)
                socket.startTLS { continuation.resume(returning: $0) }
                socket.input.close()
                socket.output.close()
                client.input.close()
                client.output.close()
            }
            #expect(error != nil)
        }
    }

    @Test func secondStartOfTLSIsRefused() async throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        client.startTLS { _ in }
        await #expect { try await client.startTLS() } throws: { ($0 as? LoadError)?.code == .badRequest }
        try await server.startTLS()
        let secureListener = try SocketListener(port: 0, configuration: .tls(try settings()))
        let secureClient = try connect(to: secureListener, try secure())
        let secureServer = try accept(on: secureListener)
        await #expect { try await secureServer.startTLS() } throws: { ($0 as? LoadError)?.code == .badRequest }
        try await secureServer.output.write([1])
        #expect(try secureClient.input.read(atMost: 1) == [1])
    }

    /// The first connection of a listener waits for the TLS context.
    @Test func inputMayBeClosedBeforeTheHandshake() throws {
        for _ in 0..<5 {
            let listener = try SocketListener(port: 0, configuration: .tls(try settings { $0.handshakeTimeout = .seconds(20) }))
            let client = try connect(to: listener, try secure())
            let server = try accept(on: listener)
            server.input.close()
            try server.output.write(all: Array("banner".utf8))
            server.output.close()
            #expect(try readAll(client.input) == Array("banner".utf8))
        }
    }

    @Test func connectionThatIsClosedAtOnceEndsProperly() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings()))
        let client = try connect(to: listener, try secure())
        let server = try accept(on: listener)
        server.input.close()
        server.output.close()
        #expect(try readAll(client.input) == [])
    }

    @Test func secureListenerNeedsSettings() {
        var configuration = SocketListenerConfiguration()
        configuration.isSecure = true
        #expect { try SocketListener(port: 0, configuration: configuration) } throws: { ($0 as? LoadError)?.code == .badRequest }
        #expect { try SocketListener(path: "/tmp/x", configuration: configuration) } throws: { ($0 as? LoadError)?.code == .badRequest }
    }

    @Test func largeBufferIsNotAllocatedAtOnce() throws {
        var configuration = SocketListenerConfiguration()
        configuration.bufferSize = .max
        let listener = try SocketListener(port: 0, configuration: configuration)
        let client = try connect(to: listener)
        let server = try accept(on: listener)
        try client.output.write(all: [1, 2])
        client.output.close()
        #expect(try readAll(server.input) == [1, 2])
    }

    /// A handler that leaves the peer's handshake to `startTLS` still learns of the bytes after it.
    @Test func bytesAfterTheHandshakeAreReported() async throws {
        let listener = try laterListener()
        let client = try connect(to: listener, try clearText())
        let server = try accept(on: listener)
        let log = EventLog()
        let isSecure = Atomic(false)
        try server.input.schedule(on: .background) { input, event in
            log.record(event) {
                if event == .bytesAvailable, isSecure.load(ordering: .acquiring) { _ = try? input.read(atMost: 10) }
            }
        }
        client.startTLS { _ in }
        log.wait { $0.contains(.bytesAvailable) }
        isSecure.store(true, ordering: .releasing)
        try await server.startTLS()
        try await client.output.write([1])
        client.output.close()
        log.waitForEnd()
        #expect(log.events.last == .endEncountered && log.events.filter { $0 == .bytesAvailable }.count == 2)
    }

    /// Security level 2 of OpenSSL refuses the key.
    @Test func weakKeyIsNamed() throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.path(of: "weak.pem"), folder.path(of: "weak.key"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "rsa:1024", "-nodes", "-subj", "/CN=weak", "-keyout", key, "-out", certificate,
        ]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        process.waitUntilExit()
        let identity = TLSIdentity(certificatePath: certificate, keyPath: key)
        let listener = try SocketListener(port: 0, configuration: .tls(TLSServerSettings(identity: identity)))
        let client = try connect(to: listener, try secure())
        let server = try accept(on: listener)
        #expect { try server.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.message.contains(certificate) == true }
        client.input.close()
    }

    // MARK: Properties

    @Test func acceptedConnectionsHaveThePropertiesOfTheirListener() throws {
        let listener = try SocketListener(address: "::", port: 0, configuration: .tls(try settings { $0.minimumVersion = .tls13 }))
        let client = try connect(to: listener, try secure())
        let server = try listener.accept()
        #expect(server.input.property(.securityLevel) == .only(.tls13) && server.input.property(.remoteHost) == Self.loopback)
        #expect(server.input.property(.proxy) == nil && server.output.property(.networkServiceType) == nil)
        open(server)
        server.output.close()
        #expect(try readAll(client.input) == [])
        #expect(server.input.property(.securityLevel) == .only(.tls13))
    }

    @Test func settingsAreProperties() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings()))
        let client = SocketStreams(toHost: Self.loopback, port: try #require(listener.port))
        var tls = TLSSettings()
        tls.trustRoots = .only([.file(path: try certificates().path("authority.pem"))])
        try client.input.setProperty(tls, for: .tlsSettings)
        try client.output.setProperty(.only(.tls12), for: .securityLevel)
        try client.output.setProperty(.background, for: .networkServiceType)
        #expect(client.input.property(.securityLevel) == .only(.tls12) && client.input.property(.networkServiceType) == .background)
        open(client)
        let server = try accept(on: listener)
        try server.output.write(all: [1])
        #expect(try client.input.read(atMost: 1) == [1])
        #expect(client.input.property(.tlsVersion) == "TLSv1.2" && client.input.property(.peerTrustError) == nil)
        #expect { try client.output.setProperty(.none, for: .securityLevel) } throws: {
            ($0 as? LoadError)?.code == .streamPropertyNotSettable
        }
        #expect { try server.output.setProperty(.direct, for: .proxy) } throws: { ($0 as? LoadError)?.code == .streamPropertyNotSettable }
    }

    @Test func proxyIsAProperty() throws {
        let servers = try TestServers.shared
        let listener = try SocketListener(port: 0)
        let client = SocketStreams(toHost: Self.loopback, port: try #require(listener.port))
        let proxy = "socks5://\(servers.user):\(servers.password)@127.0.0.1:\(try servers.endpoint(.socksLocked).port)"
        try client.input.setProperty(.proxy(proxy), for: .proxy)
        #expect(client.output.property(.proxy) == .proxy(proxy))
        open(client)
        let server = try accept(on: listener)
        try server.output.write(all: [9])
        #expect(try client.input.read(atMost: 1) == [9])
    }

    /// As a mail server does. The bytes of the server arrive with the proxy's response.
    @Test(arguments: [false, true], [1, 100_000])
    func serverCanSendFirstThroughAnHTTPProxy(isSecure: Bool, count: Int) throws {
        let proxy = try SocketListener(port: 0, configuration: isSecure ? .tls(try settings()) : SocketListenerConfiguration())
        let server = try OwnThread {
            let socket = try accept(on: proxy)
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) { head += try socket.input.read(atMost: 1) }
            try socket.output.write(all: Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + numberedBytes(count))
            #expect(try socket.input.read(atMost: 1) == [7])
            socket.output.close()
        }
        var configuration = try clearText()
        configuration.tls = try secure().tls
        configuration.proxy = .proxy("\(isSecure ? "https" : "http")://localhost:\(try #require(proxy.port))")
        let client = SocketStreams(toHost: "mail.test", port: 25, configuration: configuration)
        open(client)
        try client.output.write(all: [7])
        #expect(try readAll(client.input) == numberedBytes(count))
        try server.result()
    }

    @Test(arguments: [false, true])
    func serverCanSendFirstThroughASOCKSProxyUnlessItUsesTLS(usesTLS: Bool) throws {
        let proxy = try ScriptedServer([
            .receive(3), .send([5, 0]), .receive(16), .send([5, 0, 0, 1, 127, 0, 0, 1, 0, 25] + Array("220 mail".utf8)), .receive(1),
        ])
        var configuration = try usesTLS ? secure() : clearText()
        configuration.proxy = .proxy("socks5h://127.0.0.1:\(proxy.port)")
        let client = SocketStreams(toHost: "mail.test", port: 25, configuration: configuration)
        open(client)
        if usesTLS {
            #expect { try readAll(client.input) } throws: { ($0 as? LoadError)?.code == .socksFailed }
        } else {
            try client.output.write(all: [7])
            #expect(try readAll(client.input) == Array("220 mail".utf8))
        }
    }

    /// The certificate has another name than the host.
    @Test func serverNameIsTheNameInTheCertificate() throws {
        let listener = try SocketListener(port: 0, configuration: .tls(try settings("misnamed")))
        for name in ["other.test", nil] {
            let client = try connect(to: listener, try secure { $0.serverName = name })
            let server = try accept(on: listener)
            if name == nil {
                #expect { try client.input.read(atMost: 1) } throws: { ($0 as? LoadError)?.code == .certificateNotTrusted }
            } else {
                try server.output.write(all: [1])
                #expect(try client.input.read(atMost: 1) == [1])
            }
        }
    }
}
