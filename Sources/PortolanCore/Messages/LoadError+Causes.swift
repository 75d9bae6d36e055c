// SPDX-License-Identifier: Apache-2.0

extension LoadError {
    /// The maximum number of causes below an error.
    ///
    /// Code that retries and wraps its last error each time would otherwise make an endless list. A list of boxed
    /// values is released, printed and borrowed recursively, and some thousand levels are more than a thread's stack
    /// holds.
    package static let causeLimit = 8

    /// The causes below this error, the nearest first.
    ///
    /// If there are more than `limit`, those between the nearest ones and the last are left out. The last one is kept
    /// because it states what happened. Its message then begins with the number of missing causes: `(3 causes left
    /// out)`.
    package func causes(atMost limit: Int = causeLimit) -> [any Error] {
        Self.shortened(Self.list(underlyingError), to: limit)
    }

    /// Returns `cause` with at most as many causes below it as an error may have in total.
    static func limited(_ cause: (any Error)?) -> (any Error)? {
        guard let cause else { return nil }
        let all = listThroughOthers(cause)
        guard all.count > causeLimit else { return cause }
        var kept = shortened(all, to: causeLimit)
        var below = kept.popLast()
        while let next = kept.popLast() {
            var error = next as? LoadError ?? LoadError(.unknown, message: String(describing: type(of: next)))
            error.underlyingError = below
            below = error
        }
        return below
    }

    /// Does what ``list(_:)`` does, and also follows the errors inside errors of other types.
    private static func listThroughOthers(_ first: any Error) -> [any Error] {
        var all: [any Error] = []
        var next = Optional(first)
        while let error = next {
            all.append(error)
            if let error = error as? LoadError { next = error.underlyingError } else { next = inner(of: error) }
            // Nothing has limited a list of other types, and describing its last error would go through the rest of the
            // list.
            guard all.count < mostListed else {
                all.append(LoadError(.unknown, message: String(describing: type(of: error))))
                break
            }
        }
        return all
    }

    private static let mostListed = 1000

    /// The first error that another error has in a property or as a value of its case.
    private static func inner(of error: any Error) -> (any Error)? {
        for child in Mirror(reflecting: error).children {
            if let inner = child.value as? any Error { return inner }
            let values = Mirror(reflecting: child.value)
            guard values.displayStyle == .tuple else { continue }
            for value in values.children {
                if let inner = value.value as? any Error { return inner }
            }
        }
        return nil
    }

    private static func list(_ first: (any Error)?) -> [any Error] {
        var all: [any Error] = []
        var next = first
        while let error = next {
            all.append(error)
            next = (error as? LoadError)?.underlyingError
        }
        return all
    }

    private static func shortened(_ all: [any Error], to limit: Int) -> [any Error] {
        guard all.count > limit, let last = all.last else { return all }
        let nearest = all[..<(limit - 1)]
        // The last error states how many causes were left out of this list before.
        var root = last as? LoadError ?? LoadError(.unknown, message: String(describing: last))
        root.message = OmittedCauses.adding(all.count - limit, to: root.message)
        return nearest + [root]
    }
}

/// States in an error's message that causes above the error are left out. It is in the message because the message
/// crosses the plugin boundary.
package enum OmittedCauses {
    /// Returns `message` with `count` more causes left out than it already states.
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
