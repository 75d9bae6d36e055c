// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension LoadMetrics: CustomStringConvertible {
    /// A line about the load, and one for each request that was sent over a network:
    ///
    ///     2 requests in 81.3 ms, 1 redirect, response after 79.9 ms, 244 bytes sent, 5120 bytes received
    ///     1: 41.0 ms (domain lookup 0.4 ms, connecting 10.2 ms, sending 0.1 ms, awaiting response 30.3 ms), http/1.1
    ///     2: 40.3 ms (waiting 0.2 ms, sending 0.1 ms, awaiting response 38.6 ms, receiving 1.4 ms), http/1.1, reused
    ///
    /// After ten requests, a last line states the number of further requests.
    public var description: String {
        let timings = timings
        var parts = [String(timings.count, of: "request") + (timeToEnd.map { " in \($0.inMilliseconds)" } ?? ", running")]
        if redirectCount > 0 { parts.append(String(redirectCount, of: "redirect")) }
        if let timeToResponse { parts.append("response after \(timeToResponse.inMilliseconds)") }
        if !transfers.isEmpty {
            parts.append("\(transfers.reduce(0) { $0 + $1.bytesSent }) bytes sent")
            parts.append("\(transfers.reduce(0) { $0 + $1.bytesReceived }) bytes received")
        }
        let lineLimit = 10
        var lines = [parts.joined(separator: ", ")]
        lines += timings.prefix(lineLimit).enumerated().map { "\($0.offset + 1): \($0.element)" }
        if timings.count > lineLimit { lines.append("… and \(timings.count - lineLimit) more") }
        return lines.joined(separator: "\n")
    }
}

extension LoadMetrics.Step: CustomStringConvertible {
    /// The step and its time: `firstByte at 79.9 ms`.
    public var description: String { "\(step) at \(time.inMilliseconds)" }
}

extension RequestTimings: CustomStringConvertible {
    /// The phases of the request and the report of its transfer, on one line.
    public var description: String {
        let phases: [(name: String, time: Duration?)] = [
            ("waiting", waiting), ("domain lookup", domainLookup), ("connecting", connecting), ("TLS handshake", tlsHandshake),
            ("sending", sending), ("awaiting response", awaitingResponse), ("receiving", receiving),
        ]
        let text = phases.compactMap { phase in phase.time.map { "\(phase.name) \($0.inMilliseconds)" } }.joined(separator: ", ")
        var parts = [(total?.inMilliseconds ?? "running") + (text.isEmpty ? "" : " (\(text))")]
        if let resentAfterResponse { parts.append("sent again after \(resentAfterResponse.status.code)") }
        if let transfer { parts.append(transfer.description) }
        return parts.joined(separator: ", ")
    }
}

extension TransferReport: CustomStringConvertible {
    /// The protocol, the connection and the bytes, on one line:
    /// `h2, TLSv1.3, reused, 127.0.0.1:443, 120 bytes sent, 5120 bytes received`.
    public var description: String {
        var parts = [networkProtocol]
        if let tlsVersion { parts.append(isTLSResumed ? "\(tlsVersion) resumed" : tlsVersion) }
        if isReused { parts.append("reused") }
        if let remoteAddress { parts.append(remoteAddress) }
        if let proxy { parts.append("proxy \(proxy)" + (proxyTLSVersion.map { " (\($0))" } ?? "")) }
        parts += ["\(bytesSent) bytes sent", "\(bytesReceived) bytes received"]
        return parts.joined(separator: ", ")
    }
}

extension Duration {
    /// The time in milliseconds with one decimal: `79.9 ms`.
    fileprivate var inMilliseconds: String {
        let (seconds, attoseconds) = components
        let tenths = seconds * 10_000 + (attoseconds + 50_000_000_000_000) / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
