// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import PortolanCore

/// What a stage was given and has not passed on yet.
struct BufferedEvents {
    enum End {
        case finished
        case failed(LoadError)
    }

    var bytes = BufferedInput()
    /// Kept in any case: data may come out of the transform until the end.
    var trailers: HTTPFields?
    var end: End?
}

/// Bytes of input, and how many of them were taken.
struct BufferedInput {
    private(set) var bytes: [UInt8] = []
    private var position = 0

    /// Copies what comes behind what is there.
    mutating func append(_ input: borrowing RawSpan) {
        unsafe input.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Has `use` take bytes from where the last one stopped. When all were taken the memory stays, for the next pause.
    mutating func take(_ use: (borrowing RawSpan, inout Int) -> Flow) -> Flow {
        var taken = position
        let flow = unsafe use(bytes.span.bytes, &taken)
        position = taken
        if position == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            position = 0
        }
        return flow
    }
}
