// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

/// A text as a plugin gave it. `nil` bytes: absent.
struct ReadText: Hashable, Sendable {
    let bytes: [UInt8]?
    /// Its length was beyond all reason, or what it points at can't be read.
    let isUnreadable: Bool

    /// No text of the contract is longer.
    private static let largestLength = 1 << 24

    init(_ string: portolan_string) {
        guard let start = unsafe string.bytes else {
            (bytes, isUnreadable) = (nil, false)
            return
        }
        let length = unsafe string.length
        guard (0...Self.largestLength).contains(length), unsafe ReadableMemory.contains(start, length) else {
            (bytes, isUnreadable) = ([], true)
            return
        }
        unsafe bytes = Array(UnsafeRawBufferPointer(start: start, count: length))
        isUnreadable = false
    }

    /// `nil` where it is absent, unreadable or not UTF-8.
    var text: String? { isUnreadable ? nil : bytes.flatMap { String(validating: $0, as: UTF8.self) } }

    /// For a finding.
    var quoted: String {
        if isUnreadable { return "(unreadable)" }
        return bytes.map { "'\(Text.oneLine(String(decoding: $0, as: UTF8.self), limit: 120))'" } ?? "(absent)"
    }
}
