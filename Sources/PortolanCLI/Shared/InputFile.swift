// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem

/// A file that an option names, and that the command reads as a whole.
struct InputFile {
    /// The option, for messages. For example `--hsts`.
    let option: String
    let path: String

    /// Reads at most `limit` bytes of a regular file.
    func contents(atMost limit: Int) throws(Failure) -> [UInt8] {
        guard let place = LocalPath(path) else {
            throw Failure(.unreadable, "\(option): the name of the file contains a NUL, or is empty")
        }
        do throws(LoadError) {
            return try RegularFile(at: place).contents(atMost: limit)
        } catch {
            throw Failure(error, message: "\(option): \(error.phrase)")
        }
    }

    /// Reads a regular file that has at most `limit` bytes.
    func wholeContents(limit: Int) throws(Failure) -> [UInt8] {
        let bytes = try contents(atMost: limit + 1)
        guard bytes.count <= limit else { throw tooLarge(limit) }
        return bytes
    }

    /// Reads a file, standard input (`-`), a FIFO or a device to its end. It can have at most `limit` bytes.
    ///
    /// - Parameter timeLimit: how long input other than a regular file can take to arrive; `nil` for no limit.
    func wholeStream(limit: Int, within timeLimit: Duration?) throws(Failure) -> [UInt8] {
        guard path == "-" || FileSystem.kind(at: path) == .special else { return try wholeContents(limit: limit) }
        let bytes: [UInt8]?
        do throws(SystemError) {
            let file = path == "-" ? Descriptor.standardInput : try FileSystem.openForReading(path)
            bytes = try file.contents(atMost: limit, until: timeLimit.map { MonotonicTime.now + $0 })
        } catch {
            throw error == .fileTooLarge ? tooLarge(limit) : Failure(.unreadable, "\(option): cannot read '\(path)': \(error)")
        }
        guard let bytes else { throw Failure(.timedOut, "\(option): '\(path)' took longer to read than --max-time allows") }
        return bytes
    }

    private func tooLarge(_ limit: Int) -> Failure { Failure(.tooLarge, "\(option): '\(path)' has more than \(limit) bytes") }

    /// Warns about the first entries that the command skips, and about the number of further ones.
    ///
    /// - Parameter noun: the noun and the verb for the further entries. For example `lines are no cookies`.
    func warnAboutSkippedEntries(_ problems: [some CustomStringConvertible], further noun: String) {
        for problem in problems.prefix(3) { Diagnostics.warn("\(option): '\(path)': \(problem); it is skipped") }
        if problems.count > 3 { Diagnostics.warn("\(option): '\(path)': \(problems.count - 3) more \(noun)") }
    }
}
