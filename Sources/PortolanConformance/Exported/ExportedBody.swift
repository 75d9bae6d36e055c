// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

/// The upload body of a load, read from the judge's client as a plugin reads it: in turns.
enum ExportedBody {
    static func body(of load: ExportedLoad, length: Int64?) -> Body {
        let wasOpened = Atomic(false)
        return Body(length: length, isRewindable: true) { [weak load] () throws(LoadError) in
            guard let load else { throw LoadError(.bodyFailed, message: "the load of this body is over") }
            return Reader(load, rewinds: wasOpened.exchange(true, ordering: .acquiringAndReleasing))
        }
    }

    /// What was read in a turn, and not given to the load yet.
    private final class Reader: BodyReader {
        private static let pieceSize = 1 << 16

        private let load: ExportedLoad
        private let state: Mutex<State>

        private struct State {
            /// Whether the body has to begin again before it is read.
            var rewinds: Bool
            var piece: ArraySlice<UInt8> = []
            var end: BodyRead?
        }

        init(_ load: ExportedLoad, rewinds: Bool) {
            self.load = load
            state = Mutex(State(rewinds: rewinds))
        }

        func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
            if let answer = take(into: &buffer) { return answer }
            ask(whenReady)
            return .wait
        }

        func close() {}

        /// Reads the next piece in a turn, which may be this one.
        private func ask(_ whenReady: @escaping @Sendable () -> Void) {
            load.tell { [self] in readPiece(whenReady) }
        }

        /// In a turn. Where there is nothing yet, it is asked for again in the next one that the client has for it.
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

        private func take(into buffer: inout OutputRawSpan) -> BodyRead? {
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
    /// The next bytes, and what the client answered; `Int64.min` where it can't begin again.
    fileprivate func readBody(atMost capacity: Int, rewinding: Bool) -> (bytes: [UInt8], count: Int64) {
        if rewinding {
            let rewound = unsafe client.pointee.rewind_body(client)
            guard rewound == 1 else { return ([], rewound == PORTOLAN_STOPPED.rawValue ? Int64(rewound) : .min) }
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
