// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

/// Reads the body of a request in pieces while it is sent. Use it on one event loop.
@safe
final class RequestBodySource {
    /// The size of a piece in bytes. Large enough for efficient system calls.
    static let pieceSize = 64 << 10

    /// The size of a piece that the kernel sends from a file. Larger, because its bytes are not copied.
    private static let filePieceSize = 256 << 10

    enum ReadResult {
        /// The number of bytes read.
        case bytes(Int)
        /// No bytes are available now. `whenReady` will be called.
        case wait
        case end
        case failed(LoadError)
    }

    let length: Int64?
    private let reader: any BodyReader
    private var fileReader: (any FileBackedReader)?
    /// The number of bytes that were read from the whole body.
    private var totalReadCount: Int64 = 0
    private var buffer = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Whether all bytes were read; `false` if the length is unknown. The reader may not have returned `.end` yet.
    var isAllRead: Bool { totalReadCount == length }
    /// Whether reading has begun, so that the body must be rewound before it is sent again.
    private(set) var hasStartedReading = false

    init(_ body: Body) throws(LoadError) {
        length = body.length
        reader = try body.makeReader()
        fileReader = reader as? any FileBackedReader
    }

    /// Whether the kernel can send the bytes from a file.
    var canSendFromFile: Bool { fileReader != nil }

    /// Makes the kernel send the next piece from the file, without copying it.
    ///
    /// - Returns: how many bytes the transport accepted. 0 if it is full, or can't send from a file. In the second case
    ///   ``canSendFromFile`` becomes `false`.
    func sendNext(over transport: any ByteConnection) -> Int {
        guard let fileReader else { return 0 }
        hasStartedReading = true
        switch fileReader.send({ transport.write(file: $0, from: $1, atMost: min($2, Self.filePieceSize)) }) {
        case .sent(let sentCount):
            totalReadCount += Int64(sentCount)
            return sentCount
        case .full: return 0
        case .unable:
            self.fileReader = nil
            return 0
        }
    }

    /// Reads the next piece. ``withPiece(ofSize:_:)`` gives access to it.
    ///
    /// - Parameter whenReady: called after `.wait`, on any thread, when more bytes are available.
    func next(whenReady: @escaping @Sendable () -> Void) -> ReadResult {
        if unsafe buffer.isEmpty { unsafe buffer = .allocate(byteCount: Self.pieceSize, alignment: 16) }
        return unsafe next(into: buffer, whenReady: whenReady)
    }

    /// Reads the next piece into `target`.
    func next(into target: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void) -> ReadResult {
        hasStartedReading = true
        var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
        let result = reader.read(into: &output, whenReady: whenReady)
        let readByteCount = unsafe output.finalize(for: target)
        switch result {
        case .bytes:
            totalReadCount += Int64(readByteCount)
            return .bytes(readByteCount)
        case .wait: return .wait
        case .end: return .end
        case .failed(let error): return .failed(error)
        }
    }

    /// Calls `access` with the first `count` bytes of the piece that ``next(whenReady:)`` has read. `access` borrows
    /// the bytes.
    func withPiece(ofSize count: Int, _ access: (borrowing RawSpan) -> Void) {
        access(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
    }

    deinit { unsafe buffer.deallocate() }

    func close() { reader.close() }
}
