// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore
import PortolanFileSystem

/// Options for requests that the server answers only under a condition, and for parts of a resource.
struct ConditionOptions: ParsableArguments {
    @Option(
        name: [.customShort("z", allowingJoined: true), .customLong("time-cond")], parsing: .unconditional,
        help: ArgumentHelp(
            "Load the URL only if it has changed since this date, or since the change of this file. With a hyphen before the date: only if it has not changed.",
            valueName: "date|file"), transform: TimeCondition.init(parsing:))
    var timeCondition: TimeCondition?

    @Option(
        name: .customLong("etag-save"), parsing: .unconditional,
        help: ArgumentHelp("Save the ETag of the response in this file.", valueName: "file"), completion: .file())
    var savedTagFile: String?

    @Option(
        name: .customLong("etag-compare"), parsing: .unconditional,
        help: ArgumentHelp("Load the URL only if its ETag differs from the one in this file.", valueName: "file"), completion: .file())
    var comparedTagFile: String?

    @Option(
        name: [.customShort("r", allowingJoined: true), .customLong("range")], parsing: .unconditional,
        help: ArgumentHelp("Request only these bytes: 0-499, 500-, -500 for the last ones, or several with commas.", valueName: "range"))
    var range: String?

    func validate() throws {
        for (option, path) in [("--etag-save", savedTagFile), ("--etag-compare", comparedTagFile)] where path?.isEmpty == true {
            throw ValidationError("\(option): the name of the file is empty")
        }
        if let range, !Self.isRange(range) {
            throw ValidationError("-r: '\(range)' is not a range; write bytes as in 0-499, 500- or -500, with commas between several")
        }
    }

    var usesTags: Bool { savedTagFile != nil || comparedTagFile != nil }

    private static func isRange(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ",") }
    }

    /// Adds the fields of the conditions, unless `-H` gives them.
    func apply(to request: inout Request) throws(Failure) {
        if let range, !request.fields.contains(.range) {
            // As in curl, a number without a hyphen is the position of the first byte.
            request.fields[.range] = "bytes=\(range)\(range.contains("-") ? "" : "-")"
        }
        if let timeCondition, !request.fields.contains(timeCondition.fieldName) {
            request.fields[timeCondition.fieldName] = timeCondition.date.description
        }
        if let comparedTagFile {
            // As in curl, the file may be missing if --etag-save is given, because the first of several loads has no
            // tag yet.
            if savedTagFile == nil, FileSystem.kind(at: comparedTagFile) == nil {
                throw Failure(.uploadFailed, "--etag-compare: there is no file '\(comparedTagFile)'; save the tag with --etag-save")
            }
            request.fields[.ifNoneMatch] = try Self.tag(in: comparedTagFile) ?? "\"\""
        }
        if let savedTagFile {
            do throws(LoadError) {
                try PartialFile.probe(savedTagFile)
            } catch {
                throw Failure(.uploadFailed, "--etag-save: \(error.phrase)")
            }
        }
    }

    private static let fileSizeLimit = 64 << 10

    /// - Returns: `nil` for an empty or missing file.
    private static func tag(in path: String) throws(Failure) -> String? {
        guard FileSystem.kind(at: path) != nil else { return nil }
        let bytes = try InputFile(option: "--etag-compare", path: path).wholeContents(limit: fileSizeLimit)
        let line = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
        guard HTTPField.isValidValue(String(line)) else {
            throw Failure(.unreadable, "--etag-compare: '\(path)' has a character that no ETag may have; save the tag with --etag-save")
        }
        return line.isEmpty ? nil : String(line)
    }
}

/// The condition of `-z`.
struct TimeCondition: Equatable, Sendable {
    let date: HTTPDate
    /// Whether the resource is loaded only if it has not changed since the date.
    let isForUnmodified: Bool

    /// - Throws: `ValidationError` if the text is neither a date nor the name of a file.
    init(parsing argument: String) throws {
        isForUnmodified = argument.hasPrefix("-")
        let text = argument.hasPrefix("-") || argument.hasPrefix("+") || argument.hasPrefix("=") ? String(argument.dropFirst()) : argument
        let seconds = FileSystem.modificationTime(at: text) ?? DateArgument.seconds(in: text, now: SystemTime.secondsSince1970)
        guard let seconds, let date = HTTPDate(secondsSince1970: seconds) else {
            throw ValidationError(
                "-z: '\(text)' is neither a date nor a file; write a date as in '2026-11-28' or '28 Nov 2026 14:00:00 GMT'")
        }
        self.date = date
    }

    var fieldName: HTTPField.Name { isForUnmodified ? .ifUnmodifiedSince : .ifModifiedSince }

    /// Whether the response shows that the condition does not hold: by its status or, if the server has ignored the
    /// condition, by `Last-Modified`.
    func isUnmet(by response: Response) -> Bool {
        if response.status == .notModified || response.status == .preconditionFailed { return true }
        guard response.status?.kind == .successful, let text = response.fields[.lastModified],
            let modified = HTTPDate(parsing: text, now: 0)
        else { return false }
        return isForUnmodified
            ? modified.secondsSince1970 > date.secondsSince1970 : modified.secondsSince1970 <= date.secondsSince1970
    }
}
