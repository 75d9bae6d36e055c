// SPDX-License-Identifier: Apache-2.0

/// The reason why decoding stops.
enum GzipStop: Error {
    /// The data is truncated.
    case cut
    case malformed
    /// The decoded data is larger than the limit.
    case overLimit
}

/// Decodes gzip or deflate data bit by bit, as the RFCs describe it, for comparison with the plugin and http:.
///
/// Source: RFC 1952, section 2; RFC 1951, section 3.2; RFC 1950, section 2.2.
struct GzipReference {
    enum Format {
        /// A file: members, followed by zero bytes.
        case file
        /// The content codings of HTTP: empty data is valid, and bytes after the end are ignored.
        case gzipCoding, deflateCoding
    }

    private(set) var body: [UInt8] = []
    /// `nil` if the data is valid and `body` is complete.
    private(set) var stop: GzipStop?
    private var bits: BitReader
    private var memberStart = 0
    private let limit: Int

    /// - Parameter limit: the number of decoded bytes after which decoding stops.
    init(_ file: [UInt8], limit: Int, as format: Format = .file) {
        bits = BitReader(file)
        self.limit = limit
        if file.isEmpty, format != .file { return }
        do throws(GzipStop) {
            switch format {
            case .file: try readFile()
            case .gzipCoding: try readMembers(of: file)
            case .deflateCoding: try readDeflate(file)
            }
        } catch {
            stop = error
        }
    }

    // MARK: Container formats

    /// Reads at least one member, and zero bytes after the last.
    private mutating func readFile() throws(GzipStop) {
        repeat { try readMember() } while !bits.isAtEnd && bits.nextByte != 0
        while !bits.isAtEnd {
            if try bits.byte() != 0 { throw .malformed }
        }
    }

    /// Reads members as long as another one follows.
    private mutating func readMembers(of data: [UInt8]) throws(GzipStop) {
        repeat { try readMember() } while data[bits.position...].starts(with: [0x1F, 0x8B])
    }

