// SPDX-License-Identifier: Apache-2.0

/// The addresses of a crash's stack, innermost first.
struct CrashStack: Hashable, Sendable {
    let places: [CodePlace]

    private static let largestStack = 24

    /// The stack with names, as far as they are known.
    struct NamedStack: Hashable, Sendable {
        /// The stack up to the runner's call of the plugin. The runner's own functions are one line. The whole stack if
        /// no function belongs to the plugin.
        let lines: [String]
        /// The innermost function of the plugin, as in `run (tide.c:13)`; `nil` if there is none.
        let function: String?
        /// Equal for all crashes at that place with the same calls within the plugin.
        let key: String
    }

    /// - Parameter library: The plugin's library. Its functions take precedence over those of libraries that it brought
    ///   along.
    func named(by names: inout StackNames, library: String?) -> NamedStack {
        var last = places.lastIndex(where: \.isOfPlugin)
        if last == nil { last = places.indices.last }
        let shown = Array(places.prefix((last ?? -1) + 1).prefix(Self.largestStack))
        names.lookUp(shown.filter { !$0.isOfRunner || !shown.contains(where: \.isOfPlugin) })
        let all = shown.filter(\.isOfPlugin)
        let own = all.filter { place in library.map { LibraryPath.name(of: $0) == LibraryPath.name(of: place.object) } ?? false }
        let mine = own.isEmpty ? all : own
        guard let first = mine.first else {
            let lines = names.frames(at: shown).map(\.phrase)
            return NamedStack(lines: lines, function: nil, key: lines.joined(separator: "\n"))
        }
        var lines: [String] = []
        for place in shown {
            if !place.isOfRunner {
                lines += names.frames(at: [place]).map(\.phrase)
            } else if lines.last != "the conformance runner" {
                lines.append("the conformance runner")
            }
        }
        let key = names.frames(at: mine).map(\.phrase).joined(separator: "\n")
        return NamedStack(lines: lines, function: names.frames(at: [first]).first?.phrase, key: key)
    }
}

extension CodePlace {
    fileprivate var isOfRunner: Bool { object.isEmpty }

    /// Whether the place is in the plugin: the C library, similar system libraries and Swift's runtime work for their
    /// callers.
    fileprivate var isOfPlugin: Bool {
        let name = LibraryPath.name(of: object)
        return !isOfRunner && object != "?" && !LibraryPath.isOfSystem(name) && !LibraryPath.isOfSwift(name)
    }
}
