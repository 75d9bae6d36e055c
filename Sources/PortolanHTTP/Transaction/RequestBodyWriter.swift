// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Reads the body of a request in pieces while it is sent. Use it on one event loop.
@safe
final class RequestBodyWriter {
    /// The size of a piece in bytes. Large enough for efficient system calls.
    static let pieceSize = 64 << 10

    /// The size of a piece that the kernel sends from a file. Larger, because its bytes are not copied.
    private static let filePieceSize = 256 << 10

    enum Piece {
        /// The number of bytes read.
        case bytes(Int)
        /// No bytes are available now. `whenReady` will be called.
        case wait
        case end
        case failed(LoadError)
    }

    let length: Int64?
    private let reader: any BodyReader
    private var file: (any FileBackedReader)?
    private var count: Int64 = 0
    private var buffer = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Whether all bytes were read. The end can still be unread.
    var isAllRead: Bool { count == length }
    /// Whether a byte of the body can have been consumed.
    private(set) var wasRead = false

    init(_ body: Body) throws(LoadError) {
        length = body.length
        reader = try body.makeReader()
        file = reader as? any FileBackedReader
    }

    /// Whether the kernel can send the bytes from a file.
    var isFile: Bool { file != nil }

    /// Makes the kernel send the next piece from the file, without copying it.
    ///
    /// - Returns: how many bytes the transport accepted. 0 if it is full, or can't send from a file. In the second case
    ///   ``isFile`` becomes `false`.
    func sendNext(over transport: any ByteConnection) -> Int {
        guard let file else { return 0 }
        wasRead = true
        switch file.send({ transport.write(file: $0, from: $1, atMost: min($2, Self.filePieceSize)) }) {
        case .took(let taken):
            count += Int64(taken)
            return taken
        case .full: return 0
        case .unable:
            self.file = nil
            return 0
        }
    }

    /// Reads the next piece. ``withPiece(_:_:)`` gives access to it.
    ///
    /// - Parameter whenReady: called on any thread.
    func next(whenReady: @escaping @Sendable () -> Void) -> Piece {
        if unsafe buffer.isEmpty { unsafe buffer = .allocate(byteCount: Self.pieceSize, alignment: 16) }
        return unsafe next(into: buffer, whenReady: whenReady)
    }

    /// Reads the next piece into `target`.
    func next(into target: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void) -> Piece {
        wasRead = true
        var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
        let result = reader.read(into: &output, whenReady: whenReady)
        let read = unsafe output.finalize(for: target)
        switch result {
        case .bytes:
            count += Int64(read)
            return .bytes(read)
        case .wait: return .wait
        case .end: return .end
        case .failed(let error): return .failed(error)
        }
    }

    /// Calls `body` with the first `count` bytes of the piece that ``next(whenReady:)`` has read. `body` borrows them.
    func withPiece(_ count: Int, _ body: (borrowing RawSpan) -> Void) {
        body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
    }

    deinit { unsafe buffer.deallocate() }

    func close() { reader.close() }
}
