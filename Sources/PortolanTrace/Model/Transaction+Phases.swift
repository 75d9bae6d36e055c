// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A phase of one transfer. The phases follow each other in this order.
package enum TransferPhase: String, CaseIterable, Sendable {
    /// The wait until a connection is free.
    case queue
    case name, connect
    /// The TLS handshake, including the set-up of a proxy's tunnel before it.
    case tls
    case send
    /// The wait until the first byte of the response.
    case wait
    case body
}

extension Transaction {
    /// The phase that had begun and not ended when the transaction ended. Its time is not part of ``timings``.
    package var unfinishedPhase: TransferPhase {
        if timings?.awaitingResponse != nil { return .body }
        // The code of an error is more precise than the steps: the last completed step can belong to an earlier
        // connection, and a failed name look-up completes no step.
        if let phase = failure.flatMap({ TransferPhase(failingWith: $0.code) }) { return phase }
        guard let timings else {
            guard url.scheme == "http" || url.scheme == "https", failure != nil else { return .wait }
            return hasNumericHost ? .connect : .name
        }
        if timings.sending != nil { return .wait }
        if timings.tlsHandshake != nil { return .send }
        if timings.connecting != nil { return url.scheme == "https" ? .tls : .send }
        if timings.domainLookup != nil { return .connect }
        return timings.waiting != nil ? .send : .queue
    }

    /// Whether the host of the URL is an IP address, so that no name is looked up. A host of `http:` and `https:` whose
    /// last label is a number is an IPv4 address (URL Standard, section 3.5).
    private var hasNumericHost: Bool {
        guard let host = url.host else { return false }
        return host.hasPrefix("[") || host.split(separator: ".").last?.allSatisfy(\.isNumber) == true
    }
}

extension TransferPhase {
    /// `nil` if an error with this code can occur in several phases.
    fileprivate init?(failingWith code: LoadError.Code) {
        switch code {
        case .nameNotFound, .proxyNotFound: self = .name
        case .cannotConnect: self = .connect
        case .tunnelFailed, .socksFailed, .secureConnectionFailed, .certificateNotTrusted, .trustRootsUnusable, .clientCertificateUnusable:
            self = .tls
        default: return nil
        }
    }
}
