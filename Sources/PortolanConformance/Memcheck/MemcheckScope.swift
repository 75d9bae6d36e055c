// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Decides whose code an error belongs to.
///
/// Memcheck sees a whole process: the runner, Swift's runtime, the C library, the plugin and the plugin's own
/// libraries. The C library and similar libraries work for their callers. So the innermost function outside of them
/// owns the error.
struct MemcheckScope: Hashable, Sendable {
    /// Libraries that were open in the runner before any plugin. A plugin can use them as well.
    private let shared: Set<String>

    enum Owner: Hashable {
        case host, plugin
        /// The C library, or another library that serves both sides.
        case nobody
    }

    /// - Parameter shared: The paths of libraries that the host and the plugin share.
    init(shared: Set<String>) { self.shared = shared }

    /// The scope of this process, in which no plugin has been opened yet (`proc(5)`, /proc/self/maps).
    static func ofThisProcess() -> Self {
        // `try?` because without the list a shared library counts as the plugin's.
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        let paths = maps.split(separator: "\n").compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
        return Self(shared: Set(paths))
    }

    func owner(of frame: StackFrame) -> Owner {
        guard let object = frame.object else { return .nobody }
        let name = LibraryPath.name(of: object)
        // Swift code allocates and frees in its runtime, which memcheck does not understand well.
        if object.hasPrefix("/\(MemcheckRun.programPrefix)") || LibraryPath.isOfSwift(name) { return .host }
        return shared.contains(object) || LibraryPath.isOfSystem(name) ? .nobody : .plugin
    }

    /// How the plugin caused an error. ``MemcheckScope/guilt(of:)`` is `nil` if it did not.
    enum Guilt: Hashable {
        /// The error happened in the plugin's code.
        case did
        /// The error happened in the host's code, with a block that the plugin allocated or freed: the plugin passed an
        /// invalid block.
        case lent
    }

    func guilt(of error: MemcheckError) -> Guilt? {
        // The dynamic linker compares names several bytes at a time, past their end, for every caller that opens a
        // library.
        if let object = error.stack.first?.object, LibraryPath.name(of: object).hasPrefix("ld-linux") { return nil }
        if owner(of: error.stack) == .plugin { return .did }
        return !error.isLeak && error.origins.contains { owner(of: $0.stack) == .plugin } ? .lent : nil
    }

    /// The stack from the plugin's innermost function on; the whole stack if there is none.
    func ofPlugin(_ stack: [StackFrame]) -> [StackFrame] {
        let rest = stack.drop { owner(of: $0) != .plugin }
        return rest.isEmpty ? stack : Array(rest)
    }

    /// The owner of the innermost function that does not belong to a shared library.
    private func owner(of stack: [StackFrame]) -> Owner {
        for frame in stack {
            let owner = owner(of: frame)
            if owner != .nobody { return owner }
        }
        return .nobody
    }

    /// The stack up to the runner's call of the plugin. The runner's own functions are one line.
    func lines(of stack: [StackFrame]) -> [String] {
        let last = stack.lastIndex { owner(of: $0) == .plugin } ?? stack.endIndex - 1
        var lines: [String] = []
        for frame in stack.prefix(last + 1) {
            let phrase = owner(of: frame) == .host ? "the conformance runner" : frame.phrase
            if phrase != lines.last || phrase == frame.phrase { lines.append(phrase) }
        }
        return Array(lines.prefix(Self.largestStack))
    }

    private static let largestStack = 24
}
