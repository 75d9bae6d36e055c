// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

/// The loads of one `get`, one after another, and the signal that may end them.
final class GetSession: Sendable {
    private struct State {
        var load: GetLoad?
        var interruption: ExitStatus?
    }

    /// How long a load that has to end is waited for, before the program ends without it: its thread may hang in a write.
    private static let grace = Duration.seconds(1)

    private let monitor = Monitor(State())

    /// Loads one URL to its end, and reports why it failed.
    func load(_ url: String, with command: GetCommand, on loader: Loader, strays: [PluginProblem]) -> Failure? {
        let observers = command.output.makeObservers()
        let start = MonotonicTime.now
        do throws(Failure) {
            let request = try command.request.request(for: url)
            let output = try command.output.makeOutput(isHeadOnly: command.request.asksHeadOnly)
            let load = GetLoad(
                output: output, observers: observers, includesHead: command.output.includesHead || command.request.asksHeadOnly,
                refusesBadStatus: command.output.refusesBadStatus, passwords: command.request.passwords(for: request.url))
            try begin(load)
            defer { monitor.signalling { $0.load = nil } }
            try load.run(request, on: loader, grace: Self.grace)
            return nil
        } catch {
            let failure = monitor.withLock { $0.interruption }.map(Self.failure) ?? error.mentioning(strays)
            for observer in observers {
                // `try?` because the first failure is the one to be told.
                try? observer.observe(.failed(failure), at: MonotonicTime.now - start)
            }
            if let message = failure.message { Diagnostics.report(message) }
            return failure
        }
    }

    private func begin(_ load: GetLoad) throws(Failure) {
        let interruption = monitor.withLock { state in
            state.load = load
            return state.interruption
        }
        if let interruption { throw Self.failure(interruption) }
    }

    /// Ends the running load; the program ends soon after, whatever hangs.
    func interrupt(_ status: ExitStatus) {
        let load = monitor.withLock { state in
            state.interruption = status
            return state.load
        }
        if let load { Interruption.cancelElsewhere { load.cancel() } }
        let hasEnded = monitor.wait(atMost: Self.grace) { $0.load == nil ? true : nil } ?? false
        load?.abandon()
        // The main thread ends the program where it can; this one does only where that hangs, in a write or before the load.
        if hasEnded { _ = monitor.wait(atMost: Self.grace) { _ in nil as Bool? } }
        Diagnostics.report(Self.failure(status).message ?? "")
        Interruption.leave(status)
    }

    private static func failure(_ status: ExitStatus) -> Failure {
        Failure(status, status == .interrupted ? "interrupted" : status.meaning)
    }
}
