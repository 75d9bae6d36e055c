// SPDX-License-Identifier: Apache-2.0

/// Where a process crashed.
struct CrashStack: Hashable, Sendable {
    /// Innermost first.
    let places: [CodePlace]
    /// The path of the program that judges.
    let judge: String

    private static let largestStack = 24

    private func isOfPlugin(_ place: CodePlace) -> Bool {
        place.object != judge && !LibraryPath.isOfSystem(LibraryPath.name(of: place.object))
    }

    /// The stack up to where the judge called the plugin, with the judge's own functions as one line, and the innermost function that is the
    /// plugin's. Where none is, all of it.
    func told(by names: inout StackNames) -> (lines: [String], function: String?) {
        guard let last = places.lastIndex(where: isOfPlugin), let first = places.firstIndex(where: isOfPlugin) else {
            return (names.frames(at: Array(places.prefix(Self.largestStack))).map(\.words), nil)
        }
        var lines: [String] = []
        for place in places[...last].prefix(Self.largestStack) {
            if place.object != judge {
                lines += names.frames(at: [place]).map(\.words)
            } else if lines.last != "the judge" {
                lines.append("the judge")
            }
        }
        return (lines, names.frames(at: [places[first]]).first?.words)
    }
}
