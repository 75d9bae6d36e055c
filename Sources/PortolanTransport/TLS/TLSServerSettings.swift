// SPDX-License-Identifier: Apache-2.0

/// Settings of a TLS server.
///
/// Files are read when the first connection is secured. If a file can't be used, the connections fail, and the message
/// names the file.
public struct TLSServerSettings: Sendable {
    /// Whether the server requests certificates of its clients.
    public enum ClientAuthentication: Hashable, Sendable {
        case none
        /// Clients may have no certificate. A certificate that does not lead to one of the roots ends the handshake.
        case optional(TrustRoots)
        /// As ``optional(_:)``, but a client without a certificate can't connect.
        case required(TrustRoots)
    }

    /// The server's certificate, its chain and its key.
    public var identity: TLSIdentity
    public var minimumVersion = TLSSettings.Version.tls12
    public var maximumVersion = TLSSettings.Version.tls13
    /// The protocols for ALPN (RFC 7301), the preferred one first. The server chooses the first that the client offers.
    /// If the client offers others only, the handshake fails (§3.2). Empty: the server does not answer the offer.
    public var applicationProtocols: [String] = []
    public var clientAuthentication = ClientAuthentication.none
    /// The time limit for the handshake.
    public var handshakeTimeout = Duration.seconds(30)

    public init(identity: TLSIdentity) {
        self.identity = identity
    }
}
