// SPDX-License-Identifier: Apache-2.0

/// A line of the call log: `1.234 ms  thread 42  load 1  → run`, or without `load 1`.
struct CallLogEntry: Sendable {
    /// The time since the start of the check.
    let milliseconds: Double
    let thread: Substring
    /// The number of the load in its check, from 1; `nil` if the call belongs to no load.
    let load: Int?
    /// A plugin function that is called (`→ run`, and with a URL `→ make tide://…`) or returns (`← run`), or a function
    /// that the plugin calls (`did_load`).
    let phrase: String

    init?(_ line: String) {
        let parts = line.split(separator: " ", maxSplits: 4)
        guard parts.count == 5, parts[1] == "ms", parts[2] == "thread", let time = Double(parts[0]), time.isFinite
        else { return nil }
        (milliseconds, thread) = (time, parts[3])
        let rest = parts[4].drop { $0 == " " }
        let loadParts = rest.split(separator: " ", maxSplits: 2)
        if loadParts.count == 3, loadParts[0] == "load", let number = Int(loadParts[1]), number > 0 {
            (load, phrase) = (number, String(loadParts[2].drop { $0 == " " }))
        } else {
            (load, phrase) = (nil, String(rest))
        }
    }

    var calledFunction: Substring? { phrase.hasPrefix("→ ") ? phrase.dropFirst(2).prefix { $0 != " " } : nil }
    /// The direction and the name of the function, without what follows it. At most 32 characters, because the plugin
    /// may have overwritten the log.
    var name: String {
        let parts = phrase.split(separator: " ").prefix(calledFunction == nil && returnedFunction == nil ? 1 : 2)
        return String(parts.joined(separator: " ").prefix(32))
    }

    var returnedFunction: Substring? { phrase.hasPrefix("← ") ? phrase.dropFirst(2) : nil }

    /// Where the plugin was after `lines`: ` in stop` for the last function that has not returned, or else
    /// `; last call: ` and the last line.
    static func place(after lines: [String]) -> String {
        if let name = openFunction(after: lines) { return " in \(name)" }
        return lines.compactMap(CallLogEntry.init).last.map { "; last call: \($0.phrase)" } ?? ""
    }

    /// The last plugin function in `lines` that has not returned; `nil` if all have.
    static func openFunction(after lines: [String]) -> String? {
        var open: [CallLogEntry] = []
        for line in lines.compactMap(CallLogEntry.init) {
            if line.calledFunction != nil { open.append(line) }
            let call = open.lastIndex { $0.thread == line.thread && $0.calledFunction == line.returnedFunction }
            if let call { open.remove(at: call) }
        }
        return (open.last?.calledFunction).map(String.init)
    }
}
