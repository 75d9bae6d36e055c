// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The upload body, and the body of a stored response.
extension PluginClient {
    /// Reads the next bytes of the upload body into `buffer`, from its start. Waits until bytes are available.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    /// - Throws: `CancellationError`, also if the body failed: the host has then ended the load with the body's error.
    public func readBody(into buffer: inout [UInt8]) async throws -> Int {
        try Task.checkCancellation()
        guard !buffer.isEmpty else { throw PluginError(.unknown, message: "the buffer for the body is empty") }
        // Only this call reads into the array, because the array is moved into it.
        let room = Room(buffer)
        buffer = []
        defer { buffer = room.bytes }
        return try await running.perform { load, client in
            let count = unsafe room.bytes.withUnsafeMutableBytes { room -> Int64 in
                guard let start = room.baseAddress else { return 0 }
                return unsafe client.pointer.pointee.read_body(client.pointer, start, room.count)
            }
            if count == Int64(PORTOLAN_WAIT.rawValue) { return .wait(load.untilWoken) }
            guard count >= 0 else {
                try load.note(PORTOLAN_STOPPED)
                return .done(0)
            }
            return .done(Int(count))
        }
    }

    /// The upload body, in pieces of at most `pieces` bytes.
    public func body(pieces: Int = 65536) -> PluginBody { PluginBody(client: self, piece: pieces) }

    /// Requests the upload body from its start, to send it again.
    ///
    /// - Returns: `false` if the body cannot be read again; then fail with ``PluginError/Code/bodyFailed``.
    public func rewindBody() async throws -> Bool {
        try await running.perform { load, client in
            switch unsafe client.pointer.pointee.rewind_body(client.pointer) {
            case 1:
                load.order.rewound()
                return .done(true)
            case PORTOLAN_WAIT.rawValue: return .wait(load.untilWoken)
            case PORTOLAN_STOPPED.rawValue:
                try load.note(PORTOLAN_STOPPED)
                return .done(false)
            default: return .done(false)
            }
        }
    }

    // MARK: A stored response

    /// The stored response that the load may confirm.
    public var cachedResponse: PluginResponse? { running.cached }

    /// Confirms that ``cachedResponse`` is still valid, with these newer fields. Replaces a response; no data follows.
    public func cachedResponseIsValid(newer: PluginResponse? = nil) async throws {
        try newer?.check(isInterim: false)
        try await running.perform { load, client -> RunningLoad.Attempt<Void> in
            guard !load.isPaused else { return .wait(.resume) }
            try load.order.confirmation(hasStored: load.cached != nil)
            guard let newer else {
                unsafe client.pointer.pointee.cached_response_is_valid(client.pointer, nil)
                return .done(())
            }
            let arena = Arena()
            var lent = unsafe arena.response(newer)
            unsafe client.pointer.pointee.cached_response_is_valid(client.pointer, &lent)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Returns at most `count` bytes of the stored response's body from `offset`; empty at or after the end.
    public func readCached(at offset: Int64, count: Int = 65536) async throws -> [UInt8] {
        guard count > 0 else { return [] }
        return try await running.perform { load, client in
            var bytes = [UInt8](repeating: 0, count: count)
            let read = unsafe bytes.withUnsafeMutableBytes { room -> Int64 in
                guard let start = room.baseAddress else { return 0 }
                return unsafe client.pointer.pointee.read_cached(client.pointer, offset, start, room.count)
            }
            if read < 0 { try load.note(PORTOLAN_STOPPED) }
            return .done(Array(bytes.prefix(Int(max(read, 0)))))
        }
    }
}

/// A buffer that an attempt fills.
private final class Room: @unchecked Sendable {  // … because the call that made it waits until the attempt is done with it
    var bytes: [UInt8]
    init(_ bytes: consuming [UInt8]) { self.bytes = bytes }
}

/// An upload body that can be read once. The upload waits while the plugin does not read.
public struct PluginBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    let client: PluginClient
    let piece: Int

    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: PluginClient
        var buffer: [UInt8]
        private var busySteps = ExecutorYieldCounter()

        init(client: PluginClient, buffer: [UInt8]) { (self.client, self.buffer) = (client, buffer) }

        public mutating func next() async throws -> [UInt8]? {
            if busySteps.next() { await Task.yield() }
            let count = try await client.readBody(into: &buffer)
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client: client, buffer: [UInt8](repeating: 0, count: Swift.min(Swift.max(piece, 1), 1 << 20)))
    }
}
