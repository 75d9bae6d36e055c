// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOTLS

/// Stands before NIOSSL's handler, and says whose bytes come.
final class TLSHandshakeMark: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    weak var handshake: TLSHandshake?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let handshake else { return context.fireChannelRead(data) }
        handshake.whileCurrent { context.fireChannelRead(data) }
    }

    func leave() {
        handshake = nil
        context?.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}

/// Stands behind NIOSSL's handler: tells the handshake how it goes, and holds what comes until somebody takes it.
final class TLSHandshakeGate: ChannelInboundHandler, ChannelOutboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// Kept alive as long as the handshake lasts.
    var handshake: TLSHandshake?
    private var context: ChannelHandlerContext?
    private var held: [NIOAny] = []
    private var wantsRead = false
    private var isDone = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { (self.context, handshake) = (nil, nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent, !isDone else {
            return context.fireUserInboundEventTriggered(event)
        }
        isDone = true
        handshake?.didComplete(negotiated)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { held.append(data) }

    func channelReadComplete(context: ChannelHandlerContext) {}

    /// After the handshake nothing is read before the answers; during it, the handshake has to be.
    func read(context: ChannelHandlerContext) {
        if isDone { wantsRead = true } else { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        handshake?.didFail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        handshake?.didClose()
        context.fireChannelInactive()
    }

    func leave() {
        guard let context else { return }
        let bytes = held
        held = []
        for data in bytes { context.fireChannelRead(data) }
        if !bytes.isEmpty { context.fireChannelReadComplete() }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        if wantsRead { context.channel.read() }
    }
}
