// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanJSON
import Synchronization

/// The file of `--trace`: written when the command has loaded what it was to load, in the form that the file's name says.
final class TraceFile: Sendable {
    enum Format: String, CaseIterable, Sendable { case json, har, html }

    private let path: String
    private let format: Format
    private let recorders = Mutex<[TraceRecorder]>([])

    /// `nil` where the name says no form.
    init?(_ path: String) {
        guard let format = Format.allCases.first(where: { path.lowercased().hasSuffix(".\($0.rawValue)") }) else { return nil }
        (self.path, self.format) = (path, format)
    }

    /// What records the next load.
    func recorder() -> TraceRecorder {
        let recorder = TraceRecorder(began: Date().timeIntervalSince1970)
        recorders.withLock { $0.append(recorder) }
        return recorder
    }

    func write() throws(Failure) {
        let trace = Trace(loads: recorders.withLock(\.self).map(\.load))
        let bytes: [UInt8] =
            switch format {
            case .json: TraceJSON.value(of: trace).bytes + [0x0A]
            case .har: HTTPArchive(trace).value.bytes + [0x0A]
            case .html: Array(TracePage.page(of: trace).utf8)
            }
        let file = try PartialFile(for: path, collision: .replaces)
        do throws(SystemError) {
            try file.descriptor.write(all: bytes)
        } catch {
            file.discard()
            throw Failure(.writeFailed, "writing '\(path)' failed: \(error)")
        }
        try file.complete()
    }
}

/// Records one load.
final class TraceRecorder: LoadObserver {
    private let state: Mutex<TracedLoad>

    fileprivate init(began: Double) { state = Mutex(TracedLoad(began: began)) }

    var load: TracedLoad { state.withLock(\.self) }

    func observe(_ event: LoadEvent, at time: Duration) {
        state.withLock { $0.note(event, at: time) }
    }

    func observe(body bytes: borrowing RawSpan, of progress: LoadProgress, at time: Duration) {
        let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        state.withLock { unsafe $0.note(body: copy.span.bytes, at: time) }
    }
}

extension Double {
    /// Seconds since 1970 as RFC 3339 has it, with milliseconds, in UTC.
    var timestamp: String {
        Date(timeIntervalSince1970: self).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
