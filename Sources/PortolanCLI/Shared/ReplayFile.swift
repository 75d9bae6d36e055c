// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem
import PortolanTrace

/// The file of `--replay`. Its recorded responses serve requests. At the end of the command, `fill` adds new loads to
/// it, and `record` replaces it.
final class ReplayFile: Sendable {
    let handler: ReplayHandler
    private let path: String
    private let mode: ReplayHandler.Mode
    private let form: Recording.Form
    private let keepsSecrets: Bool
    /// The number of transactions that were read from the file.
    private let originalCount: Int

    /// - Throws: ``Failure`` if the file is not a recording, if it is missing and `mode` needs it, or if it is not
    ///   writable and `mode` changes it.
    init(_ path: String, mode: ReplayHandler.Mode, speed: Double?, keepsSecrets: Bool = false) throws(Failure) {
        var recording = Recording()
        if mode == .strict || (mode == .fill && FileSystem.kind(at: path) != nil) { recording = try Self.read(path) }
        Self.input(path).warnAboutSkippedEntries(recording.problems, further: "entries can't be read")
        let formOfName = Recording.Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") }
        guard let form = recording.form ?? formOfName else {
            throw Failure(.usage, "--replay: '\(path)' will be written, so its name has to end in .har or .json")
        }
        if mode != .strict { try Self.probe(path) }
        (self.path, self.mode, self.form, self.keepsSecrets) = (path, mode, form, keepsSecrets)
        originalCount = mode == .record ? 0 : recording.count
        handler = ReplayHandler(recording, mode: mode, speed: speed)
    }

    /// Checks before the loads whether the program can replace the file.
    private static func probe(_ path: String) throws(Failure) {
        guard case .success(.file) = OutputPlace(argument: path).kind else {
            throw Failure(
                .writeFailed, "--replay: '\(path)' is not a regular file, and only a regular file can be replaced by a recording; name one")
        }
        try PartialFile.probeForCommand(path)
    }

    private static func input(_ path: String) -> InputFile { InputFile(option: "--replay", path: path) }

    private static func read(_ path: String) throws(Failure) -> Recording {
        // Reads one byte more than the limit, so that `Recording` reports a file that is too large.
        let bytes = try input(path).contents(atMost: Recording.largestFile + 1)
        do throws(RecordingError) {
            return try Recording(parsing: bytes)
        } catch {
            throw Failure(.unreadable, "--replay: '\(path)' is not a recording that can be replayed: \(error)")
        }
    }

    /// Writes the new transactions. The file stays unchanged if there are none. In the mode `record` it also stays
    /// unchanged if no request got a response, for example without a network.
    func write() throws(Failure) {
        let recording = handler.recording
        guard recording.count > originalCount else { return }
        if mode == .record, !recording.hasResponses, FileSystem.kind(at: path) != nil {
            return Diagnostics.warn("--replay: no request got a response; '\(path)' is unchanged")
        }
        guard mode == .fill else { return try write(recording) }
        let lock = FolderLock(ofFolderWith: path)
        defer { lock?.release() }
        if lock == nil {
            Diagnostics.warn("--replay: '\(path)' could not be locked; responses that other processes add to it now can be lost")
        }
        try write(merged(recording))
    }

    /// Adds the new transactions to the current contents of the file, because other processes can have written it since
    /// the start.
    private func merged(_ recording: Recording) throws(Failure) -> Recording {
        guard FileSystem.kind(at: path) != nil else { return recording }
        var current = try Self.read(path)
        current.add(recording.transactions.dropFirst(originalCount), besidesFirst: originalCount)
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
        try PartialFile.writeForCommand(file.bytes, to: path, isPrivate: true)
    }
}
