// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP2
import PortolanCore

extension HTTP2Stream {
    /// How much of a body is handed over at once: two pieces, so that the next is ready when one has been written.
    private static let mostInFlight = 2 * Upload.pieceSize

    func send(_ head: HTTP2RequestHead) {
        guard let exchange, let number else { return }
        sentBytes += Int64(head.byteCount)
        let hasBody = exchange.outgoing.framing.hasBody && exchange.upload != nil
        connection.send(.headers(.init(headers: head.block, endStream: !hasBody)), on: number)
        guard hasBody else { return exchange.requestIsSent() }
        guard exchange.outgoing.expectsContinue, let loop = connection.context?.eventLoop else {
            sending = .body
            return pump()
        }
        sending = .expecting
        timer = loop.assumeIsolated().scheduleTask(in: TimeAmount(connection.expectation.wait)) { [weak self] in self?.goAhead() }
    }

    /// The body may be sent.
    func goAhead() {
        guard case .expecting = sending else { return }
        stopTimer()
        sending = .body
        pump()
    }

    /// Hands over as much of the body as there is and the stream takes: nothing more before what was handed over has left, for which the
    /// server has to give window and the socket has to take it.
    private func pump() {
        guard let current = exchange, let upload = current.upload, let context = connection.context else { return }
        while case .body = sending, exchange === current, bytesInFlight < Self.mostInFlight, let number {
            let loop = context.eventLoop
            let call = StreamCall(self)
            switch upload.next(context.channel.allocator, whenReady: { loop.execute { call.run { $0.pump() } } }) {
            case .bytes(let piece):
                let count = piece.readableBytes
                bytesInFlight += count
                write(piece, isLast: false, on: number, context) { stream in
                    stream.bytesInFlight -= count
                    stream.sentBytes += Int64(count)
                    stream.exchange?.didSend(bodyBytes: count)
                    stream.pump()
                }
            case .wait: return
            case .failed(let error):
                reset(.internalError)
                return fail(error, fate: .seen)
            case .end:
                sending = .ending
                write(ByteBuffer(), isLast: true, on: number, context) { stream in
                    guard case .ending = stream.sending else { return }
                    stream.sending = .done
                    stream.exchange?.requestIsSent()
                }
            }
        }
    }

    private func write(
        _ bytes: ByteBuffer, isLast: Bool, on number: Int32, _ context: ChannelHandlerContext, then: @escaping (HTTP2Stream) -> Void
    ) {
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { [weak self] in
            if let self { then(self) }
        }
        connection.send(.data(.init(data: .byteBuffer(bytes), endStream: isLast)), on: number, promise: promise)
    }
}

/// A call of a stream from any thread; it is not kept alive for it.
private final class StreamCall: @unchecked Sendable {  // … because the stream is touched on its event loop only
    private weak var stream: HTTP2Stream?

    init(_ stream: HTTP2Stream) { self.stream = stream }

    func run(_ body: (HTTP2Stream) -> Void) {
        if let stream { body(stream) }
    }
}
