// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A body that delivers the bytes that the test feeds.
final class HandFedBody: BodyReader {
    private struct State {
        var pieces: [[UInt8]] = []
        var isFinished = false
        var failure: LoadError?
        var whenReady: (@Sendable () -> Void)?
    }

    private let state = ConditionLock(State())

    func body(length: Int64?) -> Body {
        Body(length: length, isRewindable: false) { self }
    }

    func feed(_ bytes: [UInt8]) { change { $0.pieces.append(bytes) } }
    func finish() { change { $0.isFinished = true } }
    func fail(_ error: LoadError) { change { $0.failure = error } }

    private func change(_ change: (inout State) -> Void) {
        let whenReady = state.withLock { state in
            change(&state)
            defer { state.whenReady = nil }
            return state.whenReady
        }
        whenReady?()
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let piece: [UInt8]?
        let other: BodyRead
        (piece, other) = state.withLock { state in
            if !state.pieces.isEmpty { return (state.pieces.removeFirst(), .bytes) }
            if let failure = state.failure { return (nil, .failed(failure)) }
            if state.isFinished { return (nil, .end) }
            state.whenReady = whenReady
            return (nil, .wait)
        }
        guard let piece else { return other }
        for byte in piece { unsafe buffer.append(byte, as: UInt8.self) }
        return .bytes
    }

    func close() {}
}
