// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// What carries the records of a TLS session: a socket, or another session. In the turns of its loop only.
protocol TLSRecordTransport: AnyObject {
    /// Reads what is there into `target`, as much as fits.
    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult
    /// Whether nothing more can be there after a ``receive(_:)`` that gave less than was asked for.
    var isDrained: Bool { get }
    /// Sends as much as it takes now.
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
