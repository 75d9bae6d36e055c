// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// Where the body of one URL goes.
enum OutputTarget: Sendable {
    case standardOutput
    case place(OutputPlace)
    /// A file that has its name from the URL or the response (`-O`).
    case remoteName

    /// The place of an option `-o`; `-` is standard output.
    init(_ place: OutputPlace) { self = place.path == "-" ? .standardOutput : .place(place) }

    var place: OutputPlace? { if case .place(let place) = self { place } else { nil } }

    var isStandardOutput: Bool { if case .standardOutput = self { true } else { false } }

    /// Whether the target is a terminal, other than standard output.
    var isTerminal: Bool {
        guard case .success(.stream(.descriptor(let descriptor))) = place?.kind else { return false }
        return descriptor.isTerminal
    }
}
