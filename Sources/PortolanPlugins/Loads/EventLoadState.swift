// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The life cycle of an event-driven load in its plugin. Decides which function of the plugin to call.
///
///     created → started → ended → destroyed
///        └─── stopped first ─┘
struct EventLoadState: Hashable {
    enum Phase: Hashable, CaseIterable {
        case created
        case started
        /// The load has reported its end, has learned of its end from a client call, or was stopped. Only `destroy`
        /// follows.
        case ended
        case destroyed
    }

    enum Call: Hashable {
        case start, resume, woken, answered, ready, stop, destroy
    }

    private(set) var phase = Phase.created
    /// Whether the load must deliver nothing until it is resumed.
    private(set) var isPaused = false

    /// Begins a call.
    ///
    /// - Returns: the function to call, if any.
    mutating func begin(_ call: SerialCalls.Call) -> Call? {
        switch (call, phase) {
        case (.start, .created):
            phase = .started
            return .start
        case (.resume, .started):
            isPaused = false
            return .resume
        case (.woken, .started): return .woken
        case (.answered, .started): return .answered
        case (.ready, .started): return .ready
        case (.stop, .created):
            phase = .ended
            return nil
        case (.stop, .started):
            phase = .ended
            return .stop
        case (.destroy, .ended):
            phase = .destroyed
            return .destroy
        default: return nil
        }
    }

    /// Called during a call into the load, when the load pauses.
    mutating func recordPause() {
        isPaused = true
    }

    /// Called during a call into the load, when the load has reported its end or a client call returns
    /// PORTOLAN_STOPPED.
    mutating func recordEnd() {
        if phase == .started { phase = .ended }
    }

    var mustDestroy: Bool { phase == .ended }
}

extension SerialCalls.Call {
    static let woken = Self(rawValue: 1 << 3)
    static let answered = Self(rawValue: 1 << 4)
    static let destroy = Self(rawValue: 1 << 5)
    static let ready = Self(rawValue: 1 << 6)
}
