// SPDX-License-Identifier: Apache-2.0

/// Where a process crashed: innermost first.
struct CrashStack: Hashable, Sendable {
    let places: [CodePlace]

    private static let largestStack = 24

    /// In names, as far as there are some.
    struct Told: Hashable, Sendable {
        /// The stack up to where the judge called the plugin, with the judge's own functions as one line. Where no function is the plugin's, all of it.
        let lines: [String]
        /// The innermost function that is the plugin's, as in `run (tide.c:13)`; `nil` where none is.
        let function: String?
        /// The same for all crashes at that place, called the same way by the plugin itself.
        let key: String
    }

    /// - Parameter library: the plugin's, whose functions go before those of libraries that it brought along.
    func told(by names: inout StackNames, library: String?) -> Told {
        var last = places.lastIndex(where: \.isOfPlugin)
        if last == nil { last = places.indices.last }
        let shown = Array(places.prefix((last ?? -1) + 1).prefix(Self.largestStack))
        names.ask(about: shown.filter { !$0.isOfRunner || !shown.contains(where: \.isOfPlugin) })
        let all = shown.filter(\.isOfPlugin)
        let own = all.filter { place in library.map { LibraryPath.name(of: $0) == LibraryPath.name(of: place.object) } ?? false }
        let mine = own.isEmpty ? all : own
        guard let first = mine.first else {
            let lines = names.frames(at: shown).map(\.words)
            return Told(lines: lines, function: nil, key: lines.joined(separator: "\n"))
        }
        var lines: [String] = []
        for place in shown {
            if !place.isOfRunner {
                lines += names.frames(at: [place]).map(\.words)
            } else if lines.last != "the judge" {
                lines.append("the judge")
            }
        }
        let key = names.frames(at: mine).map(\.words).joined(separator: "\n")
        return Told(lines: lines, function: names.frames(at: [first]).first?.words, key: key)
    }
}

extension CodePlace {
    fileprivate var isOfRunner: Bool { object.isEmpty }

    /// The C library and its like, and Swift's runtime, work for whoever called them.
    fileprivate var isOfPlugin: Bool {
        let name = LibraryPath.name(of: object)
        return !isOfRunner && object != "?" && !LibraryPath.isOfSystem(name) && !LibraryPath.isOfSwift(name)
    }
}
