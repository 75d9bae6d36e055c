// SPDX-License-Identifier: Apache-2.0

/// One thing that is fuzzed: takes any bytes, and judges what the code under test makes of them.
///
/// The same bytes give the same answer each time, so that a finding can be replayed.
public struct FuzzTarget: Sendable {
    /// Also the name of its folders of seeds and fail cases, and of its program, after `fuzz-`.
    public let name: String
    private let body: @Sendable ([UInt8]) throws(Finding) -> Void

    init(_ name: String, _ body: @escaping @Sendable ([UInt8]) throws(Finding) -> Void) {
        self.name = name
        self.body = body
    }

    /// Throws what is wrong; crashes where the code under test does.
    public func judge(_ input: [UInt8]) throws(Finding) {
        try body(input)
    }
}

extension FuzzTarget {
    public static let data = FuzzTarget("data") { input throws(Finding) in try DataCase(input).judge() }
    public static let mime = FuzzTarget("mime") { input throws(Finding) in try MIMECase.judge(input) }
    public static let url = FuzzTarget("url") { input throws(Finding) in try URLCase.judge(input) }
    public static let manifest = FuzzTarget("manifest") { input throws(Finding) in try ManifestCase.judge(input) }
    public static let events = FuzzTarget("events") { input throws(Finding) in try EventsCase.judge(input) }
    public static let gzip = FuzzTarget("gzip") { input throws(Finding) in try GzipCase(input).judge() }
    public static let head = FuzzTarget("head") { input throws(Finding) in try ResponseJudge.judge(input) }
    public static let chunked = FuzzTarget("chunked") { input throws(Finding) in
        try ResponseJudge.judge(input, after: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    }
    public static let coding = FuzzTarget("coding") { input throws(Finding) in try CodingCase(input).judge() }
    public static let http2 = FuzzTarget("http2") { input throws(Finding) in try HTTP2Case(input).judge() }
    public static let tls = FuzzTarget("tls") { input throws(Finding) in try TLSTarget.judge(input) }

    public static let all = [data, mime, url, manifest, events, gzip, head, chunked, coding, http2, tls]
}
