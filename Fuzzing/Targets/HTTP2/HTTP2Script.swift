// SPDX-License-Identifier: Apache-2.0

/// Makes frames that an input describes one by one, so that a changed byte of the input changes only one frame.
///
/// Each step is a byte with the kind of frame in its lower half and flags in its upper half, a byte for the stream, and
/// the data of the kind.
struct HTTP2Script {
    private(set) var bytes: [UInt8] = []
    private var lastFrame: [UInt8] = []
    private var lastData: [UInt8] = []
    private static let maximumBytes = 640 << 10
    /// The limit in bytes up to which small frames are repeated.
    private static let maximumBytesOfSmallFrames = 48 << 10

    init(_ source: inout ByteSource) {
        while !source.isEmpty, bytes.count < Self.maximumBytes { addStep(&source) }
    }

    private mutating func addStep(_ source: inout ByteSource) {
        let step = source.next()
        let (kind, flags) = (step & 0x0F, step >> 4)
        let stream = Self.stream(source.next())
        switch kind {
        case 0: section([[":status", "200"]] + Self.length(source.next()), flags, stream)
        case 1: section(Self.fields(&source), flags, stream)
        case 2: data((0..<Int(source.next())).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(stream)) }, flags, stream, &source)
        case 3: data([UInt8](repeating: source.next(), count: 16_384 >> Int(source.next() & 7)), flags, stream, &source)
        case 4: add(3, 0, stream, Self.number(UInt32(source.next() & 0x0F)))
        case 5:
            add(
                4, flags & 1, flags & 2 == 0 ? 0 : stream,
                (0..<(flags >> 2)).flatMap { _ in [0, source.next() & 0x0F] + Self.number(Self.value(&source)) })
        case 6: add(4, 1, 0, [])
        case 7: add(6, flags & 1, 0, [UInt8](repeating: source.next(), count: 8))
        case 8: add(7, 0, 0, Self.number(stream) + Self.number(UInt32(source.next() & 0x0F)))
        case 9: add(8, 0, stream, Self.number(Self.value(&source)))
        case 10: add(2, 0, stream, Self.number(Self.stream(source.next())) + [7])
        case 11: add(9, flags & 1 == 0 ? 4 : 0, stream, Self.block(Self.fields(&source), flags))
        case 12: add(5, 4, stream, Self.number(2) + Self.block([[":method", "GET"]], 0))
        case 13:
            let (type, flags, count) = (source.next(), source.next(), source.next())
            add(type, flags, stream, (0..<count).map { _ in source.next() })
        case 14: repeatLast(Int(source.next()) * (flags & 1 == 0 ? 1 : 16))
        default:
            // Sends fields as raw HPACK bytes.
            let count = source.next() & 63
            add(flags & 8 == 0 ? 1 : 9, flags & 1 | (flags & 2 == 0 ? 4 : 0), stream, (0..<count).map { _ in source.next() })
        }
    }

    // MARK: Frames

    private mutating func add(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
        let length = payload.count
        lastFrame =
            [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + Self.number(stream) + payload
        bytes += lastFrame
    }

    private mutating func repeatLast(_ count: Int) {
        let maximumCount = lastFrame.count > 1000 ? Self.maximumBytes : Self.maximumBytesOfSmallFrames
        for _ in 0..<count where bytes.count + lastFrame.count <= maximumCount { bytes += lastFrame }
    }

    /// - Parameter flags: 1: the stream ends; 2: the section continues in another frame; 4: padded; 8: HPACK stores the
    ///   fields in its table.
    private mutating func section(_ fields: [[String]], _ flags: UInt8, _ stream: UInt32) {
        let block = Self.block(fields, flags)
        let isSplit = flags & 2 != 0 && flags & 1 != 0 && block.count > 1
        let firstFragment = isSplit ? Array(block.prefix(block.count / 2)) : block
        let endStreamFlag: UInt8 = isSplit || flags & 2 == 0 ? flags & 1 : 0
        add(1, endStreamFlag | (flags & 2 == 0 ? 4 : 0) | (flags & 4 == 0 ? 0 : 8), stream, Self.padded(firstFragment, flags))
        if isSplit { add(9, 4, stream, Array(block.dropFirst(firstFragment.count))) }
    }

    private mutating func data(_ content: [UInt8], _ flags: UInt8, _ stream: UInt32, _ source: inout ByteSource) {
        add(0, flags & 1 | (flags & 4 == 0 ? 0 : 8), stream, Self.padded(content, flags))
    }

    private static func padded(_ content: [UInt8], _ flags: UInt8) -> [UInt8] { flags & 4 == 0 ? content : [3] + content + [0, 0, 0] }

    // MARK: Parts

    /// Returns a stream number, mostly of an open stream.
    private static func stream(_ byte: UInt8) -> UInt32 { byte < 0xF0 ? [1, 3, 5, 7, 1, 3, 0, 2, 9][Int(byte % 9)] : UInt32(byte) << 23 }

    static func number(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

    /// Returns a small value, or a value of the size of the protocol's limits.
    private static func value(_ source: inout ByteSource) -> UInt32 {
        let byte = source.next()
        return byte & 0xC0 == 0 ? UInt32(byte) : UInt32(byte & 0x3F) << (16 + UInt32(byte >> 6) * 3)
    }

    private static func length(_ byte: UInt8) -> [[String]] { byte == 0 ? [] : [["content-length", "\(byte - 1)"]] }

    private static let names = [
        ":status", "content-length", "x-a", "set-cookie", "connection", "transfer-encoding", ":path", "X-A", "x a", "te", "trailer", "",
    ]
    private static let values = [
        "200", "100", "103", "204", "304", "101", "5", "0", "5, 5", "", " x", "a\r\nb", "chunked", "99", "1000", "\u{e4}",
    ]

    /// Reads a byte for the number of fields, and two for each field: its name and its value. From `0xF0` on, the value
    /// is long.
    private static func fields(_ source: inout ByteSource) -> [[String]] {
        (0..<(source.next() & 15)).map { _ in
            let (name, value) = (source.next(), source.next())
            let text = value < 0xF0 ? values[Int(value) % values.count] : String(repeating: "v", count: 1 << Int(value & 0x0F))
            return [names[Int(name) % names.count], text]
        }
    }

    /// Writes a field block of literals without Huffman coding (RFC 7541 §6.2).
    private static func block(_ fields: [[String]], _ flags: UInt8) -> [UInt8] {
        fields.flatMap { [flags & 8 == 0 ? 0 : 0x40] + literal(latin1($0[0])) + literal(latin1($0[1])) }
    }

    private static func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    private static func literal(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count >= 127 else { return [UInt8(octets.count)] + octets }
        var (length, remainingLength) = ([UInt8(127)], octets.count - 127)
        while remainingLength >= 128 {
            length.append(UInt8(remainingLength & 127 | 128))
            remainingLength >>= 7
        }
        return length + [UInt8(remainingLength)] + octets
    }
}
