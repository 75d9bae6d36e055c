// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
import Synchronization

extension Body {
    /// Returns one body with the bytes of all parts, in order. Its length is known if the length of each part is. It
    /// can be read again if each part can.
    package static func joining(_ parts: [Body]) -> Body {
        if parts.count == 1, let part = parts.first { return part }
        let length = parts.reduce(Optional(Int64(0))) { sum, part in
            guard let sum, let length = part.length else { return nil }
            let (total, isTooLong) = sum.addingReportingOverflow(length)
            return isTooLong ? nil : total
        }
        return Body(
            length: length, isRewindable: parts.allSatisfy(\.isRewindable), discard: { for part in parts { part.discard() } },
            open: { JoinedReader(parts) })
    }
}

/// Opens each part after the end of the previous one.
private final class JoinedReader: BodyReader {
    private struct State {
        var parts: ArraySlice<Body>
        var reader: (any BodyReader)?
        var isClosed = false
    }

    private let state: Mutex<State>

    init(_ parts: [Body]) {
        state = Mutex(State(parts: parts[...]))
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        while true {
            let reader: any BodyReader
            do throws(LoadError) {
                guard let partReader = try currentReader() else { return .end }
                reader = partReader
            } catch {
                return .failed(error)
            }
            let result = reader.read(into: &buffer, whenReady: whenReady)
            guard case .end = result else { return result }
            reader.close()
            state.withLock { $0.reader = nil }
        }
    }

    /// Returns the reader of the current part; `nil` after the last part.
    private func currentReader() throws(LoadError) -> (any BodyReader)? {
        let (reader, part) = state.withLock { state -> ((any BodyReader)?, Body?) in
            if state.isClosed { return (nil, nil) }
            if let reader = state.reader { return (reader, nil) }
            return (nil, state.parts.popFirst())
        }
        guard let part else { return reader }
        let new = try part.makeReader()
        let isClosed = state.withLock { state in
            state.reader = new
            return state.isClosed
        }
        if isClosed { new.close() }
        return new
    }

    func close() {
        let reader = state.withLock { state in
            state.isClosed = true
            return state.reader
        }
        reader?.close()
    }
}
