// SPDX-License-Identifier: Apache-2.0

/// Which bytes of a source the program has read. Each byte of a source has its position as its value.
struct ReadPositions {
    static let limit = 256

    /// When a read began.
    struct Mark {
        fileprivate let epoch: Int
        fileprivate let position: Int
    }

    private var epoch = 0
    private var base = 0
    private var wasRead = [Bool](repeating: false, count: limit)
    /// The position of the next byte.
    private(set) var position = 0
    /// `false` after a read that was running while the offset was set.
    private(set) var isKnown = true

    func begin() -> Mark { Mark(epoch: epoch, position: position) }

    /// - Returns: why the bytes are wrong.
    mutating func end(_ mark: Mark, _ bytes: [UInt8]) -> String? {
        guard let first = bytes.first.map(Int.init) else { return nil }
        guard mark.epoch == epoch else {
            isKnown = false
            return nil
        }
        guard isKnown else { return nil }
        guard first >= mark.position else { return "byte \(first) was read after byte \(mark.position - 1)" }
        for (index, byte) in bytes.enumerated() {
            guard Int(byte) == first + index else { return "byte \(byte) was read instead of byte \(first + index)" }
            guard !wasRead[Int(byte)] else { return "byte \(byte) was read twice" }
            wasRead[Int(byte)] = true
        }
        position = max(position, first + bytes.count)
        return nil
    }

    mutating func seek(to offset: Int) {
        epoch += 1
        (base, position, isKnown) = (offset, offset, true)
        wasRead = [Bool](repeating: false, count: Self.limit)
    }

    /// Whether each byte up to `end` was read since the offset was set.
    func includesAll(upTo end: Int) -> Bool { !isKnown || end <= base || wasRead[base..<end].allSatisfy { $0 } }
}

/// The bytes of calls that can be nested in each other, in the order in which the calls began.
struct CallBytes {
    private var calls: [[UInt8]] = []

    var all: [UInt8] { Array(calls.joined()) }

    /// - Returns: the number of the call.
    mutating func begin() -> Int {
        calls.append([])
        return calls.count - 1
    }

    mutating func end(_ number: Int, _ bytes: [UInt8]) { calls[number] = bytes }
}
