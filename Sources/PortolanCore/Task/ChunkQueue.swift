// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Delivers a body in pieces to one reader that requests them: the sink of ``Loader/bytes(for:delegate:)``.
///
/// If more bytes wait than the limit, the handler is paused. It is resumed when half of them are read. Memory stays
/// within the limit plus one delivery.
final class ChunkQueue: DelegatingDelegate {
    typealias Piece = Result<[UInt8]?, LoadError>
    typealias Head = Result<Response, LoadError>

    fileprivate struct State {
        var head: Head?
        var chunks: [[UInt8]] = []
        /// The first chunk that was not read.
        var first = 0
        var waiting = 0
        var end: Piece?
        /// The reader has received the end.
        var hasEnded = false
        /// The reader was cancelled. The end is its error.
        var isCancelled = false
        var isPaused = false
        var headReader: (@Sendable (Head) -> Void)?
        var reader: (@Sendable (Piece) -> Void)?
    }

    /// Small pieces are merged up to this size.
    private static let coalescedSize = 16 << 10

    let delegate: (any LoadDelegate)?
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int, delegate: (any LoadDelegate)?) {
        self.limit = max(0, limit)
        self.delegate = delegate
    }

    // MARK: The reader's side

    /// Calls `body` once, with the response or the reason why there is none.
    func whenHeadIsKnown(_ body: @escaping @Sendable (Head) -> Void) {
        let head = state.withLock { state -> Head? in
            if state.head == nil { state.headReader = body }
            return state.head
        }
        if let head { body(head) }
    }

    var head: Head? { state.withLock { $0.head } }

    /// Returns the next piece, if there is one. A `nil` inside the piece is the end. One reader at a time.
    func next(of task: LoadTask) -> Piece? {
        let (piece, resumes) = state.withLock { $0.next(limit: limit) }
        if resumes { task.readMore() }
        return piece
    }

    /// Calls `body` once, with the next piece.
    func whenNext(of task: LoadTask, _ body: @escaping @Sendable (Piece) -> Void) {
        let (piece, resumes) = state.withLock { state -> (Piece?, Bool) in
            guard state.reader == nil else {
                return (
                    .failure(LoadError(.badRequest, message: "a body is read by one reader at a time, and another one is waiting")), false
                )
            }
            let next = state.next(limit: limit)
            if next.0 == nil { state.reader = body }
            return next
        }
        if resumes { task.readMore() }
        if let piece { body(piece) }
    }

    /// The reader wants nothing more. Drops the waiting bytes. The reader receives `error`, unless it has already
    /// received the end.
    func cancel(_ error: LoadError) {
        state.withLock { $0.cancel(error) }
    }

    // MARK: The load's side

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        let reader = state.withLock { state -> (@Sendable (Head) -> Void)? in
            guard state.head == nil else { return nil }
            state.head = .success(response)
            defer { state.headReader = nil }
            return state.headReader
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
        delegate?.loadTask(task, didEndWith: error)
        let end: Piece = error.map { .failure($0) } ?? .success(nil)
        let (headReader, reader) = state.withLock { state in
            let head: Head = .failure(error ?? LoadError(.unknown, message: "the load finished without a response"))
            if state.head == nil { state.head = head }
            if error?.code == .cancelled { state.drop() }
            if !state.isCancelled { state.end = end }
            if state.reader != nil { state.hasEnded = true }
            defer { (state.headReader, state.reader) = (nil, nil) }
            return (state.headReader.map { ($0, head) }, state.reader)
        }
        if let (read, head) = headReader { read(head) }
        reader?(end)
    }
}

extension ChunkQueue.State {
    fileprivate mutating func next(limit: Int) -> (ChunkQueue.Piece?, resumes: Bool) {
        guard first < chunks.count else {
            if end != nil { hasEnded = true }
            return (end, false)
        }
        let chunk = chunks[first]
        chunks[first] = []
        first += 1
        if first == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            first = 0
        }
        waiting -= chunk.count
        guard isPaused, waiting <= limit / 2 else { return (.success(chunk), false) }
        isPaused = false
        return (.success(chunk), true)
    }

    fileprivate mutating func cancel(_ error: LoadError) {
        guard !hasEnded else { return }
        drop()
        isCancelled = true
        end = .failure(error)
    }

    fileprivate mutating func drop() {
        chunks = []
        (first, waiting) = (0, 0)
    }

    /// - Returns: the waiting reader that receives the chunk immediately, if there is one.
    fileprivate mutating func append(
        _ chunk: [UInt8], limit: Int, coalescedSize: Int
    ) -> ((@Sendable (ChunkQueue.Piece) -> Void)?, Flow) {
        if let reader {
            self.reader = nil
            return (reader, .keepGoing)
        }
        waiting += chunk.count
        if first < chunks.count, chunks[chunks.count - 1].count + chunk.count <= coalescedSize {
            chunks[chunks.count - 1] += chunk
        } else {
            if first > 64, first * 2 > chunks.count {
                chunks.removeFirst(first)
                first = 0
            }
            chunks.append(chunk)
        }
        guard waiting > limit else { return (nil, .keepGoing) }
        isPaused = true
        return (nil, .pause)
    }
}

extension [UInt8] {
    init(copying bytes: borrowing RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
    }
}
