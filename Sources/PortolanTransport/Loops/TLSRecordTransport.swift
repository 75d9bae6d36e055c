// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The carrier of a TLS session's records: a socket, or another session. Use it on its event loop only.
protocol TLSRecordTransport: AnyObject {
    /// Reads available bytes into `target`, as many as fit.
    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult
    /// Whether nothing more can be available after a ``receive(_:)`` that returned fewer bytes than requested.
    var isDrained: Bool { get }
    /// Sends as many bytes as the carrier accepts now.
    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult
}

enum TransferResult {
    /// The number of bytes, at least one.
    case moved(Int)
    case wouldBlock
    /// The peer sends no more.
    case end
    case failed(SocketError)
}
