// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Sends and receives the records of a TLS session: a socket, or another TLS session. Use it on its event loop only.
protocol TLSRecordTransport: AnyObject {
    /// Reads the available bytes into `target`, up to its size.
    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult
    /// Whether the transport has no more bytes if ``receive(_:)`` returned fewer bytes than requested.
    var isDrainedByShortRead: Bool { get }
    /// Sends as many bytes as the transport accepts now.
    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult
}

enum TransferResult {
    /// The number of transferred bytes, at least 1.
    case moved(Int)
    case wouldBlock
    /// The peer has closed its sending direction.
    case end
    case failed(SocketError)
}
