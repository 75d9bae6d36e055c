// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Decides whether an error belongs to the plugin.
///
/// Memcheck sees a whole process: the runner, Swift's runtime, the C library, the plugin and the plugin's own
/// libraries. The C library and similar libraries work for their callers. So the innermost function outside of them
/// owns the error.
struct MemcheckScope: Hashable, Sendable {
    /// Libraries that were open in the runner before any plugin. A plugin can use them as well.
    private let sharedLibraries: Set<String>

    enum Owner: Hashable {
        case host, plugin
        /// The C library, or another library that serves both sides.
        case nobody
    }

    /// - Parameter libraries: The paths of libraries that the host and the plugin share.
    init(shared libraries: Set<String>) { sharedLibraries = libraries }

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
        return sharedLibraries.contains(object) || LibraryPath.isOfSystem(name) ? .nobody : .plugin
    }

    /// How the plugin caused an error. ``MemcheckScope/attribution(of:)`` is `nil` if it did not.
    enum Attribution: Hashable {
        /// The error happened in the plugin's code.
        case inPluginCode
        /// The error happened in the host's code, with a block that the plugin allocated or freed: the plugin passed an
        /// invalid block.
        case inPassedBlock
    }

    func attribution(of error: MemcheckError) -> Attribution? {
        // The dynamic linker compares names several bytes at a time, past their end, for every caller that opens a
        // library.
        if let object = error.stack.first?.object, LibraryPath.name(of: object).hasPrefix("ld-linux") { return nil }
        if owner(of: error.stack) == .plugin { return .inPluginCode }
        return !error.isLeak && error.origins.contains { owner(of: $0.stack) == .plugin } ? .inPassedBlock : nil
    }

    /// Returns the part of the stack from the plugin's innermost function on; the whole stack if there is none.
    func partFromPlugin(_ stack: [StackFrame]) -> [StackFrame] {
        let pluginPart = stack.drop { owner(of: $0) != .plugin }
        return pluginPart.isEmpty ? stack : Array(pluginPart)
    }

    /// The owner of the innermost function that does not belong to a shared library.
    private func owner(of stack: [StackFrame]) -> Owner {
        for frame in stack {
            let owner = owner(of: frame)
            if owner != .nobody { return owner }
        }
        return .nobody
    }

    /// Returns the stack up to the runner's call of the plugin, one line per function. Consecutive functions of the
    /// runner are one line.
    func lines(of stack: [StackFrame]) -> [String] {
        let lastPluginIndex = stack.lastIndex { owner(of: $0) == .plugin } ?? stack.endIndex - 1
        var lines: [String] = []
        for frame in stack.prefix(lastPluginIndex + 1) {
            let phrase = owner(of: frame) == .host ? "the conformance runner" : frame.phrase
            if phrase != lines.last || phrase == frame.phrase { lines.append(phrase) }
        }
        return Array(lines.prefix(Self.maximumLineCount))
    }

    private static let maximumLineCount = 24
}
