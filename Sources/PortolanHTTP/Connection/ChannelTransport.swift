// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// A channel as a transport: the last handler of its pipeline, on its event loop only.
final class ChannelTransport: ByteTransport {
    let loop: any SerialLoop
    private let receiver: any ByteReceiver
    private var context: ChannelHandlerContext?
    private var failure: (any Error)?
    private var isPaused = false
    private var hasEnded = false

    init(on loop: any SerialLoop, for receiver: any ByteReceiver) {
        self.loop = loop
        self.receiver = receiver
    }

    var isWritable: Bool { context?.channel.isWritable ?? false }
    var isWatched: Bool { true }
    var isAlive: Bool { !hasEnded }

    func write(_ bytes: ByteBuffer) { context?.write(NIOAny(bytes), promise: nil) }
    func flush() { context?.flush() }
    func send(_ bytes: ByteBuffer) { context?.writeAndFlush(NIOAny(bytes), promise: nil) }
    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        context?.read()
    }

    func close() { context?.close(promise: nil) }
}

extension ChannelTransport: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        unsafe buffer.withUnsafeReadableBytes { bytes in receiver.didReceive(unsafe RawSpan(_unsafeBytes: bytes)) }
    }

    /// The channel asks for more whenever it can; a paused one has none of that.
    func read(context: ChannelHandlerContext) {
        if !isPaused { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { receiver.transportIsWritable() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        receiver.transportDidEnd(failure)
    }
}
