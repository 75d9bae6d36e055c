// SPDX-License-Identifier: Apache-2.0

/// A fuzz target: accepts any bytes, and checks the behavior of the code under test with them.
///
/// The same bytes always have the same result, so that a finding can be replayed.
public struct FuzzTarget: Sendable {
    /// The name of the target, of its folders of seeds and fail cases and, after `fuzz-`, of its program.
    public let name: String
    private let checkInput: @Sendable ([UInt8]) throws(FuzzFinding) -> Void

    init(_ name: String, _ checkInput: @escaping @Sendable ([UInt8]) throws(FuzzFinding) -> Void) {
        self.name = name
        self.checkInput = checkInput
    }

    /// Throws a finding, or crashes if the code under test crashes.
    public func check(_ input: [UInt8]) throws(FuzzFinding) {
        try checkInput(input)
    }
}

extension FuzzTarget {
    public static let data = FuzzTarget("data") { input throws(FuzzFinding) in try DataCase(input).check() }
    public static let mime = FuzzTarget("mime") { input throws(FuzzFinding) in try MIMECase.check(input) }
    public static let url = FuzzTarget("url") { input throws(FuzzFinding) in try URLCase.check(input) }
    public static let manifest = FuzzTarget("manifest") { input throws(FuzzFinding) in try ManifestCase.check(input) }
    public static let events = FuzzTarget("events") { input throws(FuzzFinding) in try EventsCase.check(input) }
    public static let gzip = FuzzTarget("gzip") { input throws(FuzzFinding) in try GzipCase(input).check() }
    public static let head = FuzzTarget("head") { input throws(FuzzFinding) in try ResponseOracle.check(input) }
    public static let chunked = FuzzTarget("chunked") { input throws(FuzzFinding) in
        try ResponseOracle.check(input, after: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    }
    public static let coding = FuzzTarget("coding") { input throws(FuzzFinding) in try CodingCase(input).check() }
    public static let http2 = FuzzTarget("http2") { input throws(FuzzFinding) in try HTTP2Case(input).check() }
    public static let tls = FuzzTarget("tls") { input throws(FuzzFinding) in try TLSTarget.check(input) }
    public static let setCookie = FuzzTarget("cookies") { input throws(FuzzFinding) in try SetCookieCase.check(input) }
    public static let cookieDate = FuzzTarget("cookiedate") { input throws(FuzzFinding) in try CookieDateCase.check(input) }
    public static let cookieFile = FuzzTarget("cookiefile") { input throws(FuzzFinding) in try CookieFileCase.check(input) }
    public static let challenge = FuzzTarget("challenge") { input throws(FuzzFinding) in try ChallengeCase.check(input) }
    public static let netrc = FuzzTarget("netrc") { input throws(FuzzFinding) in try NetrcCase.check(input) }
    public static let cacheDirectives = FuzzTarget("cachedirectives") { input throws(FuzzFinding) in try CacheDirectivesCase.check(input) }
    public static let diskCache = FuzzTarget("diskcache") { input throws(FuzzFinding) in try DiskCacheCase.check(input) }
    public static let eventStream = FuzzTarget("eventstream") { input throws(FuzzFinding) in try EventStreamCase.check(input) }
    public static let streams = FuzzTarget("streams") { input throws(FuzzFinding) in try StreamsCase.check(input) }

    public static let all = [
        data, mime, url, manifest, events, gzip, head, chunked, coding, http2, tls, setCookie, cookieDate, cookieFile, challenge, netrc,
        cacheDirectives, diskCache, eventStream, streams,
    ]
}
