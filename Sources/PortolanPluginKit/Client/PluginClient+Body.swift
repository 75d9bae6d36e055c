// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The upload body, and a stored response's.
extension PluginClient {
    /// Reads the next bytes of the upload body into `buffer`, from its start; waits until there are some.
    ///
    /// - Returns: how many there are; 0 at the end.
    /// - Throws: `CancellationError` also for a body that failed: the host has ended the load with the body's own cause.
    public func readBody(into buffer: inout [UInt8]) async throws -> Int {
        try Task.checkCancellation()
        guard !buffer.isEmpty else { throw PluginError(.unknown, message: "a body was to be read into an empty buffer") }
        // The array stays with this call, which is the only one that reads into it.
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

    /// The upload body, in pieces of at most that many bytes.
    public func body(pieces: Int = 65536) -> PluginBody { PluginBody(client: self, piece: pieces) }

    /// Asks for the upload body from its start, to send it again.
    ///
    /// - Returns: `false` where it can't be had again: then fail with ``PluginError/Code/bodyFailed``.
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

    /// A stored response that the load may confirm.
    public var cachedResponse: PluginResponse? { running.cached }

    /// ``cachedResponse`` is still right, with these newer fields. In place of a response; no data follows.
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

    /// At most `count` bytes of the stored response's body from `offset`; none behind its end.
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

/// A buffer on its way through a turn.
private final class Room: @unchecked Sendable {  // … because the call that made it waits for whoever uses it
    var bytes: [UInt8]
    init(_ bytes: consuming [UInt8]) { self.bytes = bytes }
}

/// An upload body, to be read once. Not reading makes the upload wait.
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
