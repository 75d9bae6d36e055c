// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import NIOTLS
import PortolanCore

/// Waits for the end of a TLS handshake, behind the handler that makes it, and then leaves the channel.
final class TLSHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    struct Outcome {
        /// What ALPN settled on (RFC 7301); `nil` where the server knows nothing of it.
        let negotiatedProtocol: String?
        let version: String?
    }

    private let key: ConnectionKey
    private var completion: ((Result<Outcome, LoadError>) -> Void)?

    init(_ key: ConnectionKey, completion: @escaping (Result<Outcome, LoadError>) -> Void) {
        self.key = key
        self.completion = completion
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        finish(.success(Outcome(negotiatedProtocol: negotiated, version: nil)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(.securing(key, error)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(LoadError(.secureConnectionFailed, message: "\(key) closed the connection during the TLS handshake")))
        context.fireChannelInactive()
    }

    private func finish(_ result: Result<Outcome, LoadError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

extension LoadError {
    /// Why the connection could not be made secure.
    static func securing(_ key: ConnectionKey, _ error: any Error) -> LoadError {
        LoadError(.secureConnectionFailed, message: "no secure connection to \(key)", cause: error)
    }
}
