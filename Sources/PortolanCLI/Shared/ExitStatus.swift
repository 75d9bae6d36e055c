// SPDX-License-Identifier: Apache-2.0

/// An exit status. The numbers are stable. If curl has a number for the same error, the status has that number.
struct ExitStatus: Hashable, Sendable {
    let code: Int32
    let meaning: String

    static let success = Self(code: 0, meaning: "everything was done")
    static let unsupportedScheme = Self(
        code: 1, meaning: "no handler serves the URL's scheme or this request, or a redirect leads to a scheme that is not allowed")
    static let usage = Self(code: 2, meaning: "the command line is not understood")
    static let badURL = Self(code: 3, meaning: "the URL is malformed, or a redirect leads to a malformed URL")
    static let proxyNotFound = Self(code: 5, meaning: "the proxy's name does not resolve, or its URL is malformed")
    static let nameNotFound = Self(code: 6, meaning: "the host's name does not resolve")
    static let cannotConnect = Self(code: 7, meaning: "no connection could be made")
    static let badResponse = Self(code: 8, meaning: "the peer's response violates its protocol")
    static let truncated = Self(code: 18, meaning: "fewer bytes came than announced")
    static let httpError = Self(code: 22, meaning: "with --fail or -C: the status was 400 or more")
    static let writeFailed = Self(code: 23, meaning: "the output could not be written; no message if its reader has closed it")
    static let uploadImpossible = Self(code: 25, meaning: "the upload cannot be sent: HTTP/1.0 needs its length")
    static let uploadFailed = Self(code: 26, meaning: "the bytes to send could not be read")
    static let noMemory = Self(code: 27, meaning: "no memory is available")
    static let timedOut = Self(code: 28, meaning: "a time limit was reached")
    static let badRange = Self(code: 33, meaning: "the range is outside the resource, or the load cannot continue there")
    static let notSecure = Self(code: 35, meaning: "TLS failed")
    static let unreadable = Self(
        code: 37, meaning: "the resource, or the file of an option, does not exist, cannot be read, is not a regular file, or is malformed")
    static let tooManyRedirects = Self(code: 47, meaning: "the limit of redirects was reached")
    static let badOptionValue = Self(code: 49, meaning: "the value of --resolve or --connect-to is malformed")
    static let emptyResponse = Self(code: 52, meaning: "the server closed the connection without a response")
    static let connectionLost = Self(code: 56, meaning: "the connection ended early, or an HTTP proxy opened no tunnel")
    static let badIdentity = Self(code: 58, meaning: "the client's certificate or its key cannot be used")
    static let notTrusted = Self(code: 60, meaning: "the server's certificate is not trusted")
    static let undecodable = Self(code: 61, meaning: "the content coding is malformed, or a transfer coding is unknown")
    static let tooLarge = Self(code: 63, meaning: "a limit of size or ratio was reached")
    static let notAuthenticated = Self(code: 67, meaning: "a user name and password are missing or were refused")
    static let badTrustRoots = Self(code: 77, meaning: "the certificates to trust cannot be read")
    static let socksFailed = Self(code: 97, meaning: "a SOCKS proxy made no connection")
    static let unknown = Self(code: 100, meaning: "the cause is not known")
    static let badRequest = Self(code: 101, meaning: "the handler cannot serve this method, field or property")
    static let badRedirect = Self(code: 102, meaning: "a redirect cannot be followed, for another reason than its URL")
    static let nestedTooDeep = Self(code: 103, meaning: "loads are nested deeper than the limit")
    static let noResources = Self(code: 104, meaning: "no descriptor, thread or slot is free")
    static let notOffered = Self(code: 105, meaning: "a requested feature is not available")
    static let protocolViolation = Self(code: 106, meaning: "a handler violated a rule of the contract")
    static let pluginNotLoadable = Self(code: 107, meaning: "a plugin's library or manifest cannot be used")
    static let pluginRefused = Self(code: 108, meaning: "a plugin refused to start")
    static let pluginError = Self(
        code: 109, meaning: "a plugin's own error, or a load that the plugin cancelled; see the message")
    static let authenticationCancelled = Self(code: 110, meaning: "a challenge for a user name and password was cancelled")
    static let checkFailed = Self(code: 111, meaning: "a plugin failed a check, or no check could be made")
    static let hangup = Self(code: 129, meaning: "ended by SIGHUP")
    static let interrupted = Self(code: 130, meaning: "ended by Ctrl-C (SIGINT)")
    static let terminated = Self(code: 143, meaning: "ended by SIGTERM")

    /// All statuses, ordered by code.
    static let all = [
        success, unsupportedScheme, usage, badURL, proxyNotFound, nameNotFound, cannotConnect, badResponse, truncated, httpError,
        writeFailed,
        uploadImpossible, uploadFailed, noMemory, timedOut, badRange, notSecure, unreadable, tooManyRedirects, badOptionValue,
        emptyResponse,
        connectionLost, badIdentity,
        notTrusted, undecodable, tooLarge,
        notAuthenticated, badTrustRoots, socksFailed, unknown, badRequest, badRedirect, nestedTooDeep, noResources, notOffered,
        protocolViolation, pluginNotLoadable,
        pluginRefused, pluginError, authenticationCancelled, checkFailed, hangup, interrupted, terminated,
    ]

    /// A table with one status per line.
    static var table: String {
        all.map { status in
            let code = String(status.code)
            return "\(String(repeating: " ", count: max(0, 5 - code.count)))\(code)  \(status.meaning)"
        }.joined(separator: "\n")
    }
}
