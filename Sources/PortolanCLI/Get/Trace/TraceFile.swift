// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanJSON
import PortolanTrace
import Synchronization

/// The file of `--trace`: written when the command has loaded what it was to load, in the form that the file's name says.
final class TraceFile: Sendable {
    enum Format: String, CaseIterable, Sendable { case json, har, html }

    private let place: OutputPlace
    private let format: Format
    private let recorders = Mutex<[TraceRecorder]>([])

    /// `nil` where the name says no form.
    init?(_ place: OutputPlace) {
        guard let format = Format.allCases.first(where: { place.path.lowercased().hasSuffix(".\($0.rawValue)") }) else { return nil }
        (self.place, self.format) = (place, format)
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
            case .json: EventTrace.document(trace.loads.map(\.json)).bytes + [0x0A]
            case .har: HTTPArchive.value(of: trace.loads.flatMap(\.exchanges)).bytes + [0x0A]
            case .html: Array(TracePage.page(of: trace).utf8)
            }
        try place.write(bytes)
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
        // Calls are serial: nothing else takes of the room meanwhile.
        let room = state.withLock { $0.room }
        let kept = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(room)) }
        let count = bytes.byteCount
        state.withLock { $0.note(body: kept, of: count, at: time) }
    }
}
