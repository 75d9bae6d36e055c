// SPDX-License-Identifier: Apache-2.0

/// A body of 128 MiB of log lines that nginx sends in compressed form. Portolan decodes it before the delegate receives
/// it. The rate counts the decoded bytes. zlib reads the same data from a file.
enum HTTPGzipRow {
    static func make(_ fixture: Fixture) throws -> Row {
        let size = GzipRow.size
        let path = try GzipRow.file(fixture)
        let target = HTTPTarget(url: try fixture.nginx().http + "/" + GzipRow.name, size: size)
        return Row(
            unit: .gigabytesPerSecond, subject: try PortolanLoads.streamed(target, amount: size),
            peers: [
                Inflate.competitor(inflating: path, amount: size),
                try LibCurl.competitor(
                    LibCurl.nameOfLarge, loading: target.url, CurlHandle.Options(bufferSize: 512 << 10, codings: "gzip"), amount: size),
                try AsyncHTTPClientPeer.streamed(target, amount: size, decodes: true),
            ],
            budget: .atLeast(0.95, of: "zlib"))
    }
}
