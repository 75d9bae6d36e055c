// SPDX-License-Identifier: Apache-2.0

extension LoadError {
    /// The most causes that an error has below it.
    ///
    /// Code that retries and wraps its last error each time would otherwise make a list without an end, and a list of boxed values is released, printed
    /// and lent one inside of the other: some thousand are more than a thread's stack holds.
    package static let causeLimit = 8

    /// The causes below this error, the nearest first.
    ///
    /// Where there are more than `limit`, those between the nearest ones and the last are left out: the last one tells what happened. Its message then
    /// begins with how many are missing: `(3 causes left out)`.
    package func causes(atMost limit: Int = causeLimit) -> [any Error] {
        Self.shortened(Self.list(cause), to: limit)
    }

    /// `cause` with at most as many causes below it as an error may have in all.
    static func limited(_ cause: (any Error)?) -> (any Error)? {
        let all = list(cause)
        guard all.count > causeLimit else { return cause }
        var kept = shortened(all, to: causeLimit)
        var below = kept.popLast()
        while let next = kept.popLast() {
            guard var error = next as? LoadError else { continue }
            error.cause = below
            below = error
        }
        return below
    }

    private static func list(_ first: (any Error)?) -> [any Error] {
        var all: [any Error] = []
        var next = first
        while let error = next {
            all.append(error)
            next = (error as? LoadError)?.cause
        }
        return all
    }

    private static func shortened(_ all: [any Error], to limit: Int) -> [any Error] {
        guard all.count > limit, let last = all.last else { return all }
        let nearest = all[..<(limit - 1)]
        // What was left out of this list before is told by its last error.
        var root = last as? LoadError ?? LoadError(.unknown, message: String(describing: last))
        root.message = OmittedCauses.adding(all.count - limit, to: root.message)
        return nearest + [root]
    }
}

/// How an error says in its message that causes above it are left out. In the message, for that crosses the plugin boundary.
package enum OmittedCauses {
    /// `message` with `count` more causes left out than it says already.
    package static func adding(_ count: Int, to message: String) -> String {
        guard count > 0 else { return message }
        let (known, text) = parse(message)
        let (sum, overflows) = known.addingReportingOverflow(count)
        let total = overflows ? Int.max : sum
        return "(\(total) cause\(total == 1 ? "" : "s") left out) \(text)"
    }

    private static func parse(_ message: String) -> (count: Int, text: Substring) {
        let whole = (0, message[...])
        guard message.utf8.first == UInt8(ascii: "("), let end = message.utf8.firstIndex(of: UInt8(ascii: ")")) else { return whole }
        let words = message[..<end].dropFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, let count = Int(words[0]), count > 0, words[1] == "cause" || words[1] == "causes", words[2] == "left",
            words[3] == "out"
        else { return whole }
        return (count, message[message.utf8.index(after: end)...].drop { $0 == " " })
    }
}
