// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanFileSystem

/// The head of an HTTP response as it was received, for `-i`, `-I` and `-D`: the status line, the fields with their
/// names and values, and an empty line, with CRLF after each line.
///
///     HTTP/1.1 200 OK
///     Content-Type: text/plain
struct ReceivedHead {
    let response: Response
    /// Without line ends. The bytes of values are those that were received.
    private let lines: [[UInt8]]

    /// - Returns: `nil` for a response of another protocol than HTTP.
    init?(_ response: Response) {
        guard let status = response.status, response.url.scheme == "http" || response.url.scheme == "https" else { return nil }
        let reason = status.reasonPhrase.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.response = response
        let code = String(status.code)
        let digits = String(repeating: "0", count: max(0, 3 - code.count)) + code
        lines =
            [Array("HTTP/\(response.httpVersion ?? "1.1") \(digits) ".utf8) + reason]
            + Self.lines(of: response.fields)
    }

    private static func lines(of fields: HTTPFields) -> [[UInt8]] {
        fields.map { field in
            let value = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
            return Array("\(field.name.rawName):\(value.isEmpty ? "" : " ")".utf8) + value
        }
    }

    /// The number of fields.
    var fieldCount: Int { lines.count - 1 }

    /// - Parameter forTerminal: whether control characters are escaped, so that none of them acts on the terminal.
    func bytes(forTerminal: Bool = false) -> [UInt8] {
        Self.joined(lines, forTerminal) + Self.lineEnd
    }

    /// The trailers of a response as lines, without an empty line, as curl prints them.
    static func bytes(ofTrailers fields: HTTPFields, forTerminal: Bool) -> [UInt8] { joined(lines(of: fields), forTerminal) }

    private static let lineEnd: [UInt8] = [0x0D, 0x0A]

    private static func joined(_ lines: [[UInt8]], _ forTerminal: Bool) -> [UInt8] {
        guard forTerminal else { return lines.flatMap { $0 + lineEnd } }
        return lines.flatMap { line in
            let text = String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            return Array(PlainText.line(text).utf8) + lineEnd
        }
    }
}

/// Writes the heads of responses to the file of `-D` when they arrive.
final class HeadDump: LoadObserver {
    private let place: OutputPlace
    private let file = ConditionLock<Descriptor?>(nil)

    /// - Parameter place: `-` is standard output.
    init(_ place: OutputPlace) { self.place = place }

    /// Creates the file, or removes its contents.
    func open() throws(Failure) {
        guard place.path != "-" else { return file.withLock { $0 = .standardOutput } }
        let kind = try place.kind.get()
        do throws(SystemError) {
            let opened: Descriptor
            switch kind {
            case .stream(let target): opened = try target.open()
            case .file: opened = try FileSystem.openForReplacing(place.path)
            }
            file.withLock { $0 = opened }
        } catch {
            throw Failure(.writeFailed, "-D: cannot write to '\(place.path)': \(error)")
        }
    }

    func observe(_ event: LoadEvent, at time: Duration) throws(Failure) {
        guard case .trailers(let fields) = event else { return }
        try write { ReceivedHead.bytes(ofTrailers: fields, forTerminal: $0) }
    }

    func observe(head: ReceivedHead) throws(Failure) { try write { head.bytes(forTerminal: $0) } }

    private func write(_ bytes: (_ isForTerminal: Bool) -> [UInt8]) throws(Failure) {
        guard let file = file.withLock({ $0 }) else { return }
        do throws(SystemError) { try file.write(all: bytes(file.isTerminal)) } catch {
            throw Failure(writing: "'\(place.path)' (-D)", error)
        }
    }
}
