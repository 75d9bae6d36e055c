// SPDX-License-Identifier: Apache-2.0

/// The requests on a connection, without the differences that two clients may have: the order and the case of field
/// names, and the chunks of a body.
struct ReceivedRequests: CustomStringConvertible {
    private(set) var description = ""

    init(_ bytes: [UInt8]) {
        var remainingBytes = bytes[...]
        while let headEnd = remainingBytes.end(of: "\r\n\r\n") {
            var lines = String(decoding: remainingBytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
            remainingBytes = remainingBytes[headEnd...]
            let requestLine = lines.isEmpty ? "" : lines.removeFirst()
            let fields = lines.map { line in
                let name = line.prefix { $0 != ":" }
                return name.lowercased() + line.dropFirst(name.count)
            }
            description += ([String(requestLine)] + fields.sorted()).joined(separator: "\n") + "\n"
            let body =
                fields.contains("transfer-encoding: chunked")
                ? remainingBytes.removeChunks() : remainingBytes.removeBytes(Self.length(fields))
            if !body.isEmpty { description += "body \(HTTPEventRecorder.summary(of: body))\n" }
        }
        if !remainingBytes.isEmpty { description += "rest \(remainingBytes.count) bytes\n" }
    }

    private static func length(_ fields: [String]) -> Int {
        fields.first { $0.hasPrefix("content-length: ") }.flatMap { UInt32($0.dropFirst(16)) }.map(Int.init) ?? 0
    }
}

extension ArraySlice<UInt8> {
    /// The index after the first occurrence of `text`.
    fileprivate func end(of text: String) -> Int? {
        let pattern = Array(text.utf8)
        guard count >= pattern.count else { return nil }
        return (startIndex...endIndex - pattern.count).first { self[$0..<$0 + pattern.count].elementsEqual(pattern) }.map {
            $0 + pattern.count
        }
    }

    fileprivate mutating func removeBytes(_ count: Int) -> [UInt8] {
        defer { self = dropFirst(count) }
        return Array(prefix(count))
    }

    /// Removes and decodes the chunks up to the last one, or as many as are complete.
    fileprivate mutating func removeChunks() -> [UInt8] {
        var body: [UInt8] = []
        while let end = end(of: "\r\n"), let size = UInt32(String(decoding: self[startIndex..<end - 2], as: UTF8.self), radix: 16) {
            self = self[end...]
            body += removeBytes(Int(size))
            _ = removeBytes(2)
            if size == 0 { break }
        }
        return body
    }
}
