// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The life cycle of an event-driven load as its plugin sees it. Decides which function each call invokes.
///
///     made → started → over → destroyed
///       └── stopped first ─┘
struct EventLoadState: Hashable {
    enum Phase: Hashable, CaseIterable {
        case made
        case started
        /// The load has reported its end, was notified of it, or was stopped. Only `destroy` may follow.
        case over
        case destroyed
    }

    enum Call: Hashable {
        case start, resume, woken, answered, ready, stop, destroy
    }

    private(set) var phase = Phase.made
    /// Whether the load must deliver nothing until it is resumed.
    private(set) var isPaused = false

    /// Begins a call.
    ///
    /// - Returns: the function to call, if any.
    mutating func begin(_ call: SerialCalls.Call) -> Call? {
        switch (call, phase) {
        case (.start, .made):
            phase = .started
            return .start
        case (.resume, .started):
            isPaused = false
            return .resume
        case (.woken, .started): return .woken
        case (.answered, .started): return .answered
        case (.ready, .started): return .ready
        case (.stop, .made):
            phase = .over
            return nil
        case (.stop, .started):
            phase = .over
            return .stop
        case (.destroy, .over):
            phase = .destroyed
            return .destroy
        default: return nil
        }
    }

    /// Called inside a call into the load, when the load is being paused.
    mutating func notePause() {
        isPaused = true
    }

    /// Called inside a call into the load, when the load has reported its end or is being notified of it.
    mutating func noteEnd() {
        if phase == .started { phase = .over }
    }

    var owesDestroy: Bool { phase == .over }
}

extension SerialCalls.Call {
    static let woken = Self(rawValue: 1 << 3)
    static let answered = Self(rawValue: 1 << 4)
    static let destroy = Self(rawValue: 1 << 5)
    static let ready = Self(rawValue: 1 << 6)
}
