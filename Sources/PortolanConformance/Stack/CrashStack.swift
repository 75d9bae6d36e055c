// SPDX-License-Identifier: Apache-2.0

/// The addresses of a crash's stack, innermost first.
struct CrashStack: Hashable, Sendable {
    let places: [CodePlace]

    private static let maximumPlaceCount = 24

    /// The stack with names, as far as they are known.
    struct NamedStack: Hashable, Sendable {
        /// The stack up to the runner's call of the plugin, one line per function. Consecutive functions of the runner
        /// are one line. The whole stack if no function belongs to the plugin.
        let lines: [String]
        /// The innermost function of the plugin, as in `run (tide.c:13)`; `nil` if there is none.
        let function: String?
        /// Equal for all crashes at that place with the same calls within the plugin.
        let key: String
    }

    /// - Parameter library: The path of the plugin's library. Its functions take precedence over functions of other
    ///   libraries that the plugin brings.
    func named(by names: inout StackNames, library: String?) -> NamedStack {
        var last = places.lastIndex(where: \.isOfPlugin)
        if last == nil { last = places.indices.last }
        var shownPlaces = Array(places.prefix((last ?? -1) + 1))
        names.lookUp(shownPlaces.filter { !$0.isOfRunner || !shownPlaces.contains(where: \.isOfPlugin) })
        // How a language ends the process after a panic or an exception is the same for all of them.
        let placesOfProgram = shownPlaces.filter { place in !names.frames(at: [place]).allSatisfy(\.endsProcess) }
        if placesOfProgram.contains(where: \.isOfPlugin) { shownPlaces = placesOfProgram }
        shownPlaces = Array(shownPlaces.prefix(Self.maximumPlaceCount))
        let pluginPlaces = shownPlaces.filter(\.isOfPlugin)
        let libraryPlaces = pluginPlaces.filter { place in
            library.map { LibraryPath.name(of: $0) == LibraryPath.name(of: place.object) } ?? false
        }
        let namedPlaces = libraryPlaces.isEmpty ? pluginPlaces : libraryPlaces
        guard let first = namedPlaces.first else {
            let lines = names.frames(at: shownPlaces).map(\.phrase)
            return NamedStack(lines: lines, function: nil, key: lines.joined(separator: "\n"))
        }
        var lines: [String] = []
        for place in shownPlaces {
            if !place.isOfRunner {
                lines += names.frames(at: [place]).map(\.phrase)
            } else if lines.last != "the conformance runner" {
                lines.append("the conformance runner")
            }
        }
        let key = names.frames(at: namedPlaces).map(\.phrase).joined(separator: "\n")
        return NamedStack(lines: lines, function: names.frames(at: [first]).first?.phrase, key: key)
    }
}

extension CodePlace {
    fileprivate var isOfRunner: Bool { object.isEmpty }

    /// Whether the place is in the plugin. The C library, similar system libraries and Swift's runtime do not count,
    /// because they work for their callers.
    fileprivate var isOfPlugin: Bool {
        let name = LibraryPath.name(of: object)
        return !isOfRunner && object != "?" && !LibraryPath.isOfSystem(name) && !LibraryPath.isOfSwift(name)
    }
}
