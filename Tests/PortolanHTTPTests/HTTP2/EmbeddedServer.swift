// SPDX-License-Identifier: Apache-2.0

import PortolanCore

@testable import PortolanHTTP
@testable import PortolanTransport

/// An HTTP/2 connection in memory. The test is the server, and controls every byte. There is no socket and no thread.
final class EmbeddedServer {
    let loop = InMemoryEventLoop()
    let transport: FakeByteConnection
    let connection: HTTP2Connection
    /// The pool of the connection.
    private(set) var pool: ConnectionPool?
    private let decoder = HPACKDecoder()
    private var unread: [UInt8] = []
    private var readWriteCount = 0
    private var prefaceBytesLeft = 24
    /// The frames that the client has sent.
    private(set) var frames: [ClientFrame] = []

    /// - Parameter sendsSettings: whether the server sends its settings, and acknowledges the client's settings.
    init(configuration: HTTPConfiguration = HTTPConfiguration(), sendsSettings: Bool = true) throws {
        let key = ConnectionKey(isSecure: true, host: "example.org", port: 443, proxy: nil)
        connection = HTTP2Connection(key: key, configuration: configuration, report: TransferReport(networkProtocol: "h2"), trust: nil)
        transport = FakeByteConnection(on: loop, for: connection)
        let pool = ConnectionPool(
            on: loop, limits: configuration.connectionLimits, limiter: ConnectionLimiter(1), connector: FakeConnector()
        ) {}
        connection.attach(to: pool, over: transport)
        self.pool = pool
        if sendsSettings { send(ServerFrames.settings() + ServerFrames.settingsAcknowledgement) }
    }

    /// An open connection retains itself.
    deinit { endConnection() }

    var isOpen: Bool { transport.isOpen }

    /// Starts a transaction, and reads the frames that the client sends.
    @discardableResult
    func start(_ transaction: RecordingTransaction) -> any HTTPStream {
        let stream = connection.beginTransaction(transaction)
        stream.sendRequest()
        read()
        return stream
    }

    func send(_ bytes: [UInt8]) {
        transport.deliver(bytes)
        read()
    }

    func sendByteByByte(_ bytes: [UInt8]) {
        for byte in bytes { send([byte]) }
    }

    func dropPool() { pool = nil }

    func endConnection() {
        transport.end()
        loop.run()
    }

    func advance(by time: Duration) {
        loop.advanceTime(by: time)
        read()
    }

    func read() {
        loop.run()
        for bytes in transport.writes.dropFirst(readWriteCount) { unread += bytes }
        readWriteCount = transport.writes.count
        let prefaceCount = min(prefaceBytesLeft, unread.count)
        unread.removeFirst(prefaceCount)
        prefaceBytesLeft -= prefaceCount
        var start = 0
        while unread.count - start >= 9 {
            let length = Int(unread[start]) << 16 | Int(unread[start + 1]) << 8 | Int(unread[start + 2])
            guard unread.count - start >= 9 + length else { break }
            let stream = unread[start + 5..<start + 9].reduce(0) { $0 << 8 | Int($1) }
            let payload = Array(unread[start + 9..<start + 9 + length])
            frames.append(ClientFrame(type: unread[start + 3], flags: unread[start + 4], stream: stream, payload: payload))
            start += 9 + length
        }
        unread.removeFirst(start)
    }

    // MARK: What the client sent

    /// The fields of the request's head, decoded from all frames of the stream.
    func fields(stream: Int = 1) throws -> [HPACKDecoder.Field] {
        let block = frames.filter { ($0.type == 1 || $0.type == 9) && $0.stream == stream }
        return try decoder.decode(block.flatMap(\.payload))
    }

    func body(stream: Int = 1) -> [UInt8] {
        frames.filter { $0.type == 0 && $0.stream == stream }.flatMap(\.payload)
    }

    /// The code with which the client reset the stream.
    func resetCode(stream: Int = 1) -> Int? {
        frames.first { $0.type == 3 && $0.stream == stream }?.value
    }

    /// The code of the client's GOAWAY.
    var goAwayCode: Int? {
        frames.last { $0.type == 7 }.map { $0.payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    }

    func windowIncrement(stream: Int) -> Int {
        frames.filter { $0.type == 8 && $0.stream == stream }.reduce(0) { $0 + $1.value }
    }
}
