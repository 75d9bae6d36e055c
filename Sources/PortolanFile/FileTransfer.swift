// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// A file that is on its way to a client: open, with the place up to which it was read.
///
/// The length is settled at the start. A file that grows meanwhile is delivered up to that length; one that shrinks fails the load.
struct FileTransfer: ~Copyable, Sendable {
    let file: RegularFile
    private var offset: Int64
    private let start: Int64
    /// One past the last byte to be delivered; `nil`: wherever the file ends.
    private let end: Int64?

    /// - Parameter range: which bytes; `nil` for a file that does not know its size: all.
    init(_ file: consuming RegularFile, range: Range<Int64>?) {
        start = range?.lowerBound ?? 0
        end = range?.upperBound
        offset = start
        self.file = file
        if (remaining ?? .max) > Int64(PieceBuffer.largest) { self.file.expectSequentialReads() }
    }

    /// How many bytes are still to be delivered, if that is known.
    var remaining: Int64? { end.map { $0 - offset } }

    /// Delivers the next piece.
    ///
    /// - Returns: the client's answer; `nil` when all was delivered before.
    /// - Throws: ``LoadError/Code/truncated`` when the file has become shorter; what ``RegularFile/read(into:atMost:from:)`` throws.
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
        return buffer.lend(to: client)
    }
}
