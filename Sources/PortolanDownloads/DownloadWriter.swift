// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanFileSystem
import Synchronization

/// The delegate of a download: it writes the body to a partial file, which it renames to the final name at the end. It
/// forwards the other events to the caller's delegate.
final class DownloadWriter: ForwardingDelegate {
    typealias Outcome = Result<DownloadedFile, LoadError>

    /// A file that is being written.
    private struct Open {
        let file: PartialFile
        let response: Response
        /// The resume data without the number of bytes; `nil` if the download can't be continued.
        let resumeData: ResumeData?
        let resumedBytes: Int64
        var written: Int64
        /// The size of the whole file; `nil` if it is unknown.
        var size: Int64?
        /// Where the missing part ends; `nil` if the response is not for the missing part of an earlier download.
        var rangeEnd: Int64?
    }

    private enum Phase {
        case waiting(ResumedPart?)
        case writing(Open)
        case over
    }

    private struct State {
        var phase: Phase
        var destination: DownloadDestination
        /// Why the task was stopped.
        var failure: LoadError?
        /// Bytes of an earlier download that are of no use. Their file is still there.
        var uselessPart: ResumedPart?
        /// Why all bytes are received again.
        var restartReason: String?
        /// Whether the partial file is kept after a cancel.
        var producesResumeData = false
        var outcome: Outcome?
        var observers: [@Sendable (Outcome) -> Void] = []
    }

    let delegate: (any LoadDelegate)?
    /// Whether bytes are written in several places, so that the file has gaps until the end.
    private let writesParts: Bool
    /// The caller's request, without the fields that resume data must not contain.
    private let request: Request
    private let state: Mutex<State>

    init(
        _ request: Request, to destination: DownloadDestination, resuming part: ResumedPart?, restartReason: String?,
        writesParts: Bool = false, delegate: (any LoadDelegate)?
    ) {
        (self.request, self.writesParts, self.delegate) = (request, writesParts, delegate)
        state = Mutex(State(phase: .waiting(part), destination: destination, restartReason: restartReason))
    }

    /// The task was released before its end.
    deinit { end(LoadError(.cancelled, message: "the task was released while it was suspended; keep it, or cancel it")) }

    /// Keeps the partial file after a cancel.
    func keepPartialFile() { state.withLock { $0.producesResumeData = true } }

    /// Whether the bytes of the earlier download are of no use, so that the whole file must be requested. Called before
    /// the response is delivered.
    func startsOver(after response: Response) -> Bool {
        state.withLock { state in
            guard case .waiting(let part?) = state.phase, case .useless(let reason) = part.answer(of: response) else { return false }
            (state.phase, state.uselessPart, state.restartReason) = (.waiting(nil), part, reason)
            return true
        }
    }

    private func discardUselessPart() {
        if let part = state.withLock({ $0.uselessPart.take() }) { discard(part.file) }
    }

