// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// NEST: loads inside of loads.
extension ConformanceCheck {
    static let nesting: [ConformanceCheck] = [
        ConformanceCheck("CANCEL-08") { trial throws(Unjudged) in
            try trial.eachNested(.silent) { load, made throws(Unjudged) in
                let hasOpened = made.client.state.wait(atMost: trial.patience) {
                    $0.nested.isEmpty && !$0.hasEnded ? nil : !$0.nested.isEmpty
                }
                made.stop()
                let isSettled = trial.settled(made, within: .seconds(1)) != nil
                guard hasOpened == true else { throw Unjudged("'\(load.url)' opened no inner load (NEST-01)") }
                if !isSettled {
                    trial.fail("'\(load.url)' went on for a second after a stop that came while its inner load had nothing yet")
                }
            }
        },
        ConformanceCheck("NEST-01") { trial throws(Unjudged) in
            try trial.eachNested(.loaded) { load, made throws(Unjudged) in
                guard let record = trial.settled(made, within: trial.patience), record.didFinish else {
                    throw Unjudged("'\(load.url)' did not finish (LIFE-02)")
                }
                if made.client.state.withLock({ $0.nested.isEmpty }) {
                    trial.fail("'\(load.url)' is tagged nested, and finished without opening an inner load by portolan.nested/1")
                }
            }
        },
        ConformanceCheck("NEST-02") { trial throws(Unjudged) in
            try trial.eachNested(.failing(.accessDenied)) { load, made throws(Unjudged) in
                guard let record = trial.settled(made, within: trial.patience) else {
                    return trial.fail("'\(load.url)' did not end when its inner load had failed")
                }
                guard !made.client.state.withLock({ $0.nested.isEmpty }) else {
                    throw Unjudged("'\(load.url)' opened no inner load (NEST-01)")
                }
                guard let error = record.failure?.value else {
                    return trial.fail("'\(load.url)' came to \(LoadResult(record).words) when its inner load had failed")
                }
                if !error.causes.contains(where: { $0.code == LoadError.Code.accessDenied.rawValue }) {
                    trial.fail("'\(load.url)': its inner load had failed, and its error does not name that as its cause")
                }
            }
        },
        ConformanceCheck("NEST-08") { trial throws(Unjudged) in
            try trial.eachUse { load, use in
                if use.closes > 1 { trial.fail("'\(load.url)' closed its inner load \(use.closes) times") }
                if use.late > 0 { trial.fail("'\(load.url)' used its inner load after it had closed it") }
            }
        },
    ]
}

extension Trial {
    /// Calls `body` with each load that opens others, started.
    fileprivate func eachNested(
        _ inner: ClientScript.Inner, _ body: (ConformanceLoad, JudgedLoad) throws(Unjudged) -> Void
    ) throws(Unjudged) {
        try eachLoad(.nested) { load, request, instance throws(Unjudged) in
            var script = Self.script(for: load)
            script.inner = inner
            let made = try make(request, of: instance, script)
            try made.start()
            try body(load, made)
        }
    }

    /// Calls `body` with how each inner load was used: of loads that come to their end, whose inner load fails, and that are stopped.
    fileprivate func eachUse(_ body: (ConformanceLoad, (closes: Int, late: Int)) -> Void) throws(Unjudged) {
        for inner in [ClientScript.Inner.loaded, .failing(.accessDenied), .silent] {
            try eachNested(inner) { load, made throws(Unjudged) in
                if inner == .silent {
                    _ = made.client.state.wait(atMost: shortPatience) { $0.nested.isEmpty && !$0.hasEnded ? nil : true }
                    made.stop()
                }
                guard settled(made, within: patience) != nil else { throw Unjudged("'\(load.url)' did not end (LIFE-02)") }
                let opened = made.client.state.withLock(\.nested)
                guard !opened.isEmpty else { throw Unjudged("'\(load.url)' opened no inner load (NEST-01)") }
                for nested in opened { body(load, nested.use) }
            }
        }
    }
}
