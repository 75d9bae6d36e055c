// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// Has a proxy asked for a way to an origin, and then leaves the channel.
final class TunnelHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var negotiation: any TunnelNegotiation
    private let proxy: Proxy
    private var completion: ((Result<Void, LoadError>) -> Void)?
    private var rest: ByteBuffer?

    /// - Parameter completion: called once; on success it adds the handlers that take the tunnel over.
    init(_ negotiation: any TunnelNegotiation, with proxy: Proxy, completion: @escaping (Result<Void, LoadError>) -> Void) {
        self.negotiation = negotiation
        self.proxy = proxy
        self.completion = completion
    }

    func handlerAdded(context: ChannelHandlerContext) {
        send(negotiation.greeting, context)
    }

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard completion != nil else {
            rest?.writeBuffer(&buffer)
            return
        }
        var offset = 0
        while true {
            switch step(buffer, from: &offset) {
            case .success(.needsMore): return
            case .success(.send(let bytes)): send(bytes, context)
            case .success(.established):
                // Over HTTP and over TLS the client speaks first: it must not be taken for an answer (RFC 9112 §9.2).
                guard offset == buffer.readableBytes else { return finish(.failure(spokeFirst)) }
                rest = ByteBuffer()
                finish(.success(()))
                return context.pipeline.syncOperations.removeHandler(self, promise: nil)
            case .failure(let error): return finish(.failure(error))
            }
        }
    }

    private func step(_ buffer: ByteBuffer, from offset: inout Int) -> Result<TunnelStep, LoadError> {
        unsafe buffer.withUnsafeReadableBytes { bytes in
            do throws(LoadError) {
                return .success(try negotiation.next(unsafe RawSpan(_unsafeBytes: bytes), from: &offset))
            } catch {
                return .failure(error)
            }
        }
    }

    func removeHandler(context: ChannelHandlerContext, removalToken: ChannelHandlerContext.RemovalToken) {
        if let rest, rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
        rest = nil
        context.leavePipeline(removalToken: removalToken)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(.negotiating(with: proxy, error)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(negotiation.errorAtEnd))
        context.fireChannelInactive()
    }

    private var spokeFirst: LoadError {
        LoadError(proxy.failureCode, message: "\(proxy) sent bytes after its answer before anything was sent through it")
    }

    private func finish(_ result: Result<Void, LoadError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

extension LoadError {
    /// Why a proxy that was connected to could not be asked, or did not answer.
    static func negotiating(with proxy: Proxy, _ error: any Error) -> LoadError {
        var result = connecting(to: proxy.urlHost, port: proxy.port, error).of(proxy)
        if !(error is LoadError) { result.code = proxy.failureCode }
        return result
    }
}

extension Proxy {
    /// What an error is called that lies between this proxy and us, after the connection was made.
    var failureCode: LoadError.Code {
        switch kind {
        case .http: .tunnelFailed
        case .socks5: .socksFailed
        }
    }
}
