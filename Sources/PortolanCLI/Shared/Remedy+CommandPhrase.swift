// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension LoadError.Remedy {
    /// The remedy for the user of the command.
    var commandPhrase: String {
        switch self {
        case .trustCertificate: "if you trust it, name it with --cacert"
        case .trustAuthority: "if you trust that authority, name its certificate with --cacert"
        case .nameTrustRoots: "install the system's certificates (Debian's package ca-certificates), or name others with --cacert"
        case .giveClientCertificate: "name a certificate with --cert"
        case .changeClientCertificate: "name another certificate with --cert"
        case .nameKeyFile: "name the file with the certificate's private key with --key"
        case .givePassphrase: "give the passphrase with --pass"
        case .checkPassphrase: "check the passphrase of --pass"
        case .allowTLSVersions: "the server's administrator has to enable a newer one"
        case .useHTTP1: "use --http1.1"
        case .usePlainHTTP: phrase
        case .removeStrictHost(let host):
            "HSTS has changed http: to https:; if that is wrong, remove '\(host)', or the domain above it, from the file of --hsts "
                + "(with --state: delete hsts.sqlite in its folder)"
        case .giveProxyPassword: "give a user name and password with --proxy-user"
        case .raiseConnectTimeout: "check the address, or raise --connect-timeout"
        case .raiseTimeout: "raise --max-time (in stdio timeoutMs), or run the command again"
        case .sendRepeatableBody: "send a regular file, or use the URL to which the redirect leads"
        case .nameProxy: "name a proxy with --proxy"
        case .raiseLimit: "the command has no option for this limit, so the server has to send less"
        case .raiseDecodingLimit: "'portolan get --raw' writes the body without decoding it"
        case .raiseMaximumBodySize: "raise --max-filesize"
        case .openMoreConnections: "load fewer URLs at the same time"
        case .shareNoConnection: "use --http1.1, or load fewer URLs at the same time"
        case .chooseFilename: "choose a name with -o"
        }
    }
}
