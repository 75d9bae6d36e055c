// SPDX-License-Identifier: Apache-2.0

import CCurl
import CTally
import Foundation
import Portolan

/// Measures a download into a file, beside libcurl with fwrite(3), which is what `curl -o` does.
enum DownloadRow {
    private static let size = 256 << 20
    private static let peerName = "curl -o"

    static func make(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        let folder = try fixture.emptyFolder("download")
        let request = try Request(target.url)
        let subject = Competitor(PortolanLoads.name, amount: size) {
            let file = try await Loader.shared.download(for: request, to: .file(folder + "/portolan"))
            return bench_tally(count: UInt64(file.size), sum: 0)
        }
        return Row(
            unit: .gigabytesPerSecond, subject: subject, peers: [try curl(target, to: folder + "/curl")],
            budget: .atLeast(0.9, of: peerName))
    }

    private static func curl(_ target: HTTPTarget, to path: String) throws -> Competitor {
        let handle = try CurlHandle(target.url)
        return Competitor(peerName, amount: target.size) {
            guard let file = unsafe fopen(path, "wb") else { throw MeasurementError("'\(path)' can't be written") }
            defer { unsafe _ = fclose(file) }
            try CurlHandle.check(unsafe bench_curl_set_file(handle.handle, file))
            _ = try handle.load()
            return bench_tally(count: UInt64(unsafe ftell(file)), sum: 0)
        }
    }
}
