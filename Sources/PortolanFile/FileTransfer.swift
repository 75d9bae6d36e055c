// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// An open file whose bytes are delivered to a client, and the offset of the next byte to read.
///
/// The length is fixed at the start. A file that grows is delivered up to that length. A file that shrinks fails the
/// load.
struct FileTransfer: ~Copyable, Sendable {
    let file: RegularFile
    private var offset: Int64
    private let start: Int64
    /// The offset after the last byte to deliver; `nil` means the end of the file.
    private let end: Int64?

    /// - Parameter range: the bytes to deliver; `nil` means all bytes, if the size of the file is not known.
    init(_ file: consuming RegularFile, range: Range<Int64>?) {
        start = range?.lowerBound ?? 0
        end = range?.upperBound
        offset = start
        self.file = file
        if (remaining ?? .max) > Int64(PieceBuffer.maximumSize) { self.file.expectSequentialReads() }
    }

    /// The number of bytes still to deliver, if it is known.
    var remaining: Int64? { end.map { $0 - offset } }

    /// Delivers the next piece.
    ///
    /// - Returns: the client's result; `nil` if all bytes were delivered before.
    /// - Throws: ``LoadError/Code/truncated`` if the file became shorter; the errors of
    ///   ``RegularFile/read(into:atMost:from:)``.
    mutating func deliverPiece(in buffer: inout PieceBuffer, to client: any ProtocolClient) throws(LoadError) -> Flow? {
        if remaining == 0 { return nil }
        let count = try buffer.read(from: file, at: offset, atMost: remaining)
        guard count > 0 else {
            guard let end else { return nil }
            throw LoadError(
                .truncated,
                message:
                    "file '\(file.path)' became shorter while it was read: \(offset - start) of \(end - start) bytes came; load it again")
        }
        offset += Int64(count)
        return buffer.deliver(to: client)
    }
}
