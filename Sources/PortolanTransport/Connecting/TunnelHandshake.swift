// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Requests a route to an origin from a proxy, over an open connection. Runs on its event loop only.
final class TunnelHandshake: ByteConnectionReceiver {
    private var negotiation: any TunnelNegotiation
    private let proxy: Proxy
    private let transport: SocketConnection
    private var completion: ((Result<Void, LoadError>) -> Void)?
    let isIdle = false

    /// - Parameter completion: called once. If the handshake failed, the caller closes the transport.
    init(
        _ negotiation: any TunnelNegotiation, with proxy: Proxy, over transport: SocketConnection,
        completion: @escaping (Result<Void, LoadError>) -> Void
    ) {
        self.negotiation = negotiation
        self.proxy = proxy
        self.transport = transport
        self.completion = completion
    }

    func start() {
        transport.hand(to: self)
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
                    // Over HTTP and over TLS the client speaks first. Early bytes must not be taken for a response
                    // (RFC 9112 §9.2).
                    guard offset == bytes.byteCount else { throw spokeFirst }
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
        finish(.failure(.negotiating(with: proxy, failure, negotiation.errorAtEnd)))
    }

    private var spokeFirst: LoadError {
        LoadError(proxy.failureCode, message: "the proxy \(proxy) sent bytes after its response, before the client sent any")
    }

    private func finish(_ result: Result<Void, LoadError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

extension LoadError {
    /// The error if a connected proxy could not be asked, or did not respond.
    ///
    /// - Parameter end: the meaning of the end of the connection.
    fileprivate static func negotiating(with proxy: Proxy, _ cause: SocketError?, _ end: LoadError) -> LoadError {
        alert(from: proxy.peer, cause) ?? cause?.reason.map(end.noting) ?? end
    }

    /// A proxy that was addressed in clear text responded with TLS.
    package static func respondsWithTLS(_ proxy: Proxy) -> LoadError {
        LoadError(.tunnelFailed, message: "the proxy \(proxy) responds with TLS; write https:// as its scheme")
    }
}

extension Proxy {
    /// The code of errors between the client and this proxy, after the connection was made.
    var failureCode: LoadError.Code {
        switch kind {
        case .http: .tunnelFailed
        case .socks5: .socksFailed
        }
    }
}
