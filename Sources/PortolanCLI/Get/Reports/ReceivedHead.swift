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
    /// Without line ends. The bytes of values are those that were received.
    private let lines: [[UInt8]]

    /// - Returns: `nil` for a response of another protocol than HTTP.
    init?(_ response: Response) {
        guard let status = response.status, response.url.scheme == "http" || response.url.scheme == "https" else { return nil }
        let reason = status.reasonPhrase.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let code = String(status.code)
        let digits = String(repeating: "0", count: max(0, 3 - code.count)) + code
        lines =
            [Array("HTTP/\(response.httpVersion ?? "1.1") \(digits) ".utf8) + reason]
            + response.fields.map { field in
                let value = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
                return Array("\(field.name.rawName): ".utf8) + value
            }
    }

    /// The number of fields.
    var fieldCount: Int { lines.count - 1 }

    /// - Parameter forTerminal: whether control characters are escaped, so that none of them acts on the terminal.
    func bytes(forTerminal: Bool = false) -> [UInt8] {
        let end: [UInt8] = [0x0D, 0x0A]
        guard forTerminal else { return lines.flatMap { $0 + end } + end }
        return lines.flatMap { line in
            let text = String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            return Array(PlainText.line(text).utf8) + end
        } + end
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

    func observe(_ event: LoadEvent, at time: Duration) {}

    func observe(head: ReceivedHead) throws(Failure) {
        guard let file = file.withLock({ $0 }) else { return }
        do throws(SystemError) { try file.write(all: head.bytes(forTerminal: file.isTerminal)) } catch {
            throw Failure(writing: "'\(place.path)' (-D)", error)
        }
    }
}
