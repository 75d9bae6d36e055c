// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import PortolanCore
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server on loopback, without TLS, that does with each frame what the test says.
final class FrameServer: Sendable {
    typealias Script = @Sendable (Connection, HTTP2Frame) -> Void

    let port: Int
    private let channel: any Channel
    private let seen: Seen

    final class Seen: Sendable {
        struct Counts {
            var connections = 0
            var openConnections = 0
            var openStreams = 0
            var mostStreams = 0
            var goodbyes = 0
            /// Bytes of content that were written to the socket, by stream.
            var written: [Int32: Int] = [:]
        }
        let counts = Monitor(Counts())
    }

    var counts: Seen.Counts { seen.counts.withLock { $0 } }

    func wait(until condition: (Seen.Counts) -> Bool) {
        seen.counts.wait { condition($0) ? () : nil }
    }

    /// One connection of a client; its streams by their numbers. On its event loop only.
    final class Connection: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        /// Counted from 0.
        let number: Int
        fileprivate var context: ChannelHandlerContext?
        private let seen: Seen
        private let script: Script

        fileprivate init(_ number: Int, _ seen: Seen, _ script: @escaping Script) {
            self.number = number
            self.seen = seen
            self.script = script
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            if case .goAway = frame.payload { seen.counts.signalling { $0.goodbyes += 1 } }
            script(self, frame)
            context.flush()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case is NIOHTTP2StreamCreatedEvent:
                seen.counts.signalling {
                    $0.openStreams += 1
                    $0.mostStreams = max($0.mostStreams, $0.openStreams)
                }
            case is StreamClosedEvent: seen.counts.signalling { $0.openStreams -= 1 }
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            seen.counts.signalling { $0.openConnections -= 1 }
            self.context = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func write(_ stream: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload, then: (() -> Void)? = nil) {
            guard let context else { return }
            let promise = then.map { then in
                let promise = context.eventLoop.makePromise(of: Void.self)
                promise.futureResult.assumeIsolated().whenSuccess(then)
                return promise
            }
            context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: promise)
        }

        func answer(_ stream: HTTP2StreamID, _ status: Int = 200, ends: Bool = true) {
            write(stream, .headers(.init(headers: [":status": String(status)], endStream: ends)))
        }

        func send(_ stream: HTTP2StreamID, _ bytes: [UInt8], ends: Bool = true) {
            write(stream, .data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: ends))) { [seen] in
                seen.counts.signalling { $0.written[Int32(stream), default: 0] += bytes.count }
            }
        }

        func reset(_ stream: HTTP2StreamID, _ code: NIOHTTP2.HTTP2ErrorCode) { write(stream, .rstStream(code)) }

        func allowNoStreams(refusing stream: HTTP2StreamID) {
            write(.rootStream, .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: 0)])))
            reset(stream, .refusedStream)
        }

        func goAway(last: HTTP2StreamID) { write(.rootStream, .goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)) }

        func close() { context?.close(promise: nil) }
    }

    init(streams: Int = 100, script: @escaping Script) throws {
        let seen = Seen()
        self.seen = seen
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = seen.counts.signalling { counts in
                        counts.connections += 1
                        counts.openConnections += 1
                        return counts.connections - 1
                    }
                    var settings = NIOHTTP2Handler.ConnectionConfiguration()
                    settings.initialSettings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: streams)]
                    settings.maximumRecentlyResetStreams = 4095
                    var limits = NIOHTTP2Handler.StreamConfiguration()
                    limits.streamResetFrameRateLimit.maximumCount = 100_000
                    let machine = NIOHTTP2Handler(mode: .server, connectionConfiguration: settings, streamConfiguration: limits)
                    try channel.pipeline.syncOperations.addHandlers([machine, Connection(number, seen, script)])
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    func request(_ path: String = "/") throws -> Request {
        var request = try Request("http://127.0.0.1:\(port)\(path)")
        request[HTTPVersionChoice.self] = .http2
        return request
    }
}

extension HTTP2Frame {
    /// Whether the client's request is complete with it.
    var endsRequest: Bool {
        switch payload {
        case .headers(let headers): headers.endStream
        case .data(let data): data.endStream
        default: false
        }
    }
}
