// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// An upload body whose bytes, end and failure the test supplies while a load reads it.
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

    func feed(_ bytes: [UInt8]) { update { $0.pieces.append(bytes) } }
    func finish() { update { $0.isFinished = true } }
    func fail(_ error: LoadError) { update { $0.failure = error } }

    private func update(_ change: (inout State) -> Void) {
        let whenReady = state.withLock { state in
            change(&state)
            defer { state.whenReady = nil }
            return state.whenReady
        }
        whenReady?()
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let piece: [UInt8]?
        let resultWithoutBytes: BodyRead
        (piece, resultWithoutBytes) = state.withLock { state in
            if !state.pieces.isEmpty { return (state.pieces.removeFirst(), .bytes) }
            if let failure = state.failure { return (nil, .failed(failure)) }
            if state.isFinished { return (nil, .end) }
            state.whenReady = whenReady
            return (nil, .wait)
        }
        guard let piece else { return resultWithoutBytes }
        for byte in piece { unsafe buffer.append(byte, as: UInt8.self) }
        return .bytes
    }

    func close() {}
}
