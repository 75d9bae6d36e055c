// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Opens connections for a pool. Use it on the pool's event loop only.
final class HTTPConnector: Connector {
    private let configuration: HTTPConfiguration
    private let connector: ByteConnector

    init(_ configuration: HTTPConfiguration, over connector: ByteConnector) {
        self.configuration = configuration
        self.connector = connector
    }

    func offersMultiplexing(for key: ConnectionKey) -> Bool {
        switch key.version {
        case .http1_0, .http1: false
        case .http2: true
        case nil: key.isSecure && configuration.allowsHTTP2
        }
    }

    func connect(
        to key: ConnectionKey, in pool: ConnectionPool, for owner: any ConnectionRequester,
        completion: @escaping (Result<any PooledConnection, LoadError>) -> Void
    ) -> any ConnectionAttempt {
        connector.attempt(to: key.endpoint(allowsHTTP2: configuration.allowsHTTP2), for: owner) { [weak owner] step in
            owner?.didReach(step)
        } completion: { [configuration] result in
            completion(
                result.flatMap { opened in
                    do throws(LoadError) {
                        return .success(try opened.connection(key, configuration, in: pool))
                    } catch {
                        return .failure(error)
                    }
                })
        }
    }
}

extension ByteConnectionAttempt: ConnectionAttempt {}

extension HTTPConfiguration {
    var transport: TransportConfiguration {
        var transport = TransportConfiguration()
        transport.connectTimeout = connectionLimits.connectTimeout
        transport.tls = tls
        transport.readSize = receiveBufferSize
        transport.userAgent = userAgent
        transport.limits = messageLimits
        transport.overrides = connectionOverrides
        transport.networkServiceType = networkServiceType
        return transport
    }
}

extension ConnectionKey {
    fileprivate func endpoint(allowsHTTP2: Bool) -> Endpoint {
        Endpoint(peer, through: proxy, usesTunnel: !usesAbsoluteForm, applicationProtocols: isSecure ? protocols(allowsHTTP2) : nil)
    }

    /// The protocols that ALPN offers (RFC 7301), the preferred one first.
    private func protocols(_ allowsHTTP2: Bool) -> [String] {
        switch version {
        case .http1_0, .http1: ["http/1.1"]
        case .http2: ["h2"]
        case nil: allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        }
    }
}

extension OpenConnection {
    /// Makes the HTTP connection, and attaches it to the pool.
    fileprivate func connection(
        _ key: ConnectionKey, _ configuration: HTTPConfiguration, in pool: ConnectionPool
    ) throws(LoadError) -> any PooledConnection {
        if key.isSecure, key.version == .http2, security?.applicationProtocol != "h2" {
            transport.close()
            throw LoadError(.cannotConnect, message: "\(key) does not offer HTTP/2", remedy: .useHTTP1)
        }
        let report = report(for: key)
        switch report.networkProtocol {
        case "h2", "h2c":
            let connection = HTTP2Connection(key: key, configuration: configuration, report: report, trust: security?.trust)
            transport.setReceiver(connection)
            connection.attach(to: pool, over: transport)
            return connection
        default:
            let connection = HTTP1Connection(key: key, configuration: configuration, report: report, trust: security?.trust)
            transport.setReceiver(connection)
            connection.attach(to: pool, over: transport)
            return connection
        }
    }

    private func report(for key: ConnectionKey) -> TransferReport {
        let negotiated = key.isSecure ? security?.applicationProtocol ?? "http/1.1" : key.version == .http2 ? "h2c" : "http/1.1"
        var report = TransferReport(networkProtocol: negotiated)
        report.proxy = key.proxy.map { "\($0)" }
        report.proxyTLSVersion = proxySecurity?.version
        report.isProxyTLSResumed = proxySecurity?.isResumed == true
        report.remoteAddress = remoteAddress
        report.localAddress = localAddress
        report.tlsVersion = security?.version
        report.isTLSResumed = security?.isResumed == true
        return report
    }
}
