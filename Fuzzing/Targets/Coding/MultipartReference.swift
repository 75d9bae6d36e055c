// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHTTP

/// Finds the parts of a complete multipart body by trying each position.
///
/// Source: RFC 2046, section 5.1, and the deviations that http: accepts.
struct MultipartReference {
    /// The data of each part.
    private(set) var parts: [[UInt8]] = []
    /// The expected error; `nil` for none.
    private(set) var code: LoadError.Code?
    private let bytes: [UInt8]
    /// The bytes with which a delimiter line starts.
    private var delimiter: [UInt8] = []
    private let limits: MultipartLimits

    /// Treats the whole body as one part.
    init(whole: [UInt8]) {
        bytes = []
        limits = MultipartLimits()
        parts = [whole]
    }

    init(_ bytes: [UInt8], boundary: [UInt8], limits: MultipartLimits) {
        self.bytes = bytes
        self.limits = limits
        // 45 is a hyphen, 10 a line feed, and 13 a carriage return.
        let delimiters = [[45, 45] + boundary] + (boundary.starts(with: [45, 45]) ? [boundary] : [])
        let firstDelimiter = bytes.indices.lazy.filter { $0 == 0 || bytes[$0 - 1] == 10 }.compactMap { start in
            delimiters.first { Self.isAt(start, $0, bytes) }.map { (start, $0) }
        }.first
        guard let (start, delimiter) = firstDelimiter else {
            code = .badResponse
            return
        }
        self.delimiter = delimiter
        do throws(LoadError) { try read(from: start + delimiter.count) } catch { code = error.code }
        if code == nil, parts.isEmpty { code = .badResponse }
    }

    private static func isAt(_ start: Int, _ delimiter: [UInt8], _ bytes: [UInt8]) -> Bool { bytes[start...].starts(with: delimiter) }

    /// - Parameter start: the position behind the first boundary.
    private mutating func read(from start: Int) throws(LoadError) {
        var position = start
        while true {
            if bytes[position...].starts(with: [45, 45]) { return }
            guard let lineFeed = bytes[position...].firstIndex(of: 10) else { return }
            guard let head = try readHead(from: lineFeed + 1) else { return }
            guard let end = findEnd(from: head.end, announced: head.length) else {
                parts.append(Array(bytes[head.end...]))
                return
            }
            parts.append(Array(bytes[head.end..<end.data]))
            position = end.delimiter + delimiter.count
        }
    }

    // MARK: Heads

    private func readHead(from start: Int) throws(LoadError) -> (end: Int, length: Int64?)? {
        var (position, lines): (Int, [ArraySlice<UInt8>]) = (start, [])
        while true {
            let lineFeed = bytes[position...].firstIndex(of: 10)
            let end = lineFeed.map { $0 + 1 } ?? bytes.count
            if end - start > limits.maximumHeadBytes { throw LoadError(.limitExceeded, message: "") }
            guard let lineFeed else { return nil }
            let line = bytes[position..<lineFeed].last == 13 ? bytes[position..<lineFeed - 1] : bytes[position..<lineFeed]
            position = end
            if line.isEmpty { break }
            lines.append(line)
        }
        return (position, try announcedLength(in: lines))
    }

    /// Returns the length that the fields of a head announce.
    private func announcedLength(in lines: [ArraySlice<UInt8>]) throws(LoadError) -> Int64? {
        var fields: [(name: String, value: [UInt8])] = []
        var continuesField = false
        for line in lines {
            if line.first == 32 || line.first == 9 {
                if continuesField { fields[fields.count - 1].value += line }
                continue
            }
            let name = line.prefix { $0 != 58 }
            continuesField = name.count < line.count && !name.isEmpty && name.allSatisfy(Self.isToken)
            if continuesField { fields.append((String(decoding: name, as: UTF8.self).lowercased(), Array(line.dropFirst(name.count + 1)))) }
        }
        if fields.count > limits.maximumFields { throw LoadError(.limitExceeded, message: "") }
        let lengths = fields.filter { $0.name == "content-length" }
        guard lengths.count == 1, let value = lengths.first?.value else { return nil }
        // The parser replaces bytes that a field value must not contain by spaces.
        let isBlank = { (byte: UInt8) in byte <= 32 || byte == 127 }
        let digits = value.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        return Int64(String(decoding: digits, as: UTF8.self)).flatMap { $0 < 0 ? nil : $0 }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    // MARK: Data

    /// Returns the end of a part's data, and the start of the delimiter line.
    private func findEnd(from start: Int, announced: Int64?) -> (data: Int, delimiter: Int)? {
        let length = announced.flatMap { $0 <= Int64(bytes.count - start) ? start + Int($0) : nil }
        var lineStart = start
        var deliveredEnd = start
        for position in start...bytes.count {
            if position > start, bytes[position - 1] == 10 { lineStart = position }
            // By its announced length the part may end here, unless the last bytes may be the start of a delimiter.
            if position == length, position == lineStart || !delimiter.starts(with: bytes[lineStart..<position]) {
                (lineStart, deliveredEnd) = (position, position)
            }
            guard position == lineStart, Self.isAt(position, delimiter, bytes) else { continue }
            var end = position
            if end > deliveredEnd, bytes[end - 1] == 10 { end -= 1 }
            if end > deliveredEnd, end < position, bytes[end - 1] == 13 { end -= 1 }
            return (end, position)
        }
        return nil
    }
}
