// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The field lines of the previous head. A server often sends the same lines again. Then the parser reuses the parsed
/// fields.
///
/// At most 64 lines with a total of 4 KiB are stored, because they stay in memory as long as the connection.
struct RecentLines {
    private static let maximumLineCount = 64
    private static let maximumByteCount = 4 << 10

    /// All lines, one after the other, without line ends.
    private var bytes: [UInt8] = []
    /// The offset in `bytes` at which each line ends.
    private var ends: [Int] = []
    private var roles: [FramingRole] = []

    /// The framing role of the line at this index; `nil` if the line differs from `line`.
    @inline(__always)
    func role(of line: Span<UInt8>, at index: Int) -> FramingRole? {
        guard index < ends.count else { return nil }
        let start = index == 0 ? 0 : ends[index - 1]
        guard ends[index] - start == line.count else { return nil }
        let isSame = unsafe bytes.withUnsafeBytes { storedBytes in
            unsafe line.withUnsafeBytes { newBytes in
                guard let storedStart = storedBytes.baseAddress, let newStart = newBytes.baseAddress else { return true }
                return unsafe memcmp(storedStart + start, newStart, line.count) == 0
            }
        }
        return isSame ? roles[index] : nil
    }

    /// Stores a line at an existing index, or at the next one.
    mutating func store(_ line: Span<UInt8>, _ role: FramingRole, at index: Int) {
        guard index <= ends.count, index < Self.maximumLineCount else { return }
        if bytes.isEmpty { reserve() }
        let start = index == 0 ? 0 : ends[index - 1]
        let end = index < ends.count ? ends[index] : start
        let growth = line.count - (end - start)
        guard bytes.count + growth <= Self.maximumByteCount else { return removeLines(from: index) }
        unsafe line.withUnsafeBufferPointer { unsafe bytes.replaceSubrange(start..<end, with: $0) }
        if index == ends.count {
            ends.append(start)
            roles.append(role)
        }
        roles[index] = role
        for shiftedIndex in index..<ends.count { ends[shiftedIndex] += growth }
    }

    /// Reserves the memory that most heads need.
    private mutating func reserve() {
        bytes.reserveCapacity(512)
        ends.reserveCapacity(16)
        roles.reserveCapacity(16)
    }

    /// Removes the line at this index and all later ones.
    mutating func removeLines(from index: Int) {
        guard index < ends.count else { return }
        bytes.removeSubrange((index == 0 ? 0 : ends[index - 1])...)
        ends.removeSubrange(index...)
        roles.removeSubrange(index...)
    }
}
