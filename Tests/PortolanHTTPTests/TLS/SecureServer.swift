// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import PortolanTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A server on 127.0.0.1 in this process, for one test: answers each request that it can read the head of with a fixed one. Closed by ``stop()``.
final class SecureServer: Sendable {
    enum Event: Hashable {
        case connected
        /// With the common name of the client's certificate.
        case secured(String?)
        /// The first byte of a request came, decrypted.
        case asked
        case closed
    }

    /// What is done with a connection.
    enum Behaviour {
        case answer(String)
        /// In clear, the moment that something comes.
        case clear(String)
        /// Nothing is ever said.
        case silence
        /// The connection is reset when something comes.
        case reset
        /// The connection is closed without a word when something comes.
        case close
        /// After TLS's handshake the connection is closed without close_notify, behind this answer.
        case cut(String)
        /// Over HTTP/1.1 as `answer`; over HTTP/2 each stream is reset with HTTP_1_1_REQUIRED.
        case requireHTTP1(String)
    }

    private let channel: any Channel
    private let log = Mutex<[Event]>([])
    private let connections = Mutex<[any Channel]>([])
    private let waiters = Mutex<[(Event, Int, CheckedContinuation<Void, Never>)]>([])

    static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    var port: Int { channel.localAddress?.port ?? 0 }
    var url: String { "https://127.0.0.1:\(port)/" }
    var events: [Event] { log.withLock { $0 } }

    func count(_ event: Event) -> Int { events.count { $0 == event } }

    /// - Parameter tls: `nil` for none.
    init(_ tls: TLSConfiguration?, _ behaviour: Behaviour = .answer(SecureServer.hello)) async throws {
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        let relay = Relay()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                relay.server?.connections.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.addHandler(Answering(behaviour) { relay.server?.note($0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        relay.serve(self)
    }

    convenience init(
        _ name: String, _ behaviour: Behaviour = .answer(SecureServer.hello), change: (inout TLSConfiguration) throws -> Void = { _ in }
    )
        async throws
    {
        let certificates = try certificates()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try certificates.chain(name).map { .certificate($0) }, privateKey: .privateKey(try certificates.key(name)))
        configuration.applicationProtocols = ["http/1.1"]
        try change(&configuration)
        try await self.init(configuration, behaviour)
    }

    func stop() async throws {
        closeAll()
        try await channel.close()
    }

    func closeAll() {
        for channel in connections.withLock({ $0 }) { channel.close(promise: nil) }
    }

    private func note(_ event: Event) {
        let count = log.withLock { log in
            log.append(event)
            return log.count { $0 == event }
        }
        let ready = waiters.withLock { waiters in
            defer { waiters.removeAll { $0.0 == event && $0.1 <= count } }
            return waiters.filter { $0.0 == event && $0.1 <= count }
        }
        for waiter in ready { waiter.2.resume() }
    }

    /// Returns when the event has come so often.
    func wait(for event: Event, times: Int = 1) async {
        await withCheckedContinuation { continuation in
            waiters.withLock { $0.append((event, times, continuation)) }
            guard count(event) >= times else { return }
            let taken = waiters.withLock { waiters in
                defer { waiters.removeAll { $0.0 == event && $0.1 <= times } }
                return waiters.filter { $0.0 == event && $0.1 <= times }
            }
            for waiter in taken { waiter.2.resume() }
        }
    }

    /// The server, for handlers that are made before it is.
    private final class Relay: Sendable {
        private let held = Mutex<WeakServer>(WeakServer())

        struct WeakServer { weak var server: SecureServer? }

        var server: SecureServer? { held.withLock { $0.server } }
        func serve(_ server: SecureServer) { held.withLock { $0.server = server } }
    }
}

/// The server's side of one connection.
private final class Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let behaviour: SecureServer.Behaviour
    private let note: (SecureServer.Event) -> Void
    private var request = ""

    init(_ behaviour: SecureServer.Behaviour, note: @escaping (SecureServer.Event) -> Void) {
        self.behaviour = behaviour
        self.note = note
    }

    func channelActive(context: ChannelHandlerContext) {
        note(.connected)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) { note(.closed) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let version)? = event as? TLSUserEvent {
            // `try?` because without TLS there is none.
            let peer = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            note(.secured(peer?.subjectName.first { $0.type == .commonName }?.value))
            guard case .requireHTTP1 = behaviour, version == "h2" else { return }
            do {
                let refusal = RefusingStreams { [note] in note(.asked) }
                try context.pipeline.syncOperations.addHandlers([NIOHTTP2Handler(mode: .server), refusal], position: .before(self))
            } catch {
                context.close(promise: nil)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if request.isEmpty { note(.asked) }
        request += String(buffer: unwrapInboundIn(data))
        switch behaviour {
        case .answer(let text), .requireHTTP1(let text):
            guard request.hasSuffix("\r\n\r\n") else { return }
            request = ""
            write(text, context)
        case .clear(let text):
            write(text, context)
            context.close(promise: nil)
        case .cut(let text):
            guard request.hasSuffix("\r\n\r\n") else { return }
            write(text, context)
            // Past NIOSSL, which would say close_notify.
            context.channel.pipeline.context(handlerType: NIOSSLServerHandler.self).assumeIsolated().whenSuccess { $0.close(promise: nil) }
        case .silence: break
        case .close: context.close(promise: nil)
        case .reset:
            let options = context.channel as? any SocketOptionProvider
            options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
}

/// Tells of each request over HTTP/2 that it has to come over HTTP/1.1.
private final class RefusingStreams: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let asked: () -> Void

    init(asked: @escaping () -> Void) { self.asked = asked }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard case .headers = frame.payload else { return }
        asked()
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: frame.streamID, payload: .rstStream(.http11Required))), promise: nil)
    }
}
