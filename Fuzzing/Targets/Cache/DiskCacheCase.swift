// SPDX-License-Identifier: Apache-2.0

@_spi(Fuzzing) import PortolanStore

/// Reads what the index of a cache on disk has: any octets as the record of an entry, or the row of a response with
/// some octets changed. A record that can be read must stay the same when it is written and read again. A changed row
/// must be refused.
enum DiskCacheCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        guard let first = input.first else { return }
        if first % 2 == 0 { try checkRecord(Array(input.dropFirst())) } else { try checkChangedRow(Array(input.dropFirst())) }
    }

    private static func checkRecord(_ octets: [UInt8]) throws(FuzzFinding) {
        guard let once = DiskCacheFuzzing.rewrittenRecord(octets) else { return }
        try require(DiskCacheFuzzing.rewrittenRecord(once) == once, "a record that is read and written again is different")
    }

    /// The first octet is the number of changes. Each of them has three octets: a position, and what is added there.
    /// The rest is the body.
    private static func checkChangedRow(_ input: [UInt8]) throws(FuzzFinding) {
        let count = min(Int(input.first ?? 0) % 8, input.count / 3)
        let changes = input.dropFirst().prefix(count * 3)
        let body = Array(input.dropFirst(1 + count * 3))
        guard let row = DiskCacheFuzzing.row(body: body, position: Int64(count) * 1000, tag: "\"\(body.count)\"") else { return }
        guard let original = DiskCacheFuzzing.read(row) else { throw FuzzFinding("an intact row is refused") }
        try require(original.record == row.record && original.body == body, "an intact row is read in another way")
        var changed = row
        var rest = changes
        while rest.count >= 3 {
            let change = Array(rest.prefix(3))
            rest = rest.dropFirst(3)
            let position = (Int(change[0]) << 8 | Int(change[1])) % (row.record.count + row.body.count)
            if position < row.record.count {
                changed.record[position] ^= change[2]
            } else {
                changed.body[position - row.record.count] ^= change[2]
            }
        }
        guard changed != row else { return }
        try require(DiskCacheFuzzing.read(changed) == nil, "a changed row is read")
    }
}
