// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError.Remedy {
    /// What the user of the command can do.
    var commandWords: String {
        switch self {
        case .trustCertificate: "if it is known to be right, name it with --cacert"
        case .trustAuthority: "if that authority is known to be right, name its certificate with --cacert"
        case .nameTrustRoots: "install the system's certificates (Debian's package ca-certificates), or name others with --cacert"
        case .giveClientCertificate: "name one with --cert"
        case .changeClientCertificate: "name another one with --cert"
        case .nameKeyFile: "name the file that has the certificate's own with --key"
        case .givePassphrase: "give it with --pass"
        case .checkPassphrase: "check what --pass gives"
        case .allowTLSVersions: "its administrator has to turn on a newer one"
        case .useHTTP1: "use --http1.1"
        case .giveProxyPassword: "give a user name and password with --proxy-user"
        case .raiseConnectTimeout: "check the address, or raise --connect-timeout"
        case .raiseTimeout: "raise --max-time (in stdio timeoutMs), or try again"
        case .sendRepeatableBody: "send a regular file, or name the URL to which it leads"
        case .nameProxy: "a proxy is named with --proxy"
        case .raiseLimit: "the command has no option for this limit, so the server has to send less"
        case .raiseDecodingLimit: "'portolan get --coded' writes the body as it comes"
        case .openMoreConnections: "load fewer at a time"
        case .shareNoConnection: "use --http1.1, or load fewer at a time"
        }
    }
}
