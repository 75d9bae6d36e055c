// SPDX-License-Identifier: Apache-2.0

import NIOCore
import PortolanCore

/// The body of a request while it is sent: reads as much as a connection takes. On one event loop.
final class Upload {
    /// Large enough to make a system call worth while, small enough to be let go of between two of them.
    static let pieceSize = 64 << 10

    /// Nothing is copied, so it may be larger.
    private static let filePieceSize = 256 << 10

    enum Piece {
        case bytes(ByteBuffer)
        /// Nothing yet; `whenReady` will be called.
        case wait
        case end
        case failed(LoadError)
    }

    let length: Int64?
    private let reader: any BodyReader
    private var file: (any FileBackedReader)?
    private var count: Int64 = 0
    /// Whether nothing but the end is left to read.
    var isAllRead: Bool { count == length }
    /// Whether a byte of it may be gone.
    private(set) var wasRead = false

    init(_ body: Body) throws(LoadError) {
        length = body.length
        reader = try body.makeReader()
        file = reader as? any FileBackedReader
    }

    /// Whether its bytes lie in a file from which a socket can take them.
    var isFile: Bool { file != nil }

    /// As ``next(_:whenReady:)``, past the process's memory.
    ///
    /// - Returns: how many bytes the socket took; 0 where it takes none for now, or can take none so: then ``isFile`` is `false` from here on.
    func sendNext(over socket: SocketTransport) -> Int {
        guard let file else { return 0 }
        wasRead = true
        switch file.send({ socket.send(file: $0, from: $1, atMost: min($2, Self.filePieceSize)) }) {
        case .took(let taken):
            count += Int64(taken)
            return taken
        case .full: return 0
        case .unable:
            self.file = nil
            return 0
        }
    }

    /// - Parameter whenReady: called on any thread.
    func next(_ allocator: ByteBufferAllocator, whenReady: @escaping @Sendable () -> Void) -> Piece {
        wasRead = true
        var buffer = allocator.buffer(capacity: Self.pieceSize)
        var answer = BodyRead.wait
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { target in
            var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
            answer = reader.read(into: &output, whenReady: whenReady)
            return unsafe output.finalize(for: target)
        }
        switch answer {
        case .bytes:
            count += Int64(buffer.readableBytes)
            return .bytes(buffer)
        case .wait: return .wait
        case .end: return .end
        case .failed(let error): return .failed(error)
        }
    }

    func close() { reader.close() }
}
