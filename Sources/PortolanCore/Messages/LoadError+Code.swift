// SPDX-License-Identifier: Apache-2.0

extension LoadError {
    /// The kind of failure: a number that is the same in all releases and in plugins (`portolan_code` in
    /// `portolan/error.h`).
    ///
    /// The set is open: a later release can add codes, and a plugin can define codes under its ``LoadError/domain``.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
    }
}

extension LoadError.Code {
    /// The cause is not known.
    public static let unknown = Self(rawValue: -1)
    /// The URL is malformed for its scheme.
    public static let badURL = Self(rawValue: -2)
    /// No handler accepts this request.
    public static let unsupportedScheme = Self(rawValue: -3)
    /// The handler does not support a method, field or property of the request.
    public static let badRequest = Self(rawValue: -4)
    /// Nothing exists at that URL.
    public static let notFound = Self(rawValue: -5)
    /// The resource exists, but this process has no permission to read it.
    public static let accessDenied = Self(rawValue: -6)
    /// The URL names a directory.
    public static let isDirectory = Self(rawValue: -7)
    /// The file is a FIFO, a socket or a device.
    public static let notRegularFile = Self(rawValue: -8)
    /// The range lies outside the resource.
    public static let rangeNotSatisfiable = Self(rawValue: -9)
    /// The caller cancelled the load.
    public static let cancelled = Self(rawValue: -10)
    /// A time limit was reached.
    public static let timedOut = Self(rawValue: -11)
    /// The limit on redirects was reached.
    public static let tooManyRedirects = Self(rawValue: -12)
    /// The target of a redirect is malformed or not allowed.
    public static let badRedirect = Self(rawValue: -13)
    /// A credential is missing or was rejected.
    public static let authenticationRequired = Self(rawValue: -14)
    /// The answer to a challenge was ``ChallengeAnswer/cancel``.
    public static let authenticationCancelled = Self(rawValue: -15)
    /// The request's body could not be read, or not be read again.
    public static let bodyFailed = Self(rawValue: -16)
    /// DNS has no address for the host.
    public static let nameNotFound = Self(rawValue: -17)
    /// No connection could be made.
    public static let cannotConnect = Self(rawValue: -18)
    /// The connection ended before the response was complete.
    public static let connectionLost = Self(rawValue: -19)
    /// TLS failed.
    public static let secureConnectionFailed = Self(rawValue: -20)
    /// The response violates its protocol.
    public static let badResponse = Self(rawValue: -21)
    /// Fewer bytes arrived than were announced.
    public static let truncated = Self(rawValue: -22)
    /// The content coding is malformed, or a transfer coding is unknown.
    public static let decodingFailed = Self(rawValue: -23)
    /// A configured size or ratio limit was reached.
    public static let limitExceeded = Self(rawValue: -24)
    /// Loads are nested deeper than the limit.
    public static let nestedTooDeep = Self(rawValue: -25)
    /// Reading or writing failed. The message contains errno.
    public static let ioFailed = Self(rawValue: -26)
    /// Memory could not be allocated.
    public static let noMemory = Self(rawValue: -27)
    /// No file descriptor, thread or connection slot is free.
    public static let noResources = Self(rawValue: -28)
    /// Portolan does not support the request in this configuration, for example ``CachePolicy/onlyCached`` without a
    /// cache.
    public static let notOffered = Self(rawValue: -29)
    /// A handler violated a rule of the contract. The message starts with the rule's ID.
    public static let protocolViolation = Self(rawValue: -30)
    /// The library or manifest can't be used.
    public static let pluginNotLoadable = Self(rawValue: -31)
    /// The plugin's set-up failed.
    public static let pluginRefused = Self(rawValue: -32)
    /// The server's certificate is not trusted: by its authority, its names or its dates.
    public static let certificateNotTrusted = Self(rawValue: -33)
    /// The certificates of the trusted authorities can't be read.
    public static let trustRootsUnusable = Self(rawValue: -34)
    /// The client's certificate or its private key can't be read, or they do not belong together.
    public static let clientCertificateUnusable = Self(rawValue: -35)
    /// The server closed the connection without a response.
    public static let emptyResponse = Self(rawValue: -36)
    /// DNS has no address for the proxy's host, or the proxy's URL is malformed.
    public static let proxyNotFound = Self(rawValue: -37)
    /// An HTTP proxy did not open a tunnel to the server (CONNECT). It can require a password.
    public static let tunnelFailed = Self(rawValue: -38)
    /// A SOCKS proxy did not connect to the server. It can require a password.
    public static let socksFailed = Self(rawValue: -39)

