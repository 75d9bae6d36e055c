// SPDX-License-Identifier: Apache-2.0

import PortolanCore

@testable import PortolanHTTP
@testable import PortolanTransport

/// An HTTP/2 connection of the client without a socket and a thread. The test is the server: it sends bytes with
/// ``send(_:)``, and reads the client's ``frames``.
final class HTTP2ConnectionFixture {
    let loop = InMemoryEventLoop()
    let transport: FakeByteConnection
    let connection: HTTP2Connection
    /// The pool of the connection; `nil` after ``dropPool()``.
    private(set) var pool: ConnectionPool?
    private let decoder = HPACKDecoder()
    private var unparsedBytes: [UInt8] = []
    private var parsedWriteCount = 0
    private var remainingPrefaceBytes = 24
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

    /// Starts a transaction, and parses the frames that the client sends.
    @discardableResult
    func start(_ transaction: RecordingTransaction) -> any HTTPStream {
        let stream = connection.beginTransaction(transaction)
        stream.sendRequest()
        read()
        return stream
    }

    /// Delivers the bytes to the client, and parses the frames that the client sends in response.
    func send(_ bytes: [UInt8]) {
        transport.deliver(bytes)
        read()
    }

    func sendByteByByte(_ bytes: [UInt8]) {
        for byte in bytes { send([byte]) }
    }

    func dropPool() { pool = nil }

    /// Closes the connection as the server.
    func endConnection() {
        transport.end()
        loop.run()
    }

    func advance(by time: Duration) {
        loop.advanceTime(by: time)
        read()
    }

    /// Runs the event loop, and appends what the client has written to ``frames``.
    func read() {
        loop.run()
        for bytes in transport.writes.dropFirst(parsedWriteCount) { unparsedBytes += bytes }
        parsedWriteCount = transport.writes.count
        let prefaceByteCount = min(remainingPrefaceBytes, unparsedBytes.count)
        unparsedBytes.removeFirst(prefaceByteCount)
        remainingPrefaceBytes -= prefaceByteCount
        var start = 0
        while unparsedBytes.count - start >= 9 {
            let length = Int(unparsedBytes[start]) << 16 | Int(unparsedBytes[start + 1]) << 8 | Int(unparsedBytes[start + 2])
            guard unparsedBytes.count - start >= 9 + length else { break }
            let stream = unparsedBytes[start + 5..<start + 9].reduce(0) { $0 << 8 | Int($1) }
            let payload = Array(unparsedBytes[start + 9..<start + 9 + length])
            frames.append(ClientFrame(type: unparsedBytes[start + 3], flags: unparsedBytes[start + 4], stream: stream, payload: payload))
            start += 9 + length
        }
        unparsedBytes.removeFirst(start)
    }

    // MARK: What the client sent

    /// The fields of the request's head, decoded from the HEADERS (1) and CONTINUATION (9) frames of the stream.
    func fields(stream: Int = 1) throws -> [HPACKDecoder.Field] {
        let block = frames.filter { ($0.type == 1 || $0.type == 9) && $0.stream == stream }
        return try decoder.decode(block.flatMap(\.payload))
    }

    /// The payloads of the DATA (0) frames of the stream.
    func body(stream: Int = 1) -> [UInt8] {
        frames.filter { $0.type == 0 && $0.stream == stream }.flatMap(\.payload)
    }

    /// The error code of the client's RST_STREAM (3) frame; `nil` if the client has not reset the stream.
    func resetCode(stream: Int = 1) -> Int? {
        frames.first { $0.type == 3 && $0.stream == stream }?.value
    }

    /// The error code of the client's last GOAWAY (7) frame; `nil` if the client has sent none.
    var goAwayCode: Int? {
        frames.last { $0.type == 7 }.map { $0.payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    }

    /// The sum of the increments in the client's WINDOW_UPDATE (8) frames for the stream. Stream 0 is the connection.
    func windowIncrement(stream: Int) -> Int {
        frames.filter { $0.type == 8 && $0.stream == stream }.reduce(0) { $0 + $1.value }
    }
}
