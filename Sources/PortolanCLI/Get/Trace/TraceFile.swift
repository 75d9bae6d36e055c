// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanCore
import PortolanJSON
import PortolanTrace
import Synchronization

/// The file of `--trace`. It is written after all loads of the command, in the format that its name extension selects.
final class TraceFile: Sendable {
    enum Format: String, CaseIterable, Sendable { case json, har, html }

    private let place: OutputPlace
    private let redaction: Redaction
    private let format: Format
    private let recorders = Mutex<[TraceRecorder]>([])

    /// `nil` if the file name selects no format.
    init?(_ place: OutputPlace, keepsSecrets: Bool = false) {
        guard let format = Format.allCases.first(where: { place.path.lowercased().hasSuffix(".\($0.rawValue)") }) else { return nil }
        (self.place, self.format, redaction) = (place, format, Redaction(keepsSecrets: keepsSecrets))
    }

    /// Makes the recorder for the next load.
    func recorder() -> TraceRecorder {
        // The HTML page shows the sizes of bodies, and no bytes.
        let recorder = TraceRecorder(began: Date().timeIntervalSince1970, keepsBodies: format != .html)
        recorders.withLock { $0.append(recorder) }
        return recorder
    }

    /// - Parameter limit: how long the reader of a FIFO can take; `nil` for no limit.
    func write(within limit: Duration?) throws(Failure) {
        guard let limit, case .success(.stream) = place.kind else { return try write() }
        let outcome = ConditionLock<Result<Void, Failure>?>(nil)
        do throws(LoadError) {
            try PlatformThread.start(stackSize: 8 << 20) {
                let result = Result { () throws(Failure) in try self.write() }
                outcome.withLockBroadcasting { $0 = result }
            }
        } catch {
            throw Failure(error)
        }
        guard let written = outcome.wait(atMost: limit, for: { $0 }) else {
            throw Failure(.timedOut, "--trace: the reader of '\(place.path)' did not read everything within \(limit)")
        }
        try written.get()
    }

    private func write() throws(Failure) {
        let loads = recorders.withLock(\.self).map(\.load)
        let file: RecordingFile
        switch format {
        case .json:
            file = RecordingFile(
                loads.lazy.map { $0.redacted(by: self.redaction) }, written: \.json, withoutBodies: \.withoutBodies.json,
                in: EventTrace.document)
        case .har:
            file = RecordingFile(
                loads.flatMap(\.transactions).lazy.map { $0.redacted(by: self.redaction) }, written: HTTPArchive.entry,
                withoutBodies: { HTTPArchive.entry($0.withoutBodies) }, in: HTTPArchive.document)
        case .html:
            let page = WaterfallPage(of: Trace(loads: loads), redaction: redaction)
            return try place.write(Array(page.text.utf8), isPrivate: true)
        }
        if let omission = file.omission { Diagnostics.warn("--trace: '\(place.path)': \(omission)") }
        try place.write(file.bytes, isPrivate: true)
    }
}

/// Records one load.
final class TraceRecorder: LoadObserver {
    private let state: Mutex<TracedLoad>

    fileprivate init(began: Double, keepsBodies: Bool) { state = Mutex(TracedLoad(began: began, keepsBodies: keepsBodies)) }

    var load: TracedLoad { state.withLock(\.self) }

    func observe(_ event: LoadEvent, at time: Duration) {
        state.withLock { $0.record(event, at: time) }
    }

    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) {
        // Calls are serial, so the remaining capacity cannot change between the two calls of `withLock`.
        let remainingCapacity = state.withLock { $0.remainingCapacity }
        let kept = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(remainingCapacity)) }
        let count = bytes.byteCount
        state.withLock { $0.record(body: kept, of: count, at: time) }
    }
}
