// SPDX-License-Identifier: Apache-2.0

/// Changes the server's records in transit.
///
/// Each change is a byte for its kind, one for the number of the record, and the data of the kind.
struct RecordScript {
    private enum Change {
        case drop
        case double
        case swapWithNext
        /// Shortens the record's payload, and optionally the length in its header.
        case cut(to: UInt8, fixesHeader: Bool)
        /// Inverts bits of one byte.
        case flip(at: Int, UInt8)
        /// Sends another record first.
        case inject([UInt8])
        /// Makes two records of the record.
        case split(at: Int)
        /// Sends an earlier record again.
        case replay(Int)
        /// Inserts bytes in the payload.
        case insert(at: Int, [UInt8])
        /// Replaces the record's type.
        case type(UInt8)
        /// Drops all further records.
        case end
    }

    private var changes: [Int: [Change]] = [:]
    private var seenRecords: [[UInt8]] = []
    private var heldBack: [UInt8] = []
    private var incompleteRecord: [UInt8] = []
    private var hasEnded = false
    /// Whether the script changed a record.
    private(set) var hasChanged = false

    init(_ source: inout ByteSource) {
        var count = 0
        while !source.isEmpty, count < 16 {
            count += 1
            let (kind, number) = (source.next(below: 12), source.next(below: 16))
            changes[number, default: []].append(Self.change(kind, &source))
        }
    }

    private static func change(_ kind: Int, _ source: inout ByteSource) -> Change {
        switch kind {
        case 0: .drop
        case 1: .double
        case 2: .swapWithNext
        case 3, 4: .cut(to: source.next(), fixesHeader: kind == 4)
        case 5: .flip(at: position(&source), max(1, source.next()))
        case 6: .inject(record(&source))
        case 7: .split(at: position(&source))
        case 8: .replay(Int(source.next()))
        case 9: .insert(at: position(&source), bytes(&source))
        case 10: .type(source.next())
        default: .end
        }
    }

    private static func position(_ source: inout ByteSource) -> Int { Int(source.next()) << 8 | Int(source.next()) }

    private static func bytes(_ source: inout ByteSource) -> [UInt8] { (0..<(source.next() & 63)).map { _ in source.next() } }

    /// Makes a record, mostly of a type that TLS defines.
    private static func record(_ source: inout ByteSource) -> [UInt8] {
        let (type, version) = (source.next(), source.next())
        return framed([type < 0x80 ? 20 + type % 5 : type, 3, version < 0x80 ? 3 : version & 7], bytes(&source))
    }

    private static func framed(_ start: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        start + [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)] + payload
    }

    /// Changes the complete records in the server's output.
    ///
    /// - Returns: The bytes for the client.
    mutating func pass(_ serverOutput: [UInt8]) -> [UInt8] {
        incompleteRecord += serverOutput
        var output: [UInt8] = []
        while incompleteRecord.count >= 5 {
            let length = 5 + (Int(incompleteRecord[3]) << 8 | Int(incompleteRecord[4]))
            guard incompleteRecord.count >= length else { break }
            let record = Array(incompleteRecord.prefix(length))
            incompleteRecord.removeFirst(length)
            output += pass(record: record)
        }
        return output
    }

    /// Returns a record that was delayed to follow another record, if that record never came.
    mutating func finish() -> [UInt8] {
        defer { heldBack = [] }
        return hasEnded ? [] : heldBack
    }

    private mutating func pass(record: [UInt8]) -> [UInt8] {
        let number = seenRecords.count
        seenRecords.append(record)
        guard !hasEnded else { return [] }
        var (result, delayedRecord, isHeldBack) = (record, heldBack, false)
        heldBack = []
        var insertedRecords: [UInt8] = []
        for change in changes[number] ?? [] {
            hasChanged = true
            switch change {
            case .drop: result = []
            case .double: result += result
            case .swapWithNext: isHeldBack = true
            case .cut(let count, let fixesHeader):
                let payload = Array(result.dropFirst(5).prefix(Int(count)))
                result = fixesHeader ? Self.framed(Array(result.prefix(3)), payload) : Array(result.prefix(5)) + payload
            case .flip(let position, let mask): if !result.isEmpty { result[position % result.count] ^= mask }
            case .inject(let record): insertedRecords += record
            case .split(let position):
                guard result.count > 6 else { continue }
                let (start, payload) = (Array(result.prefix(3)), Array(result.dropFirst(5)))
                let count = 1 + position % (payload.count - 1)
                result = Self.framed(start, Array(payload.prefix(count))) + Self.framed(start, Array(payload.dropFirst(count)))
            case .replay(let number): insertedRecords += seenRecords[number % seenRecords.count]
            case .insert(let position, let bytes):
                guard result.count >= 5 else { continue }
                var payload = Array(result.dropFirst(5))
                payload.insert(contentsOf: bytes, at: position % (payload.count + 1))
                result = Self.framed(Array(result.prefix(3)), payload)
            case .type(let type): if !result.isEmpty { result[0] = type }
            case .end: hasEnded = true
            }
        }
        if isHeldBack {
            heldBack = result
            result = delayedRecord
            delayedRecord = []
        }
        return insertedRecords + result + delayedRecord
    }
}
