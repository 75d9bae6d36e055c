// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTrace

/// The file of `--replay`. Its recorded responses serve requests. New loads are added when the command has finished.
final class ReplayFile: Sendable {
    let handler: ReplayHandler
    private let path: String
    private let mode: ReplayHandler.Mode
    private let form: Recording.Form
    private let keepsSecrets: Bool
    /// The number of transactions that were read from the file.
    private let count: Int

    /// - Throws: ``Failure`` if the file is missing in a mode that needs it, is no recording, or must be written and is
    ///   not writable.
    init(_ path: String, mode: ReplayHandler.Mode, speed: Double?, keepsSecrets: Bool = false) throws(Failure) {
        var recording = Recording()
        if mode == .strict || (mode == .fill && FileSystem.kind(at: path) != nil) { recording = try Self.read(path) }
        for problem in recording.problems.prefix(3) { Diagnostics.warn("--replay: '\(path)': \(problem); it is skipped") }
        if recording.problems.count > 3 {
            Diagnostics.warn("--replay: '\(path)': \(recording.problems.count - 3) more entries can't be read")
        }
        let named = Recording.Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
        guard let form = recording.form ?? named else {
            throw Failure(.usage, "--replay: '\(path)' will be written, so its name has to end in .har or .json")
        }
        if mode != .strict { try Self.probe(path) }
        (self.path, self.mode, self.form, self.keepsSecrets) = (path, mode, form, keepsSecrets)
        count = mode == .record ? 0 : recording.count
        handler = ReplayHandler(recording, mode: mode, speed: speed)
    }

    /// Checks whether the file is writable, before any load for it.
    private static func probe(_ path: String) throws(Failure) {
        guard case .success(.file) = OutputPlace(argument: path).kind else {
            throw Failure(
                .writeFailed, "--replay: '\(path)' is not a regular file, and only a regular file can be replaced by a recording; name one")
        }
        try PartialFile.probe(path)
    }

    private static func read(_ path: String) throws(Failure) -> Recording {
        guard let place = LocalPath(path) else { throw Failure(.unreadable, "--replay: the name of the file contains a NUL, or is empty") }
        let bytes: [UInt8]
        do throws(LoadError) {
            bytes = try RegularFile(at: place).contents(atMost: Recording.largestFile + 1)
        } catch {
            throw Failure(error, message: "--replay: \(error.phrase)")
        }
        do throws(RecordingError) {
            return try Recording(parsing: bytes)
        } catch {
            throw Failure(.unreadable, "--replay: '\(path)' is not a recording that can be replayed: \(error)")
        }
    }

    /// Writes the new transactions. Without new ones the file stays unchanged; with `record` also if no request got a
    /// response, for example without a network.
    func write() throws(Failure) {
        let recording = handler.recording
        guard recording.count > count else { return }
        if mode == .record, !recording.hasResponses, FileSystem.kind(at: path) != nil {
            return Diagnostics.warn("--replay: no request got a response; '\(path)' is unchanged")
        }
        guard mode == .fill else { return try write(recording) }
        let lock = FolderLock(ofFolderWith: path)
        defer { lock?.release() }
        if lock == nil {
            Diagnostics.warn("--replay: '\(path)' could not be locked; responses that other processes add to it now may be lost")
        }
        try write(merged(recording))
    }

    /// Adds the new transactions to the current contents of the file, because another process may have changed it in
    /// the meantime.
    private func merged(_ recording: Recording) throws(Failure) -> Recording {
        guard FileSystem.kind(at: path) != nil else { return recording }
        var current = try Self.read(path)
        current.add(recording.transactions.dropFirst(count), besidesFirst: count)
        return current
    }

    private func write(_ recording: Recording) throws(Failure) {
        let file = recording.file(as: recording.form ?? form, keepingSecrets: keepsSecrets)
        guard file.bytes.count <= Recording.largestFile else {
            throw Failure(
                .tooLarge,
                "--replay: '\(path)' would have \(file.bytes.count) bytes, and the limit is \(Recording.largestFile); the file is unchanged"
            )
        }
        if let omission = file.omission { Diagnostics.warn("--replay: '\(path)': \(omission)") }
        try PartialFile.write(file.bytes, to: path, isPrivate: true)
    }
}
