// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The life of an event-driven load as its plugin sees it: decides what each turn calls.
///
///     made → started → over → destroyed
///       └── stopped first ─┘
struct TurnLife: Hashable {
    enum Phase: Hashable, CaseIterable {
        case made
        case started
        /// It ended, or was told or stopped: only `destroy` may come.
        case over
        case destroyed
    }

    enum Call: Hashable {
        case start, resume, woken, answered, ready, stop, destroy
    }

    private(set) var phase = Phase.made
    /// The load was told to deliver nothing, and not to go on yet.
    private(set) var isPaused = false

    /// A turn begins.
    ///
    /// - Returns: the function to call in it, if any.
    mutating func begin(_ turn: LoadTurns.Turn) -> Call? {
        switch (turn, phase) {
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

    /// In a turn: the load is being told to pause.
    mutating func notePause() {
        isPaused = true
    }

    /// In a turn: the load has reported its end, or is being told that it is over.
    mutating func noteEnd() {
        if phase == .started { phase = .over }
    }

    var owesDestroy: Bool { phase == .over }
}

extension LoadTurns.Turn {
    static let woken = Self(rawValue: 1 << 3)
    static let answered = Self(rawValue: 1 << 4)
    static let destroy = Self(rawValue: 1 << 5)
    static let ready = Self(rawValue: 1 << 6)
}
