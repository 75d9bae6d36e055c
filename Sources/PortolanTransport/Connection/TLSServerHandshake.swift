// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Performs the server's side of a TLS handshake on an open connection. Use it on the socket's event loop only.
final class TLSServerHandshake: @unchecked Sendable {  // … because only code on its event loop uses it
    private let context: TLSServerContext
    private let clientName: String
    private let loop: any EventLoop
    private var completion: ((Result<TLSProperties, LoadError>) -> Void)?
    private weak var transport: SocketConnection?
    private var session: TLSSession?
    private var identity: LoadedIdentity?
    private var clientChain: [[UInt8]] = []

    /// - Parameters:
    ///   - clientName: the name of the client in a message.
    ///   - completion: called once, on the event loop, unless the handshake is cancelled. The caller must then call
    ///     ``SocketConnection/setReceiver(_:)``, or close the connection if the handshake failed.
    init(
        _ context: TLSServerContext, with clientName: String, on loop: any EventLoop,
        completion: @escaping (Result<TLSProperties, LoadError>) -> Void
    ) {
        (self.context, self.clientName, self.loop, self.completion) = (context, clientName, loop, completion)
    }

    /// Starts the handshake after all written bytes were sent.
    func start(on transport: SocketConnection) {
        self.transport = transport
        context.contexts.context(offering: context.settings.applicationProtocols, on: loop) { [self] in start(with: $0) }
    }

    private func start(with context: Result<TLSContext, LoadError>) {
        guard completion != nil else { return }
        guard let transport else { return connectionClosed() }
        do throws(LoadError) {
            let context = try context.get()
            identity = context.identity
            let session = try TLSSession(context, over: transport.recordTransport, as: .server, delegate: self)
            self.session = session
            transport.start(session, for: self)
        } catch {
            finish(.failure(error))
        }
    }

    /// Stops the handshake without a completion. The caller closes the connection.
    func cancel() { finish(nil) }

    private func finish(_ result: Result<TLSProperties, LoadError>?) {
        guard let completion else { return }
        self.completion = nil
        if let result { completion(result) }
    }

    private func fail(_ reason: String) {
        finish(.failure(LoadError(.secureConnectionFailed, message: "no secure connection to \(clientName): \(reason)")))
    }
}

extension TLSServerHandshake: TLSHandshakeDriver {
    func proceed() -> HandshakeWait {
        guard let session, completion != nil else { return .nothing }
        switch session.handshake() {
        case .done:
            finish(
                .success(
                    TLSProperties(version: session.version, applicationProtocol: session.negotiatedProtocol, chain: clientChain)))
            return .nothing
        case .wantsRead: return .reading
        case .wantsWrite: return .writing
        case .awaitsDelegate: return .nothing
        case .failed(let error):
            fail(error.phraseOfServer)
            return .nothing
        }
    }

    func peerClosed() { fail("it closed the connection in the TLS handshake") }

    func connectionClosed() {
        finish(.failure(LoadError(.cancelled, message: "the connection to \(clientName) was closed before it was secure")))
    }
}

extension TLSServerHandshake: TLSSessionDelegate {
    func session(_ session: TLSSession, didReceive chain: [[UInt8]], _ chainError: ChainError?) -> Bool? {
        clientChain = chain
        return chainError == nil
    }

    func session(_ session: TLSSession, identityFor issuers: [[UInt8]]) -> ClientIdentityChoice? { identity.map { .show($0) } }
}

extension SocketError {
    /// The reason why a handshake with a client failed.
    fileprivate var phraseOfServer: String {
        switch self {
        case .system(let number): LoadError.text(of: number)
        case .closedWithoutNotice: "it closed the connection in the TLS handshake"
        case .flooded: "it sent too many TLS messages that carry no data"
        case .tls(let error): error.phraseOfServer
        }
    }
}
