// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// The memory into which a load reads one piece after the other. It exists while the load has a thread.
@safe
struct PieceBuffer: ~Copyable {  // … because it owns its memory and exposes only bytes that were read
    /// The maximum size of a piece in bytes. Measured on a warm page cache, one second of processor time reads 19 GB in
    /// pieces of this size, and 12 GB in pieces of 256 KiB. If the client uses the bytes, the numbers are 13 GB and
    /// 10 GB.
    static let maximumSize = 1 << 20
    /// In bytes.
    private static let pageSize = 4096

    private let memory: UnsafeMutableRawBufferPointer
    private var count = 0

    /// Allocates whole pages for a piece of the maximum size, or for `length` bytes if that is less.
    init(forLength length: Int64?) {
        let pieceSize = length.map { Int(clamping: min($0, Int64(Self.maximumSize))) } ?? Self.maximumSize
        let pages = max(1, (pieceSize + Self.pageSize - 1) / Self.pageSize)
        // The memory is not page-aligned, because glibc takes memory that is aligned to more than 16 bytes from the
        // system each time. A load that is paused after each piece would then spend more time on 256 page faults than
        // on the read (mallopt(3), M_MMAP_THRESHOLD).
        unsafe memory = .allocate(byteCount: pages * Self.pageSize, alignment: 16)
    }

    deinit { unsafe memory.deallocate() }

    /// Reads a piece in place of the previous one.
    ///
    /// - Returns: the number of bytes; 0 at the end of the file.
    mutating func read(from file: borrowing RegularFile, at offset: Int64, atMost limit: Int64?) throws(LoadError) -> Int {
        var output = unsafe OutputRawSpan(buffer: memory, initializedCount: 0)
        count = try file.read(into: &output, atMost: limit.map(Int.init(clamping:)) ?? .max, from: offset)
        _ = unsafe output.finalize(for: memory)
        return count
    }

    /// Delivers the piece to `client`, which borrows it for the call.
    func deliver(to client: any ProtocolClient) -> Flow {
        let piece = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
        return unsafe client.didLoad(piece.bytes)
    }
}
