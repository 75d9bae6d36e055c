// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The field lines of the previous head, by their index. A server mostly sends the same lines again, so the parsed
/// fields can be reused.
///
/// Bounded, because it lives as long as the connection. Lines after the sixty-fourth, or beyond 4 KiB in all, are not
/// stored.
struct RecentLines {
    private static let mostLines = 64
    private static let mostBytes = 4 << 10

    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var roles: [FramingRole] = []

    /// The framing role of the line at this index, if it equals `line`.
    @inline(__always)
    func role(of line: Span<UInt8>, at place: Int) -> FramingRole? {
        guard place < ends.count else { return nil }
        let start = place == 0 ? 0 : ends[place - 1]
        guard ends[place] - start == line.count else { return nil }
        let isSame = unsafe bytes.withUnsafeBytes { mine in
            unsafe line.withUnsafeBytes { theirs in
                guard let mine = mine.baseAddress, let theirs = theirs.baseAddress else { return true }
                return unsafe memcmp(mine + start, theirs, line.count) == 0
            }
        }
        return isSame ? roles[place] : nil
    }

    /// Stores a line at an existing index, or at the next one.
    mutating func keep(_ line: Span<UInt8>, _ role: FramingRole, at place: Int) {
        guard place <= ends.count, place < Self.mostLines else { return }
        if bytes.isEmpty { reserve() }
        let start = place == 0 ? 0 : ends[place - 1]
        let end = place < ends.count ? ends[place] : start
        let growth = line.count - (end - start)
        guard bytes.count + growth <= Self.mostBytes else { return forget(from: place) }
        unsafe line.withUnsafeBufferPointer { unsafe bytes.replaceSubrange(start..<end, with: $0) }
        if place == ends.count {
            ends.append(start)
            roles.append(role)
        }
        roles[place] = role
        for index in place..<ends.count { ends[index] += growth }
    }

    /// Reserves the memory that most heads need.
    private mutating func reserve() {
        bytes.reserveCapacity(512)
        ends.reserveCapacity(16)
        roles.reserveCapacity(16)
    }

    /// Removes the line at this index and all later ones.
    mutating func forget(from place: Int) {
        guard place < ends.count else { return }
        bytes.removeSubrange((place == 0 ? 0 : ends[place - 1])...)
        ends.removeSubrange(place...)
        roles.removeSubrange(place...)
    }
}
