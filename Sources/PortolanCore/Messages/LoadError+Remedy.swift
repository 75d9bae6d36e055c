// SPDX-License-Identifier: Apache-2.0

extension LoadError {
    /// How to fix the failure, usually by a setting.
    ///
    /// The message of an error with a remedy ends with the remedy's ``phrase``, which names settings of the library. A
    /// program with other names, such as the command with its options, replaces the phrase.
    package enum Remedy: Hashable, Sendable {
        case trustCertificate
        case trustAuthority
        case nameTrustRoots
        case giveClientCertificate
        case changeClientCertificate
        case nameKeyFile
        case givePassphrase
        case checkPassphrase
        case allowTLSVersions
        case useHTTP1
        /// Load the URL without TLS.
        case usePlainHTTP
        /// HSTS has changed the scheme of the URL. The host must not use HSTS if it has no TLS.
        case removeStrictHost(String)
        case giveProxyPassword
        case raiseConnectTimeout
        case raiseTimeout
        case sendRepeatableBody
        case nameProxy
        /// The setting's name, as in `HTTPLimits.maximumFieldLineBytes`.
        case raiseLimit(String)
        /// A limit on the output of a content coding. The name of the setting, with further advice.
        case raiseDecodingLimit(String)
        /// The limit that the request itself sets for the body of its response.
        case raiseMaximumBodySize
        /// `orWait`: whether a longer wait for a connection is also a remedy.
        case openMoreConnections(orWait: Bool)
        case shareNoConnection(orWait: Bool)
        /// A file with the name exists.
        case chooseFilename

        package var phrase: String {
            switch self {
            case .trustCertificate: "if you trust it, add it to the trust roots"
            case .trustAuthority: "if you trust that authority, add its certificate to the trust roots"
            case .nameTrustRoots: "install the system's certificates, or name others (SSL_CERT_FILE, or TLSSettings.trustRoots)"
            case .giveClientCertificate: "give one"
            case .changeClientCertificate: "give another one"
            case .nameKeyFile: "name the file with the certificate's private key"
            case .givePassphrase: "give the passphrase"
            case .checkPassphrase: "check the passphrase"
            case .allowTLSVersions: "allow more versions if necessary"
            case .useHTTP1: "ask for HTTP/1.1"
            case .usePlainHTTP: "if it speaks plain HTTP there, try http:"
            case .removeStrictHost(let host):
                "HSTS has changed http: to https:; if that is wrong, remove '\(host)', or the domain above it, from the HSTSStorage"
            case .giveProxyPassword: "give the proxy's URL a user and password"
            case .raiseConnectTimeout: "check the address, or raise the limit"
            case .raiseTimeout: "raise the time-out, or try again"
            case .sendRepeatableBody: "send one that can be read again, or give a new one in the redirect decision"
            case .nameProxy: "proxies are set in the configuration"
            case .raiseLimit(let setting): "raise \(setting) to allow more"
            case .raiseDecodingLimit(let setting): "raise \(setting)"
            case .raiseMaximumBodySize: "raise Request.maximumBodySize"
            case .openMoreConnections(false): "raise ConnectionLimits.perHost or ConnectionLimits.total, or load fewer at a time"
            case .openMoreConnections(true):
                "raise ConnectionLimits.queueTimeout, ConnectionLimits.perHost or ConnectionLimits.total, or load fewer at a time"
            case .shareNoConnection(false): "ask for HTTP/1.1, or load fewer at a time"
            case .shareNoConnection(true): "raise ConnectionLimits.queueTimeout, ask for HTTP/1.1, or load fewer at a time"
            case .chooseFilename: "choose another name"
            }
        }
    }

    /// - Parameters:
    ///   - message: what happened, without the remedy.
    ///   - remedy: its phrase becomes the end of the message.
    package init(_ code: Code, message: String, remedy: Remedy, underlyingError: (any Error)? = nil) {
        self.init(code, message: "\(message); \(remedy.phrase)", underlyingError: underlyingError)
        self.remedy = remedy
    }

    /// Returns the error with `note` in parentheses before the remedy.
    package func addingNote(_ note: String) -> LoadError {
        var error = self
        let tail = remedy.map { "; \($0.phrase)" } ?? ""
        error.message = message.hasSuffix(tail) ? "\(message.dropLast(tail.count)) (\(note))\(tail)" : "\(message) (\(note))"
        return error
    }

    /// Returns the error of a request that HSTS has upgraded to `https:`. If the upgrade can be the reason, the error
    /// says so, and how to undo the upgrade.
    func namingStrictTransport(of url: URLRecord) -> LoadError {
        guard [.cannotConnect, .secureConnectionFailed, .certificateNotTrusted].contains(code), let host = url.host else { return self }
        if let remedy, remedy != .usePlainHTTP { return addingNote("HSTS has changed http: to https:") }
        var start = message
        if let remedy { start.removeLast("; \(remedy.phrase)".count) }
        return LoadError(code, message: start, remedy: .removeStrictHost(String(host)), underlyingError: underlyingError)
    }

    /// Returns the message with another phrase for the remedy.
    package func message(replacingRemedyBy phrase: (Remedy) -> String) -> String {
        guard let remedy, message.hasSuffix(remedy.phrase) else { return message }
        return message.dropLast(remedy.phrase.count) + phrase(remedy)
    }
}
