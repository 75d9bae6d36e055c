// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Parses an event stream in pieces. A pure state machine.
///
/// The text is UTF-8; invalid bytes become U+FFFD. A line ends with LF, CRLF or CR. The last event is dropped if the
/// stream ends before its empty line.
///
/// HTML, "parsing an event stream" and "interpreting an event stream"
struct EventStreamParser {
    /// The maximum number of bytes of an ID. A new connection sends it in a field, and servers limit these: nginx to
    /// 8 KiB.
    static let idLimit = 4096
    /// The maximum number of bytes of an event: of its current line and its data.
    let limit: Int
    /// The ID that a new connection sends as `Last-Event-ID`. It changes at the end of an event.
    private(set) var lastEventID: String
    /// The wait that the server has requested before a new connection; `nil` if it has requested none.
    private(set) var retryDelay: Duration?

    /// The error for an event or an ID that was too large. Nothing is parsed after it.
    private(set) var failure: LoadError?

    private var line: [UInt8] = []
    /// A CR has ended a line. If LF follows, it belongs to the same line end.
    private var hasEndedLineWithCR = false
    private var isFirstLine = true
    /// The data of the current event: each line with LF after it.
    private var data: [UInt8] = []
    private var type = ""
    /// The ID buffer of the HTML standard.
    private var id: String

    /// - Parameter lastEventID: the ID of the connection before this one; empty for the first.
    init(limit: Int, lastEventID: String = "") {
        (self.limit, self.lastEventID, id) = (limit, lastEventID, lastEventID)
    }

    /// Parses a piece, and returns the events that are complete now, also those before an event that sets ``failure``.
    mutating func append(_ piece: [UInt8]) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        guard failure == nil else { return events }
        do throws(LoadError) {
            try append(piece, &events)
        } catch {
            failure = error
        }
        return events
    }

    private mutating func append(_ piece: [UInt8], _ events: inout [ServerSentEvent]) throws(LoadError) {
        for byte in piece {
            if hasEndedLineWithCR {
                hasEndedLineWithCR = false
                if byte == UInt8(ascii: "\n") { continue }
            }
            switch byte {
            case UInt8(ascii: "\r"):
                hasEndedLineWithCR = true
                try endLine(&events)
            case UInt8(ascii: "\n"): try endLine(&events)
            default:
                line.append(byte)
                guard line.count + data.count <= limit else {
                    throw LoadError(.limitExceeded, message: "an event has more than \(limit) bytes; raise maximumEventSize to allow more")
                }
            }
        }
    }

    private mutating func endLine(_ events: inout [ServerSentEvent]) throws(LoadError) {
        var line = self.line[...]
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        isFirstLine = false
        defer { self.line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return dispatch(&events) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return try process(String(decoding: line, as: UTF8.self), []) }
        guard colon > line.startIndex else { return }  // a comment
        var value = line[(colon + 1)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        try process(String(decoding: line[..<colon], as: UTF8.self), value)
    }

    private mutating func process(_ field: String, _ value: ArraySlice<UInt8>) throws(LoadError) {
        switch field {
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data": data += value + [UInt8(ascii: "\n")]
        case "id":
            guard value.count <= Self.idLimit else {
                throw LoadError(.limitExceeded, message: "the ID of an event has \(value.count) bytes, and the limit is \(Self.idLimit)")
            }
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry":
            guard !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return }
            // 2^42 ms is more than a century.
            retryDelay = .milliseconds(min(Int64(String(decoding: value, as: UTF8.self)) ?? .max, 1 << 42))
        default: break
        }
    }

    private mutating func dispatch(_ events: inout [ServerSentEvent]) {
        lastEventID = id
        defer { (data, type) = ([], "") }
        guard !data.isEmpty else { return }
        events.append(
            ServerSentEvent(
                type: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self), id: lastEventID))
    }
}
