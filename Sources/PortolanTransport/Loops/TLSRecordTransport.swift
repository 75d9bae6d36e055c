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
    /// Begins another iteration of the event loop, in which a TLS session reads a limited number of bytes.
    func beginIteration()
}

extension TLSRecordTransport {
    func beginIteration() {}
}

/// Bytes that were received before a TLS session has started, in front of the transport from which they came.
final class PrefixedRecordTransport: TLSRecordTransport {
    private let transport: any TLSRecordTransport
    private var prefix: ArraySlice<UInt8>
    /// Whether the last read returned bytes of the prefix, which says nothing about the transport.
    private var hasReadPrefix = false

    init(_ prefix: [UInt8], before transport: any TLSRecordTransport) {
        (self.prefix, self.transport) = (prefix[...], transport)
    }

    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult {
        hasReadPrefix = !prefix.isEmpty
        guard hasReadPrefix else { return unsafe transport.receive(target) }
        let part = prefix.prefix(target.count)
        unsafe part.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        prefix = prefix.dropFirst(part.count)
        return .moved(part.count)
    }

    var isDrainedByShortRead: Bool { !hasReadPrefix && transport.isDrainedByShortRead }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult { unsafe transport.send(bytes) }
    func beginIteration() { transport.beginIteration() }
}

enum TransferResult {
    /// The number of transferred bytes, at least 1.
    case moved(Int)
    case wouldBlock
    /// The peer has closed its sending direction.
    case end
    case failed(SocketError)
}
