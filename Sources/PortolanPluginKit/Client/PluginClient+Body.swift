// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The upload body, and the body of a stored response.
extension PluginClient {
    /// Reads the next bytes of the upload body into `buffer`, from its start. Waits until bytes are available.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    /// - Throws: `CancellationError` if the load was stopped. Also if the body failed, because the host has then ended
    ///   the load with the body's error.
    public func readBody(into buffer: inout [UInt8]) async throws -> Int {
        try Task.checkCancellation()
        guard !buffer.isEmpty else {
            throw PluginError(.unknown, message: "readBody(into:) was called with an empty buffer; give it at least one byte")
        }
        // The array is moved, not shared, so that the host writes into it without a copy.
        let sharedBuffer = SharedBuffer(buffer)
        buffer = []
        defer { buffer = sharedBuffer.bytes }
        return try await runningLoad.perform { load, client in
            let count = unsafe sharedBuffer.bytes.withUnsafeMutableBytes { buffer -> Int64 in
                guard let start = buffer.baseAddress else { return 0 }
                return unsafe client.pointer.pointee.read_body(client.pointer, start, buffer.count)
            }
            if count == Int64(PORTOLAN_WAIT.rawValue) { return .wait(load.untilNextWake) }
            guard count >= 0 else {
                try load.apply(PORTOLAN_STOPPED)
                return .done(0)
            }
            return .done(Int(count))
        }
    }

    /// The upload body, in pieces of at most `pieceSize` bytes.
    public func body(pieceSize: Int = 65536) -> PluginBody { PluginBody(client: self, pieceSize: pieceSize) }

    /// Requests the upload body from its start, to send it again.
    ///
    /// - Returns: `false` if the body cannot be read again; then fail with ``PluginError/Code/bodyFailed``.
    public func rewindBody() async throws -> Bool {
        try await runningLoad.perform { load, client in
            switch unsafe client.pointer.pointee.rewind_body(client.pointer) {
            case 1:
                load.order.recordRewind()
                return .done(true)
            case PORTOLAN_WAIT.rawValue: return .wait(load.untilNextWake)
            case PORTOLAN_STOPPED.rawValue:
                try load.apply(PORTOLAN_STOPPED)
                return .done(false)
            default: return .done(false)
            }
        }
    }

    // MARK: A stored response

    /// The stored response, which the load can confirm. `nil` if there is none. It can be damaged: compare its
    /// validator with that of the source, and check each value that you use (CACHE-04, CACHE-06).
    public var cachedResponse: PluginResponse? { runningLoad.cachedResponse }

    /// Confirms that ``cachedResponse`` is still valid. Call this in place of `didReceive`, and deliver no data.
    ///
    /// - Parameter newer: newer fields for the stored response; `nil` if they are unchanged. The host uses only its
    ///   fields.
    public func cachedResponseIsValid(newer: PluginResponse? = nil) async throws {
        try newer?.check(isInterim: false)
        try await runningLoad.perform { load, client -> RunningLoad.AttemptResult<Void> in
            guard !load.isPaused else { return .wait(.pause) }
            try load.order.recordConfirmation(hasStoredResponse: load.cachedResponse != nil)
            guard let newer else {
                unsafe client.pointer.pointee.cached_response_is_valid(client.pointer, nil)
                return .done(())
            }
            let arena = Arena()
            var cValue = unsafe arena.response(newer)
            unsafe client.pointer.pointee.cached_response_is_valid(client.pointer, &cValue)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Returns at most `count` bytes of the stored response's body from `offset`, and at most 1 MiB. The offsets can be
    /// in any order. The result is empty at or after the end, and for a negative offset.
    ///
    /// - Throws: `CancellationError` if the body cannot be read. The host has then ended the load with an error.
    public func readCachedBody(at offset: Int64, count: Int = 65536) async throws -> [UInt8] {
        guard count > 0 else { return [] }
        let count = min(count, Self.cachedReadLimit)
        return try await runningLoad.perform { load, client in
            var bytes = [UInt8](repeating: 0, count: count)
            let readCount = unsafe bytes.withUnsafeMutableBytes { buffer -> Int64 in
                guard let start = buffer.baseAddress else { return 0 }
                return unsafe client.pointer.pointee.read_cached(client.pointer, offset, start, buffer.count)
            }
            if readCount < 0 { try load.apply(PORTOLAN_STOPPED) }
            return .done(Array(bytes.prefix(Int(max(readCount, 0)))))
        }
    }

    /// The limit of one read, because the array is allocated before the host says how many bytes there are.
    private static let cachedReadLimit = 1 << 20
}

/// A buffer that an attempt of `readBody` fills.
private final class SharedBuffer: @unchecked Sendable {  // … because `readBody` uses it only before and after the attempt
    var bytes: [UInt8]
    init(_ bytes: consuming [UInt8]) { self.bytes = bytes }
}

/// An upload body, which can be read once. The upload waits while the plugin does not read.
public struct PluginBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    let client: PluginClient
    let pieceSize: Int

    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: PluginClient
        var buffer: [UInt8]
        private var yieldCounter = ExecutorYieldCounter()

        init(client: PluginClient, buffer: [UInt8]) { (self.client, self.buffer) = (client, buffer) }

        public mutating func next() async throws -> [UInt8]? {
            if yieldCounter.shouldYield() { await Task.yield() }
            let count = try await client.readBody(into: &buffer)
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client: client, buffer: [UInt8](repeating: 0, count: Swift.min(Swift.max(pieceSize, 1), 1 << 20)))
    }
}
