// SPDX-License-Identifier: Apache-2.0

/// Makes the bytes of frames, including frames that no correct server sends (RFC 9113 §4.1).
///
/// The types are DATA 0, HEADERS 1, PRIORITY 2, RST_STREAM 3, SETTINGS 4, PUSH_PROMISE 5, PING 6, GOAWAY 7,
/// WINDOW_UPDATE 8 and CONTINUATION 9. The flags are END_STREAM or ACK 1, END_HEADERS 4, PADDED 8 and PRIORITY 0x20.
/// Settings are ENABLE_PUSH 2, MAX_CONCURRENT_STREAMS 3 and INITIAL_WINDOW_SIZE 4.
enum ServerFrames {
    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + number(stream) + payload
    }

    /// Four bytes, the most significant one first.
    static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    static func settings(_ values: [(parameter: Int, value: Int)] = []) -> [UInt8] {
        frame(4, values.flatMap { [UInt8($0.parameter >> 8), UInt8($0.parameter & 0xFF)] + number($0.value) })
    }

    static let settingsAcknowledgement = frame(4, flags: 1)

    /// Literal fields without indexing and without Huffman coding, so that any bytes can be written (RFC 7541 §6.2.2).
    static func fields(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { field($0.0, Array($0.1.utf8)) }
    }

    /// - Parameter isIndexed: whether the receiver adds the field to the dynamic table (RFC 7541 §6.2.1).
    static func field(_ name: String, _ value: [UInt8], isIndexed: Bool = false) -> [UInt8] {
        [isIndexed ? 0x40 : 0] + stringLiteral(Array(name.utf8)) + stringLiteral(value)
    }

    /// A string literal without Huffman coding: its length, and its bytes (RFC 7541 §5.2).
    private static func stringLiteral(_ octets: [UInt8]) -> [UInt8] {
        guard octets.count >= 127 else { return [UInt8(octets.count)] + octets }
        var (lengthBytes, remainingLength) = ([UInt8(127)], octets.count - 127)
        while remainingLength >= 128 {
            lengthBytes.append(UInt8(remainingLength & 127 | 128))
            remainingLength >>= 7
        }
        return lengthBytes + [UInt8(remainingLength)] + octets
    }

    /// A HEADERS frame, and CONTINUATION frames if the fields do not fit in one frame.
    static func headers(_ list: [(String, String)], stream: Int = 1, endsStream: Bool = false) -> [UInt8] {
        section(fields(list), stream: stream, endsStream: endsStream)
    }

    /// The frames of an encoded field section: HEADERS, and CONTINUATION if the block does not fit in one frame.
    static func section(_ block: [UInt8], stream: Int = 1, endsStream: Bool = false) -> [UInt8] {
        var remainingBytes = block[...]
        let firstPayload = remainingBytes.prefix(16384)
        remainingBytes = remainingBytes.dropFirst(16384)
        var bytes = frame(1, flags: (endsStream ? 1 : 0) | (remainingBytes.isEmpty ? 4 : 0), stream: stream, Array(firstPayload))
        while !remainingBytes.isEmpty {
            let nextPayload = remainingBytes.prefix(16384)
            remainingBytes = remainingBytes.dropFirst(16384)
            bytes += frame(9, flags: remainingBytes.isEmpty ? 4 : 0, stream: stream, Array(nextPayload))
        }
        return bytes
    }

    static func data(_ bytes: [UInt8], stream: Int = 1, endsStream: Bool = false) -> [UInt8] {
        frame(0, flags: endsStream ? 1 : 0, stream: stream, bytes)
    }

    static func data(_ text: String, stream: Int = 1, endsStream: Bool = false) -> [UInt8] {
        data(Array(text.utf8), stream: stream, endsStream: endsStream)
    }

    /// A DATA frame with `padding` bytes of padding.
    static func padded(_ text: String, padding: Int, stream: Int = 1, endsStream: Bool = false) -> [UInt8] {
        frame(
            0, flags: 8 | (endsStream ? 1 : 0), stream: stream, [UInt8(padding)] + Array(text.utf8) + [UInt8](repeating: 0, count: padding))
    }

    static func reset(_ code: Int, stream: Int = 1) -> [UInt8] { frame(3, stream: stream, number(code)) }
    static func goAway(last: Int, code: Int = 0) -> [UInt8] { frame(7, number(last) + number(code)) }
    static func windowUpdate(_ increment: Int, stream: Int) -> [UInt8] { frame(8, stream: stream, number(increment)) }
}

/// A frame that the client sent.
struct ClientFrame: Equatable {
    let type: UInt8
    let flags: UInt8
    let stream: Int
    let payload: [UInt8]

    var endsStream: Bool { (type == 0 || type == 1) && flags & 1 != 0 }
    /// The first four bytes of the payload as a number: the code of RST_STREAM, or the increment of WINDOW_UPDATE.
    var value: Int { payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } }
}
