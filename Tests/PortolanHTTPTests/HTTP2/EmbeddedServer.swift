// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHPACK
import PortolanCore

@testable import PortolanHTTP

/// An HTTP/2 connection whose other end is the test: no socket, no thread, every byte as the test wants it.
final class EmbeddedServer {
    let channel = EmbeddedChannel()
    let connection: HTTP2Connection
    /// Where the connection belongs.
    private(set) var pool: ConnectionPool?
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var unread: [UInt8] = []
    private var magicLeft = 24
    /// Of the client, so far.
    private(set) var frames: [ClientFrame] = []

    /// - Parameter isGreeting: whether the settings have been exchanged.
    init(configuration: HTTPConfiguration = HTTPConfiguration(), isGreeting: Bool = true) throws {
        let key = ConnectionKey(isSecure: true, host: "example.org", port: 443, proxy: nil)
        connection = HTTP2Connection(key: key, configuration: configuration, report: TransferReport(networkProtocol: "h2"), trust: nil)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/server")).wait()
        try connection.add(to: channel)
        let pool = ConnectionPool(
            on: ThreadLoop(channel.eventLoop), limits: configuration.connections, budget: ConnectionBudget(1), connector: FakeConnector()
        ) {}
        connection.join(pool)
        self.pool = pool
        if isGreeting { send(ServerFrames.settings() + ServerFrames.settingsAcknowledgement) }
    }

    /// A channel that is not closed holds itself.
    deinit { endConnection() }

    /// Starts an exchange and reads what it sends.
    @discardableResult
    func start(_ exchange: RecordingExchange) -> any ExchangeCarrier {
        let carrier = connection.makeCarrier(for: exchange)
        carrier.start()
        read()
        return carrier
    }

    func send(_ bytes: [UInt8]) {
        // An error is the connection's to hear, and is told to the exchanges.
        do { try channel.writeInbound(ByteBuffer(bytes: bytes)) } catch {}
        read()
    }

    func sendByteByByte(_ bytes: [UInt8]) {
        for byte in bytes { send([byte]) }
    }

    func dropPool() { pool = nil }

    func endConnection() {
        if channel.isActive { channel.close(promise: nil) }
        channel.embeddedEventLoop.run()
    }

    func read() {
        channel.embeddedEventLoop.run()
        while let data = try? channel.readOutbound(as: IOData.self), case .byteBuffer(let buffer) = data {
            unread += buffer.readableBytesView
        }
        let magic = min(magicLeft, unread.count)
        unread.removeFirst(magic)
        magicLeft -= magic
        while unread.count >= 9 {
            let length = Int(unread[0]) << 16 | Int(unread[1]) << 8 | Int(unread[2])
            guard unread.count >= 9 + length else { return }
            let stream = unread[5..<9].reduce(0) { $0 << 8 | Int($1) }
            frames.append(ClientFrame(type: unread[3], flags: unread[4], stream: stream, payload: Array(unread[9..<9 + length])))
            unread.removeFirst(9 + length)
        }
    }

    // MARK: What the client sent

    func fields(stream: Int = 1) throws -> [(String, String)] {
        guard let frame = frames.first(where: { $0.type == 1 && $0.stream == stream }) else { return [] }
        var buffer = ByteBuffer(bytes: frame.payload)
        return try decoder.decodeHeaders(from: &buffer).map { ($0.name, $0.value) }
    }

    func body(stream: Int = 1) -> [UInt8] {
        frames.filter { $0.type == 0 && $0.stream == stream }.flatMap(\.payload)
    }

    /// The code with which the client reset the stream.
    func resetCode(stream: Int = 1) -> Int? {
        frames.first { $0.type == 3 && $0.stream == stream }?.value
    }

    /// The code with which the client said goodbye.
    var goAwayCode: Int? {
        frames.last { $0.type == 7 }.map { $0.payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    }

    func windowGiven(stream: Int) -> Int {
        frames.filter { $0.type == 8 && $0.stream == stream }.reduce(0) { $0 + $1.value }
    }
}
