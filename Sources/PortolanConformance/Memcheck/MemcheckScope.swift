// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Whose code an error is in.
///
/// Memcheck sees a whole process: the judge, Swift's runtime, the C library, the plugin and what the plugin brought. The C library and its
/// like work for whoever called them, so the innermost function that is not theirs says whose error it is.
struct MemcheckScope: Hashable, Sendable {
    /// Libraries that the judge had open before there was a plugin. A plugin may use them as well.
    private let shared: Set<String>

    enum Owner: Hashable {
        case host, plugin
        /// The C library, or another that serves both sides.
        case nobody
    }

    /// - Parameter shared: paths of libraries that the host and the plugin have in common.
    init(shared: Set<String>) { self.shared = shared }

    /// The scope of this process, in which no plugin has been opened (`proc(5)`, /proc/self/maps).
    static func ofThisProcess() -> Self {
        // `try?` because without the list a library that is in both counts as the plugin's.
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        let paths = maps.split(separator: "\n").compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
        return Self(shared: Set(paths))
    }

    func owner(of frame: StackFrame) -> Owner {
        guard let object = frame.object else { return .nobody }
        let name = LibraryPath.name(of: object)
        // What is written in Swift allocates and frees in its runtime, which memcheck does not understand well.
        if object.hasPrefix("/\(MemcheckRun.programPrefix)") || LibraryPath.isOfSwift(name) { return .host }
        return shared.contains(object) || LibraryPath.isOfSystem(name) ? .nobody : .plugin
    }

    /// How an error is the plugin's; `nil` where it is not.
    enum Guilt: Hashable {
        /// It happened in the plugin's code.
        case did
        /// It happened in the host's, with a block that the plugin took or freed: it was lent what could not be.
        case lent
    }

    func guilt(of error: MemcheckError) -> Guilt? {
        // The dynamic linker compares names in steps of several bytes, past their end: whoever has it open a library.
        if let object = error.stack.first?.object, LibraryPath.name(of: object).hasPrefix("ld-linux") { return nil }
        if owner(of: error.stack) == .plugin { return .did }
        return !error.isLeak && error.origins.contains { owner(of: $0.stack) == .plugin } ? .lent : nil
    }

    /// The stack from the plugin's innermost function on; all of it where there is none.
    func ofPlugin(_ stack: [StackFrame]) -> [StackFrame] {
        let rest = stack.drop { owner(of: $0) != .plugin }
        return rest.isEmpty ? stack : Array(rest)
    }

    /// Who did what the innermost function did.
    private func owner(of stack: [StackFrame]) -> Owner {
        for frame in stack {
            let owner = owner(of: frame)
            if owner != .nobody { return owner }
        }
        return .nobody
    }

    /// The stack up to where the judge called the plugin, with the judge's own functions as one line.
    func told(_ stack: [StackFrame]) -> [String] {
        let last = stack.lastIndex { owner(of: $0) == .plugin } ?? stack.endIndex - 1
        var lines: [String] = []
        for frame in stack.prefix(last + 1) {
            let words = owner(of: frame) == .host ? "the judge" : frame.words
            if words != lines.last || words == frame.words { lines.append(words) }
        }
        return Array(lines.prefix(Self.largestStack))
    }

    private static let largestStack = 24
}
