// SPDX-License-Identifier: Apache-2.0

import Portolan
@_spi(Fuzzing) import PortolanContent

/// Parses an event stream. The events do not depend on the pieces in which it arrives, and are those of a second
/// parser, which follows the steps of the HTML standard on the whole text.
///
/// The first octet chooses where the stream is cut.
enum EventStreamCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        guard let first = input.first else { return }
        let stream = Array(input.dropFirst())
        let cut = Int(first) % (stream.count + 1)
        let whole = EventStreamFuzzing.parse([stream], limit: .max)
        for pieces in [[Array(stream[..<cut]), Array(stream[cut...])], stream.map { [$0] }] {
            let result = EventStreamFuzzing.parse(pieces, limit: .max)
            try require(result == whole, "\(pieces) was parsed as \(result.debugDescription) instead of \(whole.debugDescription)")
        }
        let expected = interpret(stream)
        try require(whole == expected, "\(stream) was parsed as \(whole.debugDescription) instead of \(expected)")
    }

    /// HTML, "parsing an event stream" and "interpreting an event stream"
    private static func interpret(_ stream: [UInt8]) -> EventStreamFuzzing.ParsedStream {
        var text = stream[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        var (lines, line, previous) = ([[UInt8]](), [UInt8](), UInt8(0))
        for octet in text {
            if octet == 0x0D || (octet == 0x0A && previous != 0x0D) {
                lines.append(line)
                line = []
            } else if octet != 0x0A {
                line.append(octet)
            }
            previous = octet
        }
        var (events, data, type, id, lastID) = ([ServerSentEvent](), "", "", "", "")
        var retryDelay: Duration?
        for line in lines {
            guard !line.isEmpty else {
                lastID = id
                if !data.isEmpty {
                    data.unicodeScalars.removeLast()
                    events.append(ServerSentEvent(type: type.isEmpty ? "message" : type, data: data, id: id))
                }
                (data, type) = ("", "")
                continue
            }
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            var value = parts.count > 1 ? parts[1] : []
            if value.first == 0x20 { value = value.dropFirst() }
            let valueText = String(decoding: value, as: UTF8.self)
            switch Array(parts[0]) {
            case Array("event".utf8): type = valueText
            case Array("data".utf8):
                data += valueText
                data.unicodeScalars.append("\n")
            case Array("id".utf8): if !valueText.unicodeScalars.contains("\0") { id = valueText }
            case Array("retry".utf8):
                let isNumber = !value.isEmpty && value.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                if isNumber { retryDelay = .milliseconds(min(Int64(valueText) ?? .max, 1 << 42)) }
            default: break
            }
        }
        return EventStreamFuzzing.ParsedStream(events: events, lastEventID: lastID, retryDelay: retryDelay)
    }
}