    /// Calls `observer` once, when the download has ended; immediately if it has ended already.
    func whenEnded(_ observer: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.observers.append(observer) }
            return state.outcome
        }
        if let outcome { observer(outcome) }
    }

    /// The outcome. Called after the end.
    var endedOutcome: Outcome {
        state.withLock { $0.outcome } ?? .failure(LoadError(.unknown, message: "the download has not ended"))
    }

    // MARK: - Events

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        guard case .waiting(let part) = state.withLock({ $0.phase }) else { return replaceContents(with: response, task) }
        do throws(LoadError) {
            let open = try open(for: response, resuming: part, task)
            state.withLock { $0.phase = .writing(open) }
            task.recordWritten(open.written, expected: open.size)
            return .keepGoing
        } catch {
            return stop(error)
        }
    }

    /// A further part of a multipart response: only the last one stays.
    private func replaceContents(with response: Response, _ task: LoadTask) -> Flow {
        guard case .writing(let open) = state.withLock({ $0.phase }) else { return .stopped }
        DownloadRecord.remove(ofFileAt: open.file.path)
        do throws(SystemError) {
            try FileSystem.truncate(open.file.descriptor)
        } catch {
            return stop(writeError(open, error))
        }
        let next = Open(
            file: open.file, response: response, resumeData: nil, resumedBytes: 0, written: 0, size: response.expectedLength)
        state.withLock { $0.phase = .writing(next) }
        task.recordWritten(0, expected: next.size)
        return .keepGoing
    }

    /// Opens the file for a response.
    private func open(for response: Response, resuming part: ResumedPart?, _ task: LoadTask) throws(LoadError) -> Open {
        discardUselessPart()
        let now = Int64(Date().timeIntervalSince1970)
        if let part {
            switch part.answer(of: response) {
            case .rest(let end, let size):
                return Open(
                    file: part.file, response: response, resumeData: part.data, resumedBytes: part.size, written: part.size,
                    size: size ?? part.data.expectedBytes, rangeEnd: end)
            case .complete:
                return Open(
                    file: part.file, response: response, resumeData: part.data, resumedBytes: part.size, written: part.size, size: part.size
                )
            case .whole(let reason):
                do throws(SystemError) {
                    try FileSystem.truncate(part.file.descriptor)
                } catch {
                    throw LoadError(.ioFailed, message: "the partial file '\(part.file.path)' can't be emptied: \(error)")
                }
                if part.size > 0 { state.withLock { $0.restartReason = reason } }
                return begin(part.file, part.data, response, now)
            case .useless, .error: throw refuse(response)
            }
        }
        let status = ResumedPart.status(of: response)
        guard 200..<300 ~= status, status != 206 || request.fields[.range] != nil else { throw refuse(response) }
        let proposed = state.withLock { $0.destination }
        let destination =
            (delegate as? any DownloadDelegate)?.loadTask(task, destinationFor: response, proposed: proposed) ?? proposed
        state.withLock { $0.destination = destination }
        var record: (path: String, data: ResumeData)?
        do throws(LoadError) {
            let file = try PartialFile(for: destination.path(for: response), collision: destination.existingFile.collision) {
                guard let data = resumeData($0, $1, response, now) else { return }
                // If the program is killed while it writes parts, the file has gaps, and none of its bytes can be used.
                DownloadRecord.write(writesParts ? data.with(0, of: data.expectedBytes) : data, ofFileAt: $0)
                record = ($0, data)
            }
            FileSystem.lock(file.descriptor)
            return self.open(file, response, record?.data)
        } catch {
            if let record { DownloadRecord.remove(ofFileAt: record.path) }
            throw error
        }
    }

    /// Begins again with a partial file that was emptied.
    ///
    /// - Parameter old: the resume data in the file's record. The record is kept if it is still correct.
    private func begin(_ file: PartialFile, _ old: ResumeData, _ response: Response, _ now: Int64) -> Open {
        let data = resumeData(file.path, file.finalPath, response, now)
        if let data, data == old { return open(file, response, data) }
        if let data { DownloadRecord.write(data, ofFileAt: file.path) } else { DownloadRecord.remove(ofFileAt: file.path) }
        return open(file, response, data)
    }

    private func open(_ file: PartialFile, _ response: Response, _ data: ResumeData?) -> Open {
        // A response to HEAD announces bytes that do not come (RFC 9110 §9.3.2).
        let size = request.method == .head ? nil : response.expectedLength
        return Open(file: file, response: response, resumeData: data, resumedBytes: 0, written: 0, size: size)
    }

    /// - Returns: `nil` if the download can't be continued.
    private func resumeData(_ path: String, _ finalPath: String, _ response: Response, _ now: Int64) -> ResumeData? {
        // If the caller has requested a range, or the response is one part of a body, the result is not a whole file.
        guard request.method == .get, request.body == nil, request.fields[.range] == nil, !response.isBodyPart,
            let validator = ResumedPart.validator(of: response, now: now)
        else { return nil }
        return ResumeData(
            request, validator: validator, partialName: FileSystem.split(path).name, finalName: FileSystem.split(finalPath).name,
            bytesReceived: nil, expectedBytes: response.expectedLength)
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        guard case .writing(var open) = state.withLock({ $0.phase }) else { return .stopped }
        // The body of a 416 is a text about the error.
        if open.response.status == .rangeNotSatisfiable { return .keepGoing }
        let count = Int64(bytes.byteCount)
        if let end = open.rangeEnd, count > min(end, open.size ?? end) - open.written {
            return stop(LoadError(.badResponse, message: "the server sends more bytes than its Content-Range has"))
        }
        do throws(SystemError) {
            try open.file.descriptor.write(all: bytes)
        } catch {
            return stop(writeError(open, error))
        }
        open.written += count
        state.withLock { state in
            if case .writing = state.phase { state.phase = .writing(open) }
        }
        task.recordWritten(open.written, expected: open.size)
        // This call is on the delegate's queue, as all events of the task are.
        delegate?.loadTaskDidReceiveBytes(task)
        return .keepGoing
    }

    private func writeError(_ open: Open, _ error: SystemError) -> LoadError {
        LoadError(.ioFailed, message: "writing '\(open.file.finalPath)' failed after \(open.written) bytes: \(error)")
    }

    private func stop(_ error: LoadError) -> Flow {
        state.withLock { $0.failure = $0.failure ?? error }
        return .stopped
    }

    // MARK: - Parts

    /// - Parameter offset: the place of the bytes in the file. Concurrent calls must write to different places.
    /// - Returns: the error if the bytes can't be written.
    func write(_ bytes: borrowing RawSpan, at offset: Int64) -> LoadError? {
        guard case .writing(let open) = state.withLock({ $0.phase }) else {
            return LoadError(.cancelled, message: "the download has ended")
        }
        do throws(SystemError) {
            try open.file.descriptor.write(all: bytes, at: offset)
            return nil
        } catch {
            return writeError(open, error)
        }
    }

    /// Removes the bytes after the first gap.
    ///
    /// - Parameter prefix: the number of bytes before it.
    func endParts(prefix: Int64, isComplete: Bool) {
        guard case .writing(var open) = state.withLock({ $0.phase }) else { return }
        open.written = prefix
        if !isComplete {
            do throws(SystemError) {
                try FileSystem.truncate(open.file.descriptor, to: prefix)
                if let data = open.resumeData { DownloadRecord.update(data, ofFileAt: open.file.path) }
            } catch {
                // Then the download can't be continued.
                open.written = 0
            }
        }
        state.withLock { $0.phase = .writing(open) }
    }

    // MARK: - The end

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        let outcome = finish(error)
        switch outcome {
        case .success(let file):
            (delegate as? any DownloadDelegate)?.loadTask(task, didDownloadTo: file)
            forwardEnd(of: task, nil)
        case .failure(let error): forwardEnd(of: task, error)
        }
        publish(outcome)
    }

    private func end(_ error: LoadError) {
        if state.withLock({ $0.outcome != nil }) { return }
        publish(finish(error))
    }

    private func publish(_ outcome: Outcome) {
        let observers = state.withLock { state in
            state.outcome = outcome
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer(outcome) }
    }

    /// Closes the file: it gets its name, or is kept for later, or is removed.
    private func finish(_ error: LoadError?) -> Outcome {
        let ended = state.withLock { state in
            defer { state.phase = .over }
            return state
        }
        let failure = ended.failure ?? error
        switch ended.phase {
        case .over: return .failure(failure ?? LoadError(.unknown, message: "the download has ended twice"))
        case .waiting(let part):
            let failure = failure ?? LoadError(.unknown, message: "the load finished without a response")
            discardUselessPart()
            guard let part else { return .failure(failure) }
            // No response has shown that the bytes of the earlier download are of no use, so they are kept.
            part.file.close()
            return .failure(failure.with(part.data.with(part.size, of: part.data.expectedBytes)))
        case .writing(let open):
            if let failure {
                return .failure(keep(open.file, open.resumeData, open.written, of: open.size, ended, failure))
            }
            if let size = open.size ?? open.rangeEnd, size != open.written {
                let error = LoadError(
                    .truncated, message: "'\(open.file.finalPath)' has \(open.written) of \(size) bytes, and the server sent no more")
                return .failure(keep(open.file, open.resumeData, open.written, of: open.size, ended, error))
            }
            return complete(open, ended)
        }
    }

    private func complete(_ open: Open, _ ended: State) -> Outcome {
        observer?.downloadWillRename(open.file)
        do throws(LoadError) {
            let completion = try open.file.complete()
            DownloadRecord.remove(ofFileAt: open.file.path)
            return .success(
                DownloadedFile(
                    path: completion.path, response: open.response, size: open.written, resumedBytes: open.resumedBytes,
                    restartReason: ended.restartReason, warnings: completion.warnings))
        } catch {
            // The file can't get its name. All its bytes can be used later. The record of parts says that none can be
            // used, because there were gaps.
            if writesParts, let data = open.resumeData { DownloadRecord.update(data, ofFileAt: open.file.path) }
            return .failure(keep(open.file, open.resumeData, open.written, of: open.size ?? open.written, ended, error))
        }
    }

    /// - Returns: the error, with the resume data if the file is kept.
    private func keep(
        _ file: PartialFile, _ data: ResumeData?, _ written: Int64, of size: Int64?, _ state: State, _ error: LoadError
    ) -> LoadError {
        let isWanted =
            switch state.destination.partialFile {
            case .never: false
            case .afterFailure: error.code != .cancelled
            case .always: true
            }
        guard let data, written > 0, isWanted || state.producesResumeData else {
            discard(file)
            return error
        }
        file.close()
        return error.with(data.with(written, of: size))
    }

    private func discard(_ file: PartialFile) {
        // A record without its file is removed later, a file without its record is not.
        file.discard()
        DownloadRecord.remove(ofFileAt: file.path)
        file.close()
    }

    private var observer: (any DownloadObserver)? { delegate as? any DownloadObserver }

    private func refuse(_ response: Response) -> LoadError {
        observer?.downloadDidReceiveErrorResponse(response)
        return Self.error(for: response)
    }

    /// The error for a response that does not contain the file.
    private static func error(for response: Response) -> LoadError {
        let code = LoadError.Code(ofRefusal: response.status?.code)
        let status = response.status.map { "\($0.code) \($0.reasonPhrase)" } ?? "a part of the file"
        return LoadError(code, message: "\(response.url.shortDescription) was not downloaded: the response is \(status)")
    }
}

extension LoadError.Code {
    /// The code for a response whose status is not 2xx.
    package init(ofRefusal status: Int?) {
        self =
            switch status {
            case 401, 407: .authenticationRequired
            case 403: .accessDenied
            case 404, 410: .notFound
            case 416: .rangeNotSatisfiable
            default: .badResponse
            }
    }
}
