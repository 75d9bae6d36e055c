// SPDX-License-Identifier: Apache-2.0

// The peer "libcurl": the easy interface, one handle for one load, with the largest buffer that it allows (512 KiB) and a write function
// that takes the tally of the bytes where they are lent, as Portolan's delegate does. Only file: is asked of it here.

import CCurl
import CTally

enum LibCurl {
    static var version: String { unsafe String(cString: curl_version()) }

    static func load(_ url: String) throws -> bench_tally {
        guard let handle = unsafe curl_easy_init() else { throw Missing("curl_easy_init gave no handle") }
        defer { unsafe curl_easy_cleanup(handle) }
        var tally = bench_tally()
        try unsafe withUnsafeMutablePointer(to: &tally) { tally in
            try check(unsafe bench_curl_set_text(handle, CURLOPT_URL, url))
            try check(unsafe bench_curl_set_number(handle, CURLOPT_BUFFERSIZE, 512 << 10))
            try check(unsafe bench_curl_set_writer(handle, write, tally))
            try check(unsafe curl_easy_perform(handle))
        }
        return tally
    }

    static func contender(loading url: String, amount: Int) -> Contender {
        Contender("libcurl", amount: amount) { try load(url) }
    }

    private static let write: bench_curl_write = { bytes, _, length, context in
        unsafe bench_tally_add(context?.assumingMemoryBound(to: bench_tally.self), bytes, length)
        return length
    }

    private static func check(_ code: CURLcode) throws {
        guard code == CURLE_OK else { throw unsafe Missing("libcurl: " + String(cString: curl_easy_strerror(code))) }
    }
}
