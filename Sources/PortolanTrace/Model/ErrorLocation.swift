// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanJSON

/// A value in a document and its path, for readers that report errors with their location.
struct ErrorLocation {
    struct Problem: Error {
        let path: JSONPath
        let phrase: String
    }

    let value: JSONValue
    let path: JSONPath

    init(_ value: JSONValue, _ path: JSONPath = JSONPath()) { (self.value, self.path) = (value, path) }

    /// The member, or `nil` if it is missing or null.
    subscript(name: String) -> ErrorLocation? {
        guard let member = value[name], member != .null else { return nil }
        return ErrorLocation(member, path[name])
    }

    func problem(_ phrase: String) -> Problem { Problem(path: path, phrase: phrase) }

    /// Throws a problem if an object has several members with one of these names. Names should be unique (RFC 8259 §4);
    /// without a check, the meaning of these members would be unclear.
    func rejectDuplicates(of names: [String]) throws(Problem) {
        guard case .object(let members) = value else { return }
        for name in names where members.count(where: { $0.isNamed(name) }) > 1 {
            throw self[name]?.problem("occurs more than once in its object; keep one") ?? problem("has several '\(name)'; keep one")
        }
    }

    func required(_ name: String) throws(Problem) -> ErrorLocation {
        guard case .object = value else { throw problem("has to be an object") }
        guard let member = self[name] else { throw problem("lacks '\(name)'") }
        return member
    }

    /// Returns the elements. Each path is made only on access, because there can be very many.
    func elements() throws(Problem) -> some RandomAccessCollection<ErrorLocation> {
        guard case .array(let values) = value else { throw problem("has to be an array") }
        return values.indices.lazy.map { ErrorLocation(values[$0], path[$0]) }
    }

    func text() throws(Problem) -> String {
        guard case .string(let text) = value else { throw problem("has to be a string") }
        return text
    }

    func url() throws(Problem) -> URLRecord {
        let text = try text()
        do throws(URLSyntaxError) { return try URLRecord(parsing: text) } catch { throw problem("is not a URL: \(error)") }
    }

    /// Decodes base64, also with line breaks, without padding, and in the URL-safe alphabet (RFC 4648 §5).
    func base64() throws(Problem) -> [UInt8] {
        var digits: [UInt8] = []
        for byte in try text().utf8 {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): break
            case UInt8(ascii: "-"): digits.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): digits.append(UInt8(ascii: "/"))
            default: digits.append(byte)
            }
        }
        while digits.count % 4 > 1 { digits.append(UInt8(ascii: "=")) }
        guard let data = Data(base64Encoded: Data(digits)) else { throw problem("is not base64") }
        return Array(data)
    }

    /// Reads the digest of a sent body.
    ///
    /// - Parameter length: the member with the length of the body in bytes.
    func largeBody(of length: ErrorLocation?) throws(Problem) -> SentBody {
        guard let digest = SHA256Digest(text: try text()) else { throw problem("is not a SHA-256 digest") }
        return .large(length: Int64(try length?.count() ?? 0), digest)
    }

    /// Reads a whole number. Returns `nil` for a negative number, usually -1, which means that the number is unknown.
    func count() throws(Problem) -> Int? {
        guard case .number(let text) = value, let number = Double(text) else { throw problem("has to be a number") }
        guard number >= 0 else { return nil }
        guard number < 9e15, number.rounded() == number else { throw problem("has to be a whole number below 9e15") }
        return Int(number)
    }

    /// Reads milliseconds; `nil` for a negative number such as -1, which marks something that did not happen. Limits
    /// the result to one day.
    func milliseconds() throws(Problem) -> Duration? {
        guard case .number(let text) = value, let number = Double(text), !number.isNaN else { throw problem("has to be a number") }
        return number < 0 ? nil : .microseconds(Int64(min(number, 86_400_000) * 1000))
    }
}

extension ErrorLocation.Problem {
    /// Describes the problem with its line.
    func explained(in bytes: [UInt8]) -> RecordingError {
        let line = path.offset(in: bytes, .json).map { " (line \(JSONPosition(of: $0, in: bytes)))" } ?? ""
        return RecordingError("\(path.phrase)\(line) \(phrase)")
    }
}

extension JSONPath {
    /// The path as in `entry 3, response.status`; entries count from 1.
    fileprivate var phrase: String {
        let lists = ["entries": "entry", "loads": "load"]
        for (index, step) in steps.enumerated().dropLast() {
            guard case .member(let list) = step, let name = lists[list], case .element(let number) = steps[index + 1] else { continue }
            let rest = JSONPath(Array(steps.dropFirst(index + 2))).description
            return "\(name) \(number + 1)" + (rest.isEmpty ? "" : ", \(rest)")
        }
        return steps.isEmpty ? "the document" : "'\(description)'"
    }
}
