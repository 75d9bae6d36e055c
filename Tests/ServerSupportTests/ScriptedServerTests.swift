// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import ServerSupport

@Suite(.timeLimit(.minutes(10))) struct ScriptedServerTests {
    private static let request = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func requestIsRecordedAndGetsItsResponse() throws {
        let server = try ScriptedServer(ScriptedServer.responding("HTTP/1.1 204 No Content\r\n\r\n"))
        let client = try RawClient(to: server.port)
        try client.send(Self.request)
        #expect(client.receiveAll() == ("HTTP/1.1 204 No Content\r\n\r\n", .closed))
        #expect(server.connections.map(\.text) == [Self.request])
    }

    @Test func responseIsSentAfterTheRequestHead() throws {
        let server = try ScriptedServer(ScriptedServer.responding("x"))
        let client = try RawClient(to: server.port)
        // Drops the last "\r\n", which is one character in Swift.
        try client.send(String(Self.request.dropLast()))
        #expect(!client.receives(withinMilliseconds: 20))
        try client.send("\r\n")
        #expect(client.receiveAll().text == "x")
    }

    @Test func severalTransactionsShareAConnection() throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "one"), .receiveHead, .receive(3), .send(text: "two")])
        let client = try RawClient(to: server.port)
        // Sends the second request together with the first.
        try client.send(Self.request + Self.request + "abc")
        #expect(client.receiveAll() == ("onetwo", .closed))
    }

    @Test func serverSendsByteByByte() throws {
        let server = try ScriptedServer([.sendByteByByte(Array("slowly".utf8))])
        #expect(try RawClient(to: server.port).receiveAll() == ("slowly", .closed))
    }

    @Test func gateDelaysTheResponse() async throws {
        let (requestArrived, mayRespond) = (try Gate(), try Gate())
        let server = try ScriptedServer([.receiveHead, .open(requestArrived), .wait(mayRespond), .send(text: "now")])
        let client = try RawClient(to: server.port)
        #expect(!requestArrived.isOpen)
        try client.send(Self.request)
        try await requestArrived.wait()
        #expect(!client.receives(withinMilliseconds: 20))
        mayRespond.open()
        #expect(client.receiveAll().text == "now")
    }

    @Test func resetStepResetsTheConnection() throws {
        let server = try ScriptedServer([.receiveHead, .reset])
        let client = try RawClient(to: server.port)
        try client.send(Self.request)
        #expect(client.receiveAll() == ("", .reset))
    }

    @Test func serverStillReceivesAfterAHalfClose() async throws {
        let server = try ScriptedServer([.halfClose, .receive(4), .close])
        let client = try RawClient(to: server.port)
        #expect(client.receiveAll() == ("", .closed))
        try client.send("late")
        try await server.waitUntilClosed()
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].text == "late")
    }

    @Test func serverReceivesUntilThePeerEndsSending() async throws {
        let server = try ScriptedServer([.receiveToEnd, .send(text: "all")])
        let client = try RawClient(to: server.port)
        try client.send("abc")
        client.endSending()
        #expect(client.receiveAll().text == "all")
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].text == "abc")
    }

    @Test func foreverStepEndsWhenThePeerCloses() async throws {
        let server = try ScriptedServer([.forever([.send(text: String(repeating: "x", count: 1000))])])
        let client = try RawClient(to: server.port)
        #expect(try !client.receive().isEmpty)
        client.close()
        try await server.waitUntilClosed()
    }

    @Test func stallStepEndsWhenThePeerCloses() async throws {
        let server = try ScriptedServer([.stall, .close])
        let client = try RawClient(to: server.port)
        try client.send("unread")
        try await server.waitForConnections(1)
        #expect(server.openConnections == 1)
        client.close()
        try await server.waitUntilClosed()
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].received.isEmpty)
    }

    @Test func eachConnectionRunsItsOwnScript() throws {
        let server = try ScriptedServer([.send(text: "first")], [.send(text: "other")])
        let texts = try (0..<3).map { _ in try RawClient(to: server.port).receiveAll().text }
        #expect(texts == ["first", "other", "other"])
    }

    @Test func serverRefusesConnectionsAboveItsLimit() async throws {
        let server = try ScriptedServer([], accepting: 1)
        _ = try RawClient(to: server.port).receiveAll()
        try await server.waitUntilClosed()
        // The listener can still be open here, because it closes after the script has started. But the server accepts
        // no more connections.
        let isSecondClientServed = (try? RawClient(to: server.port).receiveAll().end) == .closed
        #expect(!isSecondClientServed)
        #expect(server.connections.count == 1)
    }

    @Test(
        arguments: [[.stall], [.receiveHead], [.forever([.send([0])])], [.forever([])], [.wait(try Gate())], []] as [[ScriptedServer.Step]])
    func closingTheServerEndsEveryScript(_ script: [ScriptedServer.Step]) async throws {
        let server = try ScriptedServer(script)
        let client = try RawClient(to: server.port)
        try await server.waitForConnections(1)
        server.close()
        #expect(server.openConnections == 0)
        _ = client.receiveAll()
    }

    @Test func releasedServerClosesItsPort() throws {
        // Other tests open and close descriptors at the same time, so this test only checks its own port.
        var server: ScriptedServer? = try ScriptedServer([.stall])
        let port = try #require(server?.port)
        let client = try RawClient(to: port)
        server = nil
        #expect(client.receiveAll().text.isEmpty)
        #expect(throws: ServerError.self) { try RawClient(to: port) }
    }

    @Test func cancelledTaskStopsWaitingForAGate() async throws {
        let gate = try Gate()
        let waitingTask = Task { try await gate.wait() }
        waitingTask.cancel()
        await #expect(throws: CancellationError.self) { try await waitingTask.value }
    }

    @Test(arguments: [Loopback.ipv4, .ipv6])
    func refusingPortRefusesConnections(_ loopback: Loopback) throws {
        guard let refusing = try? RefusingPort(on: loopback) else { return }
        #expect(throws: ServerError.self) { try RawClient(to: refusing.port, on: loopback) }
    }

    @Test(arguments: [Loopback.ipv4, .ipv6])
    func blackHolePortDoesNotRespond(_ loopback: Loopback) throws {
        guard let blackHole = try? BlackHolePort(on: loopback) else { return }
        let socket = try SystemCalls.openSocket(loopback)
        try SystemCalls.connect(socket, loopback, port: blackHole.port)
        #expect(SystemCalls.wait(for: [(socket, Int32(POLLOUT))], milliseconds: 200) == [0])
    }

    @Test func serverCanUseThePortOfTheOtherAddressFamily() throws {
        guard (try? RefusingPort(on: .ipv6)) != nil else { return }
        // A port that is free in one family may be in use by another test in the other family. This is a loop because
        // `first` of a lazy filtered map calls its closure twice, and traps if the second call returns nil.
        var ports: (refusing: RefusingPort, server: ScriptedServer)?
        for _ in 0..<20 where ports == nil {
            guard let refusing = try? RefusingPort(on: .ipv6) else { continue }
            ports = (try? ScriptedServer([.send(text: "four")], port: refusing.port)).map { (refusing, $0) }
        }
        let (refusing, server) = try #require(ports)
        #expect(server.port == refusing.port)
        #expect(try RawClient(to: server.port).receiveAll().text == "four")
    }
}
