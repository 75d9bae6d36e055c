// SPDX-License-Identifier: Apache-2.0

// The peer "libcurl": the easy interface, with one handle that is reused together with its connection. It has libcurl's
// default buffer of 16 KiB or, as "libcurl 512K", one of 512 KiB. For file: it has the large one.

import CCurl
import CTally

enum LibCurl {
    static let name = "libcurl"
    static let nameOfLarge = "libcurl 512K"

    static var version: String { unsafe String(cString: curl_version()) }

    static func competitor(
        _ name: String = name, loading url: String, _ options: CurlHandle.Options = CurlHandle.Options(), times: Int = 1, amount: Int
    ) throws -> Competitor {
        let handle = try CurlHandle(url, options)
        return Competitor(name, amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times { tally += try handle.load() }
            return tally
        }
    }
}