    /// Reads a zlib stream if the header is one, otherwise raw DEFLATE data.
    private mutating func readDeflate(_ data: [UInt8]) throws(GzipStop) {
        if data.count == 1, data[0] & 0xF == 8 { throw .cut }
        guard data[0] & 0xF == 8, data[0] >> 4 < 8, (Int(data[0]) * 256 + Int(data[1])) % 31 == 0 else { return try inflate() }
        if data[1] & 0x20 != 0 { throw .malformed }  // a dictionary
        _ = try bits.bits(16)
        try inflate()
        bits.skipToByteBoundary()
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in body {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        let checksum = try bits.number(bytes: 4)
        guard checksum.byteSwapped == high << 16 | low else { throw .malformed }
    }

    private mutating func readMember() throws(GzipStop) {
        var header = GzipChecksum()
        guard try header.readByte(&bits) == 0x1F, try header.readByte(&bits) == 0x8B, try header.readByte(&bits) == 8 else {
            throw .malformed
        }
        let flags = try header.readByte(&bits)
        guard flags & 0xE0 == 0 else { throw .malformed }  // reserved
        for _ in 0..<6 { _ = try header.readByte(&bits) }
        if flags & 4 != 0 {  // extra field
            let count = Int(try header.readByte(&bits)) | Int(try header.readByte(&bits)) << 8
            for _ in 0..<count { _ = try header.readByte(&bits) }
        }
        for flag: UInt8 in [8, 16] where flags & flag != 0 {  // name, comment
            while try header.readByte(&bits) != 0 {}
        }
        if flags & 2 != 0 {
            let checksum = try bits.number(bytes: 2)
            guard checksum == header.value & 0xFFFF else { throw .malformed }
        }
        memberStart = body.count
        try inflate()
        bits.skipToByteBoundary()
        var contents = GzipChecksum()
        for byte in body[memberStart...] { contents.add(byte) }
        guard try bits.number(bytes: 4) == contents.value else { throw .malformed }
        guard try bits.number(bytes: 4) == UInt32(truncatingIfNeeded: body.count - memberStart) else { throw .malformed }
    }

    // MARK: DEFLATE data

    private mutating func inflate() throws(GzipStop) {
        var isLastBlock = false
        while !isLastBlock {
            isLastBlock = try bits.bits(1) == 1
            switch try bits.bits(2) {
            case 0: try copyStored()
            case 1: try decode(with: Self.fixedLiterals, Self.fixedDistances)
            case 2: try decodeWithDynamicCodes()
            default: throw .malformed
            }
        }
    }

    private mutating func emit(_ byte: UInt8) throws(GzipStop) {
        body.append(byte)
        if body.count > limit { throw .overLimit }
    }

    /// Appends `length` bytes of the output from `distance` bytes before its end, repeated if `length` is larger.
    private mutating func repeatRun(_ length: Int, from distance: Int) throws(GzipStop) {
        guard distance <= body.count - memberStart else { throw .malformed }
        var copiedBytes = Array(body.suffix(distance).prefix(length))
        while copiedBytes.count < length { copiedBytes += copiedBytes }
        body += copiedBytes.prefix(length)
        if body.count > limit { throw .overLimit }
    }

    private mutating func copyStored() throws(GzipStop) {
        bits.skipToByteBoundary()
        let (count, complement) = (try bits.number(bytes: 2), try bits.number(bytes: 2))
        guard count == ~complement & 0xFFFF else { throw .malformed }
        for _ in 0..<count { try emit(bits.byte()) }
    }

    private static let fixedLiterals = PrefixCode(
        lengths: [(8, 144), (9, 112), (7, 24), (8, 8)].flatMap { [Int](repeating: $0.0, count: $0.1) })
    private static let fixedDistances = PrefixCode(lengths: [Int](repeating: 5, count: 32))

    private mutating func decodeWithDynamicCodes() throws(GzipStop) {
        let literals = try bits.bits(5) + 257
        let distances = try bits.bits(5) + 1
        let count = try bits.bits(4) + 4
        guard literals <= 286, distances <= 30 else { throw .malformed }
        var lengths = [Int](repeating: 0, count: 19)
        for position in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(count) {
            lengths[position] = try bits.bits(3)
        }
        // The code for the lengths must be complete.
        let usedCodeSpace = lengths.reduce(0) { $1 == 0 ? $0 : $0 + 128 >> $1 }
        guard usedCodeSpace == 128, let code = PrefixCode(lengths: lengths) else { throw .malformed }
        let allLengths = try readLengths(literals + distances, with: code)
        guard allLengths[256] > 0 else { throw .malformed }
        try decode(with: PrefixCode(lengths: Array(allLengths[..<literals])), PrefixCode(lengths: Array(allLengths[literals...])))
    }

    private mutating func readLengths(_ count: Int, with code: PrefixCode) throws(GzipStop) -> [Int] {
        var lengths: [Int] = []
        while lengths.count < count {
            let symbol = try code.read(&bits)
            if symbol < 16 {
                lengths.append(symbol)
                continue
            }
            let repeated = symbol == 16 ? lengths.last : 0
            let repeatCount = symbol == 16 ? try bits.bits(2) + 3 : symbol == 17 ? try bits.bits(3) + 3 : try bits.bits(7) + 11
            guard let repeated, lengths.count + repeatCount <= count else { throw .malformed }
            lengths += [Int](repeating: repeated, count: repeatCount)
        }
        return lengths
    }

    private mutating func decode(with literals: PrefixCode?, _ distances: PrefixCode?) throws(GzipStop) {
        guard let literals, let distances else { throw .malformed }
        while true {
            let symbol = try literals.read(&bits)
            if symbol == 256 { return }
            if symbol < 256 {
                try emit(UInt8(symbol))
                continue
            }
            guard symbol < 286 else { throw .malformed }
            let length = try Self.lengthBase(symbol) + bits.bits(Self.lengthBits(symbol))
            let distanceSymbol = try distances.read(&bits)
            guard distanceSymbol < 30 else { throw .malformed }
            let extraBits = max(0, distanceSymbol / 2 - 1)
            let base = distanceSymbol < 4 ? distanceSymbol + 1 : 1 + (2 + distanceSymbol % 2) << extraBits
            let distance = try base + bits.bits(extraBits)
            try repeatRun(length, from: distance)
        }
    }

    private static func lengthBits(_ symbol: Int) -> Int { symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4 }

    private static func lengthBase(_ symbol: Int) -> Int {
        if symbol == 285 { return 258 }
        let bits = lengthBits(symbol)
        return bits == 0 ? symbol - 254 : 3 + (4 + (symbol - 261) % 4) << bits
    }
}

/// The checksum of a member's header or contents.
///
/// Source: RFC 1952, section 8.
struct GzipChecksum {
    private var register: UInt32 = ~0

    var value: UInt32 { ~register }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    mutating func add(_ byte: UInt8) {
        register = Self.table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
    }

    /// Reads a byte, and adds it to the checksum.
    mutating func readByte(_ bits: inout BitReader) throws(GzipStop) -> UInt8 {
        let byte = try bits.byte()
        add(byte)
        return byte
    }
}
