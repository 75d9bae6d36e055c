// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Requests a tunnel to an origin from a proxy, over an open connection. Use it on its event loop only.
final class TunnelHandshake: ByteConnectionReceiver {
    private var negotiation: any TunnelNegotiation
    private let proxy: Proxy
    private let transport: SocketConnection
    /// Whether the server may send bytes before the client does.
    private let allowsEarlyBytes: Bool
    private var completion: ((Result<Void, LoadError>) -> Void)?
    let isIdle = false

    /// - Parameter completion: called once. If the handshake failed, the caller closes the transport.
    init(
        _ negotiation: any TunnelNegotiation, with proxy: Proxy, over transport: SocketConnection, allowsEarlyBytes: Bool,
        completion: @escaping (Result<Void, LoadError>) -> Void
    ) {
        self.negotiation = negotiation
        self.proxy = proxy
        self.transport = transport
        self.allowsEarlyBytes = allowsEarlyBytes
        self.completion = completion
    }

    func start() {
        transport.setReceiver(self)
        transport.write(negotiation.greeting)
    }

    func didReceive(_ bytes: borrowing RawSpan) {
        guard completion != nil else { return }
        var offset = 0
        do throws(LoadError) {
            while true {
                switch try negotiation.next(bytes, from: &offset) {
                case .needsMore: return
                case .send(let bytes): transport.write(bytes)
                case .established:
                    if offset < bytes.byteCount {
                        // With HTTP and with TLS the client sends first. Early bytes must not be read as a response
                        // (RFC 9112 §9.2).
                        guard allowsEarlyBytes else { throw earlyBytesError }
                        transport.unread([UInt8](copying: bytes.extracting(offset...)))
                    }
                    transport.pause()
                    return finish(.success(()))
                }
            }
        } catch {
            finish(.failure(error))
        }
    }

    func transportIsWritable() {}

    func transportDidEnd(_ failure: SocketError?) {
        finish(.failure(.negotiationFailed(with: proxy, failure, errorAtEnd: negotiation.errorAtEnd)))
    }

    private var earlyBytesError: LoadError {
        LoadError(proxy.failureCode, message: "the proxy \(proxy) sent bytes after its response, before the client sent any")
    }

    private func finish(_ result: Result<Void, LoadError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

extension LoadError {
    /// The error if the connection to the proxy ended before the proxy opened a tunnel.
    ///
    /// - Parameter errorAtEnd: the error if no other reason is known.
    fileprivate static func negotiationFailed(with proxy: Proxy, _ cause: SocketError?, errorAtEnd: LoadError) -> LoadError {
        tlsError(from: proxy.peer, cause) ?? cause?.reason.map(errorAtEnd.addingNote) ?? errorAtEnd
    }

    /// The error if the client connected to the proxy without TLS, and the proxy responded with TLS.
    package static func respondsWithTLS(_ proxy: Proxy) -> LoadError {
        LoadError(.tunnelFailed, message: "the proxy \(proxy) responds with TLS; write https:// as its scheme")
    }
}

extension Proxy {
    /// The code of errors in the negotiation with this proxy.
    var failureCode: LoadError.Code {
        switch kind {
        case .http: .tunnelFailed
        case .socks5: .socksFailed
        }
    }
}
