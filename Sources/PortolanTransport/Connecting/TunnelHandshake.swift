// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Asks a proxy for a way to an origin over an open connection. In the turns of its loop only.
final class TunnelHandshake: ByteConnectionReceiver {
    private var negotiation: any TunnelNegotiation
    private let proxy: Proxy
    private let transport: SocketConnection
    private var completion: ((Result<Void, LoadError>) -> Void)?
    let isIdle = false

    /// - Parameter completion: called once; where it fails, the transport is closed by the caller.
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
                    // Over HTTP and over TLS the client speaks first: it must not be taken for an answer (RFC 9112 §9.2).
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
    ///
    /// - Parameter end: what it means that the connection has ended.
    fileprivate static func negotiating(with proxy: Proxy, _ cause: SocketError?, _ end: LoadError) -> LoadError {
        alert(from: proxy.peer, cause) ?? cause?.reason.map(end.noting) ?? end
    }

    /// A proxy that was spoken to in clear answered with TLS.
    package static func answeredWithTLS(_ proxy: Proxy) -> LoadError {
        LoadError(.tunnelFailed, message: "the proxy \(proxy) answers with TLS; write https:// as its scheme")
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
