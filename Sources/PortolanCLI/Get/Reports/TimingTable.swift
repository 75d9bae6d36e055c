// SPDX-License-Identifier: Apache-2.0

import Portolan

/// A table that shows how many milliseconds each phase of each request took. `-` marks a phase that did not occur. The
/// phases have the names of `RequestTimings`.
///
///     request  waiting  domain lookup  connecting  TLS handshake  sending  awaiting response  receiving  total  (ms)
///           1        -            0.3         0.2            1.9      0.1                3.2        0.4    6.1  h2, …
struct TimingTable {
    let lines: [String]

    private static let titles = [
        "request", "waiting", "domain lookup", "connecting", "TLS handshake", "sending", "awaiting response", "receiving", "total",
    ]

    /// - Parameter checksTrust: whether the program checks certificates. If it does, a TLS proxy in the table was
    ///   trusted.
    init(_ metrics: LoadMetrics, checksTrust: Bool = true) {
        let timings = metrics.timings
        let rows = timings.enumerated().map { index, timings in Self.cells(timings, number: index + 1) }
        let widths = Self.titles.indices.map { column in ([Self.titles] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            zip(cells, widths).map { String(repeating: " ", count: $1 - $0.count) + $0 }.joined(separator: "  ")
        }
        lines = [line(Self.titles) + "  (ms)"] + zip(rows, timings).map { line($0) + "  " + Self.phrase($1.transfer, checksTrust) }
    }

    private static func cells(_ timings: RequestTimings, number: Int) -> [String] {
        let phases = [
            timings.waiting, timings.domainLookup, timings.connecting, timings.tlsHandshake, timings.sending, timings.awaitingResponse,
            timings.receiving, timings.total,
        ]
        return ["\(number)"] + phases.map { $0?.milliseconds ?? "-" }
    }

    private static func phrase(_ report: TransferReport?, _ checksTrust: Bool) -> String {
        guard let report else { return "cut short" }
        let connection = report.isReused ? "reused connection" : "new connection"
        let tls = report.tlsVersion.map { report.isTLSResumed ? "\($0) resumed" : $0 }
        let proxyTLS = report.proxyTLSVersion.map {
            " (\($0)\(report.isProxyTLSResumed ? " resumed" : ""), \(checksTrust ? "trusted" : "not checked"))"
        }
        let address = report.remoteAddress.map { " to \($0)" } ?? ""
        let parts: [String?] = [
            report.networkProtocol, tls, connection + address, report.proxy.map { "proxy \($0)\(proxyTLS ?? "")" },
            "\(report.bytesSent) bytes out", "\(report.bytesReceived) in",
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}
