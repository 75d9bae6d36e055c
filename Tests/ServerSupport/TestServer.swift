// SPDX-License-Identifier: Apache-2.0

/// A real server that `Tests/Servers/serve` starts. `Tests/Servers/README.md` describes each server.
package enum TestServer: String, CaseIterable, Sendable {
    case nginxHTTP = "nginx.http"
    case nginxHTTP2 = "nginx.http2"
    /// HTTP/2 without TLS. Ends each connection after ten requests.
    case nginxHTTP2TenRequests = "nginx.http2Tenth"
    /// HTTP/1.1. Closes each connection after three requests or one idle second.
    case nginxThreeRequests = "nginx.brief"
    case nginxHTTPS = "nginx.https"
    /// HTTP/1.1 over TLS, without HTTP/2.
    case nginxHTTPS1 = "nginx.https1"
    /// HTTP/2 over TLS. Ends each connection after three requests.
    case nginxHTTP2ThreeRequests = "nginx.reusedThrice"
    case nginxExpired = "nginx.expired"
    case nginxNotYetValid = "nginx.notYetValid"
    case nginxWrongName = "nginx.wrongName"
    case nginxSelfSigned = "nginx.selfSigned"
    case nginxUntrusted = "nginx.untrusted"
    case nginxIntermediate = "nginx.intermediate"
    case nginxIncompleteChain = "nginx.incompleteChain"
    case nginxClientOptional = "nginx.clientOptional"
    case nginxClientRequired = "nginx.clientRequired"
    case nginxTLS12 = "nginx.tls12"
    case nginxTLS13 = "nginx.tls13"
    case nghttpdHTTPS = "nghttpd.https"
    case nghttpdHTTP = "nghttpd.http"
    case nghttpdTrailers = "nghttpd.trailers"
    /// Responds before the body of the request has arrived.
    case nghttpdEarly = "nghttpd.early"
    case nghttpdEcho = "nghttpd.echo"
    /// Allows one stream at a time.
    case nghttpdOneStream = "nghttpd.one"
    /// Has small flow-control windows.
    case nghttpdSmallWindows = "nghttpd.narrow"
    case nghttpdPadded = "nghttpd.padded"
    case nghttpdPush = "nghttpd.push"
    case apacheHTTP = "apache.http"
    case apacheHTTPS = "apache.https"
    case apacheClientRequired = "apache.clientRequired"
    case squidOpen = "squid.open"
    /// Requires Basic authentication.
    case squidLocked = "squid.locked"
    case squidDigest = "squid.digest"
    case socksOpen = "socks.open"
    /// Requires a user name and a password.
    case socksLocked = "socks.locked"
    case tftp = "tftp.server"
    case httpbin = "httpbin.http"
    case redisOpen = "redis.open"
    /// Requires the password of the other servers.
    case redisLocked = "redis.locked"

    /// The part of `serve` that starts this server: `nginx` for `nginx.http`.
    var part: String { String(rawValue.prefix { $0 != "." }) }
}

/// A file that `serve` creates.
package enum TestFile: String, CaseIterable, Sendable {
    /// The certificate authority that tests trust.
    case authority = "ca"
    case unknownAuthority = "unknownCA"
    /// The certificate of most servers.
    case goodCertificate = "good"
    case clientCertificate
    /// PKCS #8; its encrypted form has the password ``TestServers/clientKeyPassword``.
    case clientKey
    case clientEncryptedKey
    case clientPKCS12
    /// The certificate of a client that the servers refuse.
    case refusedCertificate
    case refusedKey
    case nginxLog = "nginx.log"
    case squidLog = "squid.log"
    case socksOpenLog = "socks.open.log"
    case socksLockedLog = "socks.locked.log"
    /// The UNIX socket of the server.
    case redisSocket = "redis.open.socket"
    /// The identifier of the server's process, for tests that stop it.
    case redisProcess = "redis.open.process"
}