    /// The general code of which this code is a special case; the code itself if there is none. For programs that know
    /// only the first 32 codes.
    package var general: Self {
        switch self {
        case .certificateNotTrusted, .trustRootsUnusable, .clientCertificateUnusable: .secureConnectionFailed
        case .emptyResponse: .connectionLost
        case .proxyNotFound: .nameNotFound
        case .tunnelFailed, .socksFailed: .cannotConnect
        default: self
        }
    }

    /// All codes of Portolan, with their names.
    package static let published: [(code: Self, name: String)] = [
        (.unknown, "unknown"),
        (.badURL, "badURL"),
        (.unsupportedScheme, "unsupportedScheme"),
        (.badRequest, "badRequest"),
        (.notFound, "notFound"),
        (.accessDenied, "accessDenied"),
        (.isDirectory, "isDirectory"),
        (.notRegularFile, "notRegularFile"),
        (.rangeNotSatisfiable, "rangeNotSatisfiable"),
        (.cancelled, "cancelled"),
        (.timedOut, "timedOut"),
        (.tooManyRedirects, "tooManyRedirects"),
        (.badRedirect, "badRedirect"),
        (.authenticationRequired, "authenticationRequired"),
        (.authenticationCancelled, "authenticationCancelled"),
        (.bodyFailed, "bodyFailed"),
        (.nameNotFound, "nameNotFound"),
        (.cannotConnect, "cannotConnect"),
        (.connectionLost, "connectionLost"),
        (.secureConnectionFailed, "secureConnectionFailed"),
        (.badResponse, "badResponse"),
        (.truncated, "truncated"),
        (.decodingFailed, "decodingFailed"),
        (.limitExceeded, "limitExceeded"),
        (.nestedTooDeep, "nestedTooDeep"),
        (.ioFailed, "ioFailed"),
        (.noMemory, "noMemory"),
        (.noResources, "noResources"),
        (.notOffered, "notOffered"),
        (.protocolViolation, "protocolViolation"),
        (.pluginNotLoadable, "pluginNotLoadable"),
        (.pluginRefused, "pluginRefused"),
        (.certificateNotTrusted, "certificateNotTrusted"),
        (.trustRootsUnusable, "trustRootsUnusable"),
        (.clientCertificateUnusable, "clientCertificateUnusable"),
        (.emptyResponse, "emptyResponse"),
        (.proxyNotFound, "proxyNotFound"),
        (.tunnelFailed, "tunnelFailed"),
        (.socksFailed, "socksFailed"),
    ]
}

extension LoadError {
    /// The name of the code; `domain:number` for a code of a plugin.
    package var name: String {
        domain.map { "\($0):\(code.rawValue)" } ?? code.description
    }

    /// Makes an error from the ``name`` of its code; `nil` if the text is not such a name.
    package init?(named name: String, message: String) {
        if let code = Code.published.first(where: { $0.name == name })?.code {
            self.init(code, message: message)
        } else if let colon = name.lastIndex(of: ":"), colon > name.startIndex, let number = Int32(name[name.index(after: colon)...]) {
            self.init(Code(rawValue: number), domain: String(name[..<colon]), message: message)
        } else {
            return nil
        }
    }
}

extension LoadError.Code: CustomStringConvertible {
    /// The name, or the number of a code without a name.
    public var description: String {
        Self.published.first { $0.code == self }?.name ?? String(rawValue)
    }
}
