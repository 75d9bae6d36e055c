// SPDX-License-Identifier: Apache-2.0

/// The requests on a connection, without the differences that two clients may have: the order and the case of field
/// names, and the chunks of a body.
struct ReceivedRequests: CustomStringConvertible {
    private(set) var description = ""

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let end = rest.end(of: "\r\n\r\n") {
            var lines = String(decoding: rest[..<end], as: UTF8.self).split(separator: "\r\n")
            rest = rest[end...]
            let first = lines.isEmpty ? "" : lines.removeFirst()
            let fields = lines.map { line in
                let name = line.prefix { $0 != ":" }
                return name.lowercased() + line.dropFirst(name.count)
            }
            description += ([String(first)] + fields.sorted()).joined(separator: "\n") + "\n"
            let body = fields.contains("transfer-encoding: chunked") ? rest.takeChunks() : rest.take(Self.length(fields))
            if !body.isEmpty { description += "body \(HTTPEventRecorder.summary(of: body))\n" }
        }
        if !rest.isEmpty { description += "rest \(rest.count) bytes\n" }
    }

    private static func length(_ fields: [String]) -> Int {
        fields.first { $0.hasPrefix("content-length: ") }.flatMap { UInt32($0.dropFirst(16)) }.map(Int.init) ?? 0
    }
}

extension ArraySlice<UInt8> {
    fileprivate func end(of text: String) -> Int? {
        let pattern = Array(text.utf8)
        guard count >= pattern.count else { return nil }
        return (startIndex...endIndex - pattern.count).first { self[$0..<$0 + pattern.count].elementsEqual(pattern) }.map {
            $0 + pattern.count
        }
    }

    fileprivate mutating func take(_ count: Int) -> [UInt8] {
        defer { self = dropFirst(count) }
        return Array(prefix(count))
    }

    /// Takes the chunks up to the last one, or as many as there are.
    fileprivate mutating func takeChunks() -> [UInt8] {
        var body: [UInt8] = []
        while let end = end(of: "\r\n"), let size = UInt32(String(decoding: self[startIndex..<end - 2], as: UTF8.self), radix: 16) {
            self = self[end...]
            body += take(Int(size))
            _ = take(2)
            if size == 0 { break }
        }
        return body
    }
}
