// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The names of common response fields. They are made once, so that parsing a head does not make them again.
///
/// The table contains each name in two spellings, such as `Content-Type` and `content-type`, and no other spelling.
package final class FieldNameTable: Sendable {
    package static let common = FieldNameTable(of: commonNames)

    private struct Entry: Sendable {
        let name: HTTPField.Name
        let role: FramingRole
        /// The offset of the name in `spellings`.
        let start: Int
        let count: Int
    }

    private static let slotCount = 512

    private let entries: [Entry]
    private let spellings: [UInt8]
    /// A hash table: the index of an entry plus one, or 0 for a free slot. If the slot of a name's hash is in use, the
    /// entry is in the next free slot.
    private let slots: [UInt16]

    private init(of names: [String]) {
        var entries: [Entry] = []
        var spellings: [UInt8] = []
        var slots = [UInt16](repeating: 0, count: Self.slotCount)
        for text in names.flatMap({ [$0, $0.lowercased()] }) {
            guard let name = HTTPField.Name(text) else { continue }
            let octets = Array(text.utf8)
            var slot = Self.slot(of: octets.span)
            while slots[slot] != 0 { slot = (slot + 1) & (Self.slotCount - 1) }
            entries.append(Entry(name: name, role: FramingRole(of: name), start: spellings.count, count: octets.count))
            slots[slot] = UInt16(entries.count)
            spellings += octets
        }
        self.entries = entries
        self.spellings = spellings
        self.slots = slots
    }

    /// Finds the name with exactly this spelling.
    @inline(__always)
    package func find(_ octets: Span<UInt8>) -> (name: HTTPField.Name, role: FramingRole)? {
        guard !octets.isEmpty else { return nil }
        var slot = Self.slot(of: octets)
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if hasSpelling(index, octets) { return (entries[index].name, entries[index].role) }
            slot = (slot + 1) & (Self.slotCount - 1)
        }
        return nil
    }

    @inline(__always)
    private func hasSpelling(_ index: Int, _ octets: Span<UInt8>) -> Bool {
        guard entries[index].count == octets.count else { return false }
        let start = entries[index].start
        for position in octets.indices where spellings[start + position] != octets[position] { return false }
        return true
    }

    @inline(__always)
    private static func slot(of octets: Span<UInt8>) -> Int {
        let count = octets.count
        let first = Int(octets[0] & 0x1F)
        let middle = Int(octets[count / 2])
        let last = Int(octets[count - 1])
        return (count &* 71 &+ first &* 5 &+ middle &* 17 &+ last &* 29) & (slotCount - 1)
    }

    private static let commonNames = [
        "Content-Length", "Transfer-Encoding", "Connection",
        "Accept-Ranges", "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
        "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Age", "Allow", "Alt-Svc",
        "Cache-Control", "Cache-Status", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
        "Content-Range", "Content-Security-Policy", "Content-Type", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Date",
        "ETag", "Etag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "NEL", "Permissions-Policy", "Pragma",
        "Proxy-Authenticate", "Referrer-Policy", "Report-To", "Retry-After", "Server", "Server-Timing", "Set-Cookie",
        "Strict-Transport-Security", "Timing-Allow-Origin", "Trailer", "Upgrade", "Vary", "Via", "Warning", "WWW-Authenticate",
        "X-Cache", "X-Cache-Hits", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id", "X-Served-By",
        "X-Timer", "X-XSS-Protection",
    ]
}

/// How a field affects the end of the message, or the connection.
package enum FramingRole: Sendable {
    case none, contentLength, transferEncoding, connection

    package init(of name: HTTPField.Name) {
        switch name.canonicalName {
        case "content-length": self = .contentLength
        case "transfer-encoding": self = .transferEncoding
        case "connection": self = .connection
        default: self = .none
        }
    }
}
