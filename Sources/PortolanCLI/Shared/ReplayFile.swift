// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTrace

/// The file of `--replay`: what it holds answers requests, and what is loaded anew is written to it when the command has done what it was to do.
final class ReplayFile: Sendable {
    let handler: ReplayHandler
    private let path: String
    private let mode: ReplayHandler.Mode
    private let form: Recording.Form
    private let keepsSecrets: Bool
    /// How many answers stood in the file when it was read.
    private let count: Int

    /// - Throws: where the file is missing in a mode that needs it, is no recording, or is to be written and can't be.
    init(_ path: String, mode: ReplayHandler.Mode, speed: Double?, keepsSecrets: Bool = false) throws(Failure) {
        var recording = Recording()
        if mode == .strict || (mode == .fill && FileSystem.kind(at: path) != nil) { recording = try Self.read(path) }
        for problem in recording.problems.prefix(3) { Diagnostics.warn("--replay: '\(path)': \(problem); it is passed over") }
        if recording.problems.count > 3 { Diagnostics.warn("--replay: '\(path)': \(recording.problems.count - 3) more can't be read") }
        let named = Recording.Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
        guard let form = recording.form ?? named else {
            throw Failure(.usage, "--replay: the name of '\(path)', which is to be written, has to end in .har or .json")
        }
        if mode != .strict { try Self.probe(path) }
        (self.path, self.mode, self.form, self.keepsSecrets) = (path, mode, form, keepsSecrets)
        count = mode == .record ? 0 : recording.count
        handler = ReplayHandler(recording, mode: mode, speed: speed)
    }

    /// Finds out whether the file can be written, before anything is loaded for it.
    private static func probe(_ path: String) throws(Failure) {
        guard case .success(.file) = OutputPlace(argument: path).kind else {
            throw Failure(.writeFailed, "--replay: '\(path)' is no regular file, and a recording is replaced as a whole; name one")
        }
        try PartialFile.probe(path)
    }

    private static func read(_ path: String) throws(Failure) -> Recording {
        guard let place = LocalPath(path) else { throw Failure(.unreadable, "--replay: the name of the file holds what no name may") }
        let bytes: [UInt8]
        do throws(LoadError) {
            bytes = try RegularFile(at: place).contents(atMost: Recording.largestFile + 1)
        } catch {
            throw Failure(error, message: "--replay: \(error.words)")
        }
        do throws(RecordingError) {
            return try Recording(parsing: bytes)
        } catch {
            throw Failure(.unreadable, "--replay: '\(path)' is no recording that can be played: \(error)")
        }
    }

    /// Writes what was loaded; where nothing was, the file stays as it is, and with `record` also where there was no answer, as without a network.
    func write() throws(Failure) {
        let recording = handler.recording
        guard recording.count > count else { return }
        if mode == .record, !recording.hasAnswers, FileSystem.kind(at: path) != nil {
            return Diagnostics.warn("--replay: nothing was answered; '\(path)' stays as it was")
        }
        guard mode == .fill else { return try write(recording) }
        let lock = FolderLock(ofFolderWith: path)
        defer { lock?.release() }
        if lock == nil { Diagnostics.warn("--replay: '\(path)' could not be locked; what other processes add to it now may be lost") }
        try write(merged(recording))
    }

    /// What was loaded, added to what the file holds now: another process may have filled it meanwhile.
    private func merged(_ recording: Recording) throws(Failure) -> Recording {
        guard FileSystem.kind(at: path) != nil else { return recording }
        var current = try Self.read(path)
        current.add(recording.exchanges.dropFirst(count), besidesFirst: count)
        return current
    }

    private func write(_ recording: Recording) throws(Failure) {
        let file = recording.file(as: recording.form ?? form, keepingSecrets: keepsSecrets)
        guard file.bytes.count <= Recording.largestFile else {
            throw Failure(
                .tooLarge,
                "--replay: '\(path)' would have \(file.bytes.count) bytes, and \(Recording.largestFile) are the limit; it stays as it was")
        }
        if let omission = file.omission { Diagnostics.warn("--replay: '\(path)': \(omission)") }
        try PartialFile.write(file.bytes, to: path, isPrivate: true)
    }
}
