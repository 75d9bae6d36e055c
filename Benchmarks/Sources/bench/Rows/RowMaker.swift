// SPDX-License-Identifier: Apache-2.0

/// Makes a row and its resources when the row is measured.
struct RowMaker: Sendable {
    let name: String
    let summary: String
    let make: @Sendable (Fixture) throws -> Row

    /// The rows in the order of the table.
    static let all = [
        RowMaker(name: "data-8MiB", summary: "data: with 8 MiB in base64, data(from:)", make: DataRows.large),
        RowMaker(name: "data-tiny", summary: "data:,Hello, data(from:)", make: DataRows.tiny),
        RowMaker(name: "file-1GiB", summary: "file: 1 GiB, streamed to a delegate", make: FileRow.make),
        RowMaker(name: "stream-pair", summary: "1 GiB through a bound pair of streams", make: StreamRows.pair),
        RowMaker(name: "stream-sockets", summary: "1 GiB through a socket pair, by streams", make: StreamRows.sockets),
        RowMaker(name: "stream-tcp", summary: "1 GiB from a server, by a stream", make: SocketStreamRows.tcp),
        RowMaker(name: "stream-tls", summary: "the same over TLS", make: SocketStreamRows.tls),
        RowMaker(name: "registry-10", summary: "look-up among 10 handlers with schemes", make: RegistryRows.ofTen),
        RowMaker(name: "registry-10000", summary: "look-up among 10,000 handlers with schemes", make: RegistryRows.ofTenThousand),
        RowMaker(name: "cookies-10000", summary: "the Cookie field of a request, among 10,000 cookies", make: CookieRow.make),
        RowMaker(name: "boundary-event", summary: "an event of 64 bytes from a C plugin to a delegate", make: BoundaryRows.event),
        RowMaker(name: "boundary-bulk", summary: "events of 1 MiB from a C plugin to a delegate", make: BoundaryRows.bulk),
        RowMaker(name: "echo-kit", summary: "an event of 64 KiB from Echo, which uses the Swift kit", make: EchoRows.defaultSize),
        RowMaker(name: "echo-kit-64", summary: "the same with events of 64 bytes", make: EchoRows.small),
        RowMaker(name: "ffi", summary: "a call with three arguments that a manifest binds", make: FFIRows.wordArguments),
        RowMaker(name: "ffi-variadic", summary: "the same with variable arguments", make: FFIRows.variadic),
        RowMaker(name: "gzip", summary: "gzip:file: 128 MiB, through the plugin, streamed", make: GzipRow.make),
        RowMaker(name: "manifests-1000", summary: "start of the command line with 1,000 installed manifests", make: ManifestsRow.make),
        RowMaker(name: "http-get", summary: "http: 1 KiB, kept alive, one after another, delegate", make: HTTPRows.get),
        RowMaker(name: "http-get-policies", summary: "the same, with cookies, HSTS and a cache or without", make: HTTPRows.policies),
        RowMaker(name: "http-get-blocking", summary: "the same, waitForData(for:)", make: HTTPRows.blocking),
        RowMaker(name: "http-get-async", summary: "the same, data(for:)", make: HTTPRows.awaited),
        RowMaker(name: "http-64", summary: "http: 1 KiB, 64 in flight, delegate", make: HTTPRows.concurrent),
        RowMaker(name: "http-64-async", summary: "the same, data(for:) in 64 tasks", make: HTTPRows.awaitedConcurrent),
        RowMaker(name: "cache-memory", summary: "http: 1 KiB, stored in memory, one after another, delegate", make: CacheRows.memory),
        RowMaker(name: "cache-validated", summary: "the same, validated by the server each time", make: CacheRows.validated),
        RowMaker(name: "cache-disk", summary: "http: 1 KiB, stored on disk, one after another, delegate", make: CacheRows.disk),
        RowMaker(name: "cache-disk-64m", summary: "http: 64 MiB, stored on disk, streamed to a delegate", make: CacheRows.diskBulk),
        RowMaker(name: "https-get", summary: "https: 1 KiB, HTTP/1.1, kept alive, one after another, delegate", make: HTTPSRows.http1),
        RowMaker(name: "https-64", summary: "the same, 64 in flight", make: HTTPSRows.http1Concurrent),
        RowMaker(name: "http2-get", summary: "https: 1 KiB, HTTP/2, one after another, delegate", make: HTTPSRows.http2),
        RowMaker(name: "http2-64", summary: "the same, 64 in flight", make: HTTPSRows.http2Concurrent),
        RowMaker(name: "http-1GiB", summary: "http: 1 GiB, streamed to a delegate", make: HTTPBulkRows.http),
        RowMaker(name: "https-1GiB", summary: "https: 1 GiB, HTTP/1.1, streamed to a delegate", make: HTTPBulkRows.https1),
        RowMaker(name: "http2-1GiB", summary: "https: 1 GiB, HTTP/2, streamed to a delegate", make: HTTPBulkRows.https2),
        RowMaker(name: "http-1GiB-memory", summary: "http: 1 GiB, peak memory above that of an idle process", make: HTTPBulkRows.memory),
        RowMaker(name: "http-64-paused-memory", summary: "the same for 64 paused loads", make: HTTPBulkRows.pausedMemory),
        RowMaker(name: "download", summary: "http: 256 MiB into a file, beside curl -o", make: DownloadRow.make),
        RowMaker(name: "http-gzip", summary: "http: 128 MiB, compressed on the wire, streamed to a delegate", make: HTTPGzipRow.make),
    ]
}
