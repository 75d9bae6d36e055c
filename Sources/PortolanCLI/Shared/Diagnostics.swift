// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// Standard error.
enum Diagnostics {
    /// How much a person is told.
    enum Verbosity: UInt8, AtomicRepresentable { case nothing, errors, warnings }

    private static let level = Atomic(Verbosity.warnings)

    /// Decides for the whole program.
    static func limit(to level: Verbosity) {
        Self.level.store(level, ordering: .relaxed)
    }

    /// `portolan: ` and the message, on exactly one line, without passwords in URLs: some messages are a plugin's.
    static func report(_ message: String) {
        tell(message, at: .errors)
    }

    private static func tell(_ message: String, at level: Verbosity) {
        guard Self.level.load(ordering: .relaxed).rawValue >= level.rawValue else { return }
        write("portolan: \(PlainText.line(UserInformation.removed(from: message)))\n")
    }

    /// What is worth knowing and ends nothing.
    static func warn(_ message: String) {
        tell("warning: \(message)", at: .warnings)
    }

    static func write(_ text: String) {
        // `try?` because there is nobody to be told that standard error is closed.
        try? Descriptor.standardError.write(all: Array(text.utf8))
    }
}
