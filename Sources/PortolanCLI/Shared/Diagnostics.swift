// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// Writes messages to standard error.
enum Diagnostics {
    /// The lowest severity of the messages that are shown.
    enum Verbosity: UInt8, AtomicRepresentable { case nothing, errors, warnings }

    private static let level = Atomic(Verbosity.warnings)

    /// Sets the verbosity of the whole program.
    static func limit(to level: Verbosity) {
        Self.level.store(level, ordering: .relaxed)
    }

    /// Writes `portolan: ` and the message, on exactly one line and without passwords in URLs, because some messages
    /// come from plugins.
    static func report(_ message: String) {
        tell(message, at: .errors)
    }

    private static func tell(_ message: String, at level: Verbosity) {
        guard Self.level.load(ordering: .relaxed).rawValue >= level.rawValue else { return }
        write("portolan: \(PlainText.line(UserInformation.removed(from: message)))\n")
    }

    /// Reports a problem that ends nothing.
    static func warn(_ message: String) {
        tell("warning: \(message)", at: .warnings)
    }

    static func write(_ text: String) {
        // `try?` because a failure to write to standard error cannot be reported.
        try? Descriptor.standardError.write(all: Array(text.utf8))
    }
}
