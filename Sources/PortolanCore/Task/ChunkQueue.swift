// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The delegate of ``Loader/bytes(for:delegate:)``. It buffers the body for one reader, which requests it in pieces.
///
/// If more bytes are buffered than the limit, the handler is paused. It is resumed when at most half of the limit is
/// still buffered. The buffer holds at most the limit and one delivery.
final class ChunkQueue: ForwardingDelegate {
    typealias Piece = Result<[UInt8]?, LoadError>
    typealias ResponseResult = Result<Response, LoadError>

    fileprivate struct State {
        var response: ResponseResult?
        var chunks: [[UInt8]] = []
        /// The index of the first chunk that was not read.
        var firstUnreadIndex = 0
        /// The reader has received a chunk, or has reserved the body.
        var isClaimed = false
        var bufferedByteCount = 0
        var end: Piece?
        /// The reader has received the end.
        var hasReaderEnded = false
        /// The reader was cancelled. `end` is the error that it receives.
        var isCancelled = false
        var isPaused = false
        var responseReader: (@Sendable (ResponseResult) -> Void)?
        var reader: (@Sendable (Piece) -> Void)?
    }

    /// A delivery is appended to the last unread chunk if that chunk then has at most this many bytes.
    private static let coalescedSize = 16 << 10

    let delegate: (any LoadDelegate)?
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int, delegate: (any LoadDelegate)?) {
        self.limit = max(0, limit)
        self.delegate = delegate
    }

    // MARK: Called by the reader

    /// Calls `receive` once, with the response or the reason why there is none.
    func whenResponseIsKnown(_ receive: @escaping @Sendable (ResponseResult) -> Void) {
        let response = state.withLock { state -> ResponseResult? in
            if state.response == nil { state.responseReader = receive }
            return state.response
        }
        if let response { receive(response) }
    }

    /// Reserves the body for one reader.
    ///
    /// - Returns: `false` if a chunk was read, or the body was reserved, before this call.
    func reserveUnreadBody() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    var response: ResponseResult? { state.withLock { $0.response } }

    /// Returns the next piece if one is buffered. A piece that contains `nil` is the end. One reader at a time.
    func nextPiece(of task: LoadTask) -> Piece? {
        let (piece, mustResume) = state.withLock { $0.next(limit: limit) }
        if mustResume { task.readMore() }
        return piece
    }

    /// Calls `receive` once, with the next piece.
    func whenNextPiece(of task: LoadTask, _ receive: @escaping @Sendable (Piece) -> Void) {
        let (piece, mustResume) = state.withLock { state -> (Piece?, Bool) in
            guard state.reader == nil else {
                return (
                    .failure(LoadError(.badRequest, message: "a body is read by one reader at a time, and another one is waiting")), false
                )
            }
            let next = state.next(limit: limit)
            if next.0 == nil { state.reader = receive }
            return next
        }
        if mustResume { task.readMore() }
        if let piece { receive(piece) }
    }

    /// Cancels the reader and drops the buffered bytes. The reader receives `error`, unless it has already received the
    /// end.
    func cancel(_ error: LoadError) {
        state.withLock { $0.cancel(error) }
    }

    // MARK: Called by the load

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        let reader = state.withLock { state -> (@Sendable (ResponseResult) -> Void)? in
            guard state.response == nil else { return nil }
            state.response = .success(response)
            defer { state.responseReader = nil }
            return state.responseReader
        }
        reader?(.success(response))
        return .keepGoing
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        let chunk = [UInt8](copying: bytes)
        let (reader, flow) = state.withLock { state in
            state.isCancelled ? (nil, .stopped) : state.append(chunk, limit: limit, coalescedSize: Self.coalescedSize)
        }
        reader?(.success(chunk))
        if let delegate { task.notifyDelegateOfReceivedBytes(delegate) }
        return flow
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        forwardEnd(of: task, error)
        let end: Piece = error.map { .failure($0) } ?? .success(nil)
        let (responseReader, reader) = state.withLock { state in
            let failure: ResponseResult = .failure(error ?? LoadError(.unknown, message: "the load finished without a response"))
            if state.response == nil { state.response = failure }
            if error?.code == .cancelled { state.dropChunks() }
            if !state.isCancelled { state.end = end }
            if state.reader != nil { state.hasReaderEnded = true }
            defer { (state.responseReader, state.reader) = (nil, nil) }
            return (state.responseReader.map { ($0, failure) }, state.reader)
        }
        if let (read, failure) = responseReader { read(failure) }
        reader?(end)
    }
}

extension ChunkQueue.State {
    /// Removes and returns the next chunk, or returns the end; `nil` if the reader must wait.
    fileprivate mutating func next(limit: Int) -> (ChunkQueue.Piece?, mustResume: Bool) {
        guard firstUnreadIndex < chunks.count else {
            if end != nil { hasReaderEnded = true }
            return (end, false)
        }
        isClaimed = true
        let chunk = chunks[firstUnreadIndex]
        chunks[firstUnreadIndex] = []
        firstUnreadIndex += 1
        if firstUnreadIndex == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            firstUnreadIndex = 0
        }
        bufferedByteCount -= chunk.count
        guard isPaused, bufferedByteCount <= limit / 2 else { return (.success(chunk), false) }
        isPaused = false
        return (.success(chunk), true)
    }

    fileprivate mutating func cancel(_ error: LoadError) {
        guard !hasReaderEnded else { return }
        dropChunks()
        isCancelled = true
        end = .failure(error)
    }

    fileprivate mutating func dropChunks() {
        chunks = []
        (firstUnreadIndex, bufferedByteCount) = (0, 0)
    }

    /// Appends a chunk to the buffer, unless a reader waits.
    ///
    /// - Returns: the waiting reader, if there is one. The caller must pass the chunk to this reader.
    fileprivate mutating func append(
        _ chunk: [UInt8], limit: Int, coalescedSize: Int
    ) -> ((@Sendable (ChunkQueue.Piece) -> Void)?, Flow) {
        if let reader {
            isClaimed = true
            self.reader = nil
            return (reader, .keepGoing)
        }
        bufferedByteCount += chunk.count
        if firstUnreadIndex < chunks.count, chunks[chunks.count - 1].count + chunk.count <= coalescedSize {
            chunks[chunks.count - 1] += chunk
        } else {
            if firstUnreadIndex > 64, firstUnreadIndex * 2 > chunks.count {
                chunks.removeFirst(firstUnreadIndex)
                firstUnreadIndex = 0
            }
            chunks.append(chunk)
        }
        guard bufferedByteCount > limit else { return (nil, .keepGoing) }
        isPaused = true
        return (nil, .pause)
    }
}

extension [UInt8] {
    package init(copying bytes: borrowing RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
    }
}
