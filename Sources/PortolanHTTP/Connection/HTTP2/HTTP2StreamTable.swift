// SPDX-License-Identifier: Apache-2.0

/// The open streams of a connection, sorted by number. New streams have higher numbers, so they are appended.
struct HTTP2StreamTable {
    private var entries: [(number: Int32, stream: HTTP2Stream)] = []

    /// - Parameter number: higher than all earlier numbers.
    mutating func append(_ stream: HTTP2Stream, number: Int32) { entries.append((number, stream)) }

    var numbers: [Int32] { entries.map(\.number) }

    func find(_ number: Int32) -> HTTP2Stream? {
        index(of: number).map { entries[$0].stream }
    }

    /// Whether the table has a stream with this number or a lower one.
    func hasAny(upTo number: Int32) -> Bool { entries.first.map { $0.number <= number } ?? false }

    @discardableResult
    mutating func remove(_ number: Int32) -> HTTP2Stream? {
        index(of: number).map { entries.remove(at: $0).stream }
    }

    /// Removes the streams with higher numbers and returns them in their order.
    mutating func removeAll(above number: Int32) -> [HTTP2Stream] {
        let start = lowerBound(of: number) + (index(of: number) == nil ? 0 : 1)
        defer { entries.removeSubrange(start...) }
        return entries[start...].map(\.stream)
    }

    private func index(of number: Int32) -> Int? {
        let index = lowerBound(of: number)
        return index < entries.count && entries[index].number == number ? index : nil
    }

    private func lowerBound(of number: Int32) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
