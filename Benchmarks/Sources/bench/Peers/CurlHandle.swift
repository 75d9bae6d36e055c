// SPDX-License-Identifier: Apache-2.0

import CCurl
import CTally

/// An easy handle of libcurl for one URL. It loads the URL repeatedly and keeps its connection. The write function
/// reads the borrowed bytes without a copy, as Portolan's delegate does.
@safe
final class CurlHandle: @unchecked Sendable {  // … because the runs of a competitor are sequential
    struct Options: Sendable {
        /// The buffer size in bytes; `nil` for libcurl's default of 16 KiB.
        var bufferSize: Int?
        /// The content codings to accept and decode; `nil` for none.
        var codings: String?
        /// The settings for TLS; `nil` for none.
        var security: HTTPTarget.Security?

        static let largeBuffer = Options(bufferSize: 512 << 10)
    }

    let handle: UnsafeMutableRawPointer
    private let tally: UnsafeMutablePointer<bench_tally>

    init(_ url: String, _ options: Options = Options()) throws {
        guard let handle = unsafe curl_easy_init() else { throw MeasurementError("curl_easy_init gave no handle") }
        unsafe self.handle = handle
        unsafe tally = .allocate(capacity: 1)
        unsafe tally.initialize(to: bench_tally())
        try Self.check(unsafe bench_curl_set_text(handle, CURLOPT_URL, url))
        try Self.check(unsafe bench_curl_set_number(handle, CURLOPT_NOSIGNAL, 1))
        try Self.check(unsafe bench_curl_set_number(handle, CURLOPT_FAILONERROR, 1))
        try Self.check(unsafe bench_curl_set_writer(handle, write, tally))
        if let size = options.bufferSize { try Self.check(unsafe bench_curl_set_number(handle, CURLOPT_BUFFERSIZE, size)) }
        if let codings = options.codings { try Self.check(unsafe bench_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, codings)) }
        try setVersion(options.security)
    }

    private func setVersion(_ security: HTTPTarget.Security?) throws {
        let version = security?.usesHTTP2 == true ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        try Self.check(unsafe bench_curl_set_number(handle, CURLOPT_HTTP_VERSION, version))
        guard let security else { return }
        try Self.check(unsafe bench_curl_set_text(handle, CURLOPT_CAINFO, security.authority))
        // If several transfers are in flight, the first one connects, and the others wait to use streams of its
        // connection.
        if security.usesHTTP2 { try Self.check(unsafe bench_curl_set_number(handle, CURLOPT_PIPEWAIT, 1)) }
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe tally.deallocate()
    }

    func load() throws -> bench_tally {
        try Self.check(unsafe curl_easy_perform(handle))
        return resetTally()
    }

    /// Returns and resets the tally of the last load.
    func resetTally() -> bench_tally {
        defer { unsafe tally.pointee = bench_tally() }
        return unsafe tally.pointee
    }

    static func check(_ code: CURLcode) throws {
        guard code == CURLE_OK else { throw unsafe MeasurementError("libcurl: " + String(cString: curl_easy_strerror(code))) }
    }

    private let write: bench_curl_write = { bytes, _, length, context in
        unsafe bench_tally_add(context?.assumingMemoryBound(to: bench_tally.self), bytes, length)
        return length
    }
}
