// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem
import Synchronization

/// Writes messages to standard error.
enum Diagnostics {
    /// The messages that are shown: none, errors, or errors and warnings.
    enum Verbosity: UInt8, AtomicRepresentable { case nothing, errors, warnings }

    private static let level = Atomic(Verbosity.warnings)

    /// Sets the verbosity of the whole program.
    static func setVerbosity(_ level: Verbosity) {
        Self.level.store(level, ordering: .relaxed)
    }

    /// Writes `portolan: ` and the message, on exactly one line and without the passwords of URLs. Some messages come
    /// from plugins, and can contain anything.
    static func report(_ message: String) {
        writeLine(message, level: .errors)
    }

    private static func writeLine(_ message: String, level: Verbosity) {
        guard Self.level.load(ordering: .relaxed).rawValue >= level.rawValue else { return }
        write("portolan: \(PlainText.line(UserInformation.removed(from: message)))\n")
    }

    /// Reports a problem after which the command continues.
    static func warn(_ message: String) {
        writeLine("warning: \(message)", level: .warnings)
    }

    /// Makes everything that would go to standard error go to another place.
    ///
    /// - Parameter place: `-` is standard output.
    static func redirect(to place: OutputPlace) throws(Failure) {
        let kind = place.path == "-" ? nil : try place.kind.get()
        do throws(SystemError) {
            switch kind {
            case nil: try Descriptor.standardOutput.replace(.standardError)
            case .stream(let target): try target.open().replace(.standardError)
            case .file: try FileSystem.openForReplacing(place.path).replace(.standardError)
            }
        } catch {
            throw Failure(.writeFailed, "--stderr: cannot write to '\(place.path)': \(error)")
        }
    }

    static func write(_ text: String) {
        // `try?` because a failure to write to standard error cannot be reported.
        try? Descriptor.standardError.write(all: Array(text.utf8))
    }
}
