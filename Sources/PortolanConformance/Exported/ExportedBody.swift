// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// The upload body of a load, read from the runner's client as a plugin reads it: within calls into the load.
enum ExportedBody {
    static func body(of load: ExportedLoad, length: Int64?) -> Body {
        let wasOpened = Atomic(false)
        return Body(length: length, isRewindable: true) { [weak load] () throws(LoadError) in
            guard let load else { throw LoadError(.bodyFailed, message: "the load of this body is over") }
            return Reader(load, rewinds: wasOpened.exchange(true, ordering: .acquiringAndReleasing))
        }
    }

    /// Buffers the bytes that were read within a call into the load, until the handler reads them.
    private final class Reader: BodyReader {
        private static let pieceSize = 1 << 16

        private let load: ExportedLoad
        private let state: Mutex<State>

        private struct State {
            /// Whether the body has to be rewound before the next read.
            var rewinds: Bool
            var piece: ArraySlice<UInt8> = []
            /// The result of reads after the last piece: the end or a failure; `nil` before the last piece.
            var end: BodyRead?
        }

        init(_ load: ExportedLoad, rewinds: Bool) {
            self.load = load
            state = Mutex(State(rewinds: rewinds))
        }

        func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
            if let result = copyBufferedBytes(into: &buffer) { return result }
            requestPiece(whenReady)
            return .wait
        }

        func close() {}

        /// Requests the next piece. It is read within a call into the load: the current call, or a later one.
        private func requestPiece(_ whenReady: @escaping @Sendable () -> Void) {
            load.deliver { [self] in readPiece(whenReady) }
        }

        /// Runs within a call into the load. If no bytes are available, reads again when the client wakes the load for
        /// them.
        private func readPiece(_ whenReady: @escaping @Sendable () -> Void) -> portolan_flow {
            let (bytes, count) = load.readBody(atMost: Self.pieceSize, rewinding: state.withLock { $0.rewinds })
            switch count {
            case Int64(PORTOLAN_WAIT.rawValue):
                load.keep(ExportedLoad.Event(kind: .other) { [self] in readPiece(whenReady) })
                return PORTOLAN_CONTINUE
            case Int64(PORTOLAN_STOPPED.rawValue): return PORTOLAN_STOPPED
            default: break
            }
            state.withLock { state in
                (state.rewinds, state.piece) = (false, bytes[...])
                if count == 0 { state.end = .end }
                if count < 0 { state.end = .failed(LoadError(.bodyFailed, message: "the body can't be read again")) }
            }
            whenReady()
            return PORTOLAN_CONTINUE
        }

        private func copyBufferedBytes(into buffer: inout OutputRawSpan) -> BodyRead? {
            let capacity = buffer.freeCapacity
            let (bytes, end) = state.withLock { state in
                let bytes = state.piece.prefix(capacity)
                state.piece = state.piece.dropFirst(bytes.count)
                return (bytes, state.end)
            }
            for byte in bytes { buffer.append(byte) }
            return bytes.isEmpty ? end : .bytes
        }
    }
}

extension ExportedLoad {
    /// The next bytes, and the client's return value, or `Int64.min` if the body cannot be rewound.
    fileprivate func readBody(atMost capacity: Int, rewinding: Bool) -> (bytes: [UInt8], count: Int64) {
        if rewinding {
            let rewindResult = unsafe client.pointee.rewind_body(client)
            guard rewindResult == 1 else { return ([], rewindResult == PORTOLAN_STOPPED.rawValue ? Int64(rewindResult) : .min) }
        }
        var count = Int64(0)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            count = unsafe client.pointee.read_body(client, base, capacity)
            initialized = Int(max(0, count))
        }
        return (bytes, count)
    }
}
