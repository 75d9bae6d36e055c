// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore

/// Events that a stage has received and not forwarded yet.
struct BufferedEvents {
    enum End {
        case finished
        case failed(LoadError)
    }

    var bytes = BufferedInput()
    /// Always buffered, because the transform may deliver data until the end.
    var trailers: HTTPFields?
    var end: End?
}

/// Buffered input bytes, and the number of them that were consumed.
struct BufferedInput {
    private(set) var bytes: [UInt8] = []
    private var position = 0

    /// Copies `input` behind the existing bytes.
    mutating func append(_ input: borrowing RawSpan) {
        unsafe input.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Calls `use` to consume bytes from the current position on. After all were consumed, the memory is retained for
    /// the next pause.
    mutating func consume(_ use: (borrowing RawSpan, inout Int) -> Flow) -> Flow {
        var newPosition = position
        let flow = unsafe use(bytes.span.bytes, &newPosition)
        position = newPosition
        if position == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            position = 0
        }
        return flow
    }
}
