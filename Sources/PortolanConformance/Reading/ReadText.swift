// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanPlugins

/// A text as a plugin gave it.
struct ReadText: Hashable, Sendable {
    /// `nil` if the text is absent, and empty if it cannot be read.
    let bytes: [UInt8]?
    /// Whether its length was out of range, or its memory cannot be read.
    let isUnreadable: Bool

    /// The limit of every text of the contract, in bytes.
    private static let maximumLength = 1 << 24

    init(_ string: portolan_string) {
        guard let start = unsafe string.bytes else {
            (bytes, isUnreadable) = (nil, false)
            return
        }
        let length = unsafe string.length
        guard (0...Self.maximumLength).contains(length), unsafe ReadableMemory.contains(start, length) else {
            (bytes, isUnreadable) = ([], true)
            return
        }
        unsafe bytes = Array(UnsafeRawBufferPointer(start: start, count: length))
        isUnreadable = false
    }

    /// The text; `nil` if it is absent, unreadable or not UTF-8.
    var text: String? { isUnreadable ? nil : bytes.flatMap { String(validating: $0, as: UTF8.self) } }

    /// The text in quotes, for a finding.
    var quoted: String {
        if isUnreadable { return "(unreadable)" }
        return bytes.map { "'\(Text.oneLine(String(decoding: $0, as: UTF8.self), limit: 120))'" } ?? "(absent)"
    }
}
