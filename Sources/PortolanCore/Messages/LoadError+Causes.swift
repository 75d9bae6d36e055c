// SPDX-License-Identifier: Apache-2.0

extension LoadError {
    /// The maximum number of causes below an error.
    ///
    /// Without a limit, code that retries and wraps its last error each time would make an endless list. Such a list is
    /// released and printed recursively, and some thousand levels overflow a thread's stack.
    package static let causeLimit = 8

    /// The causes below this error, the nearest first.
    ///
    /// If there are more than `limit`, the nearest ones and the last are kept. The last one states what happened. Its
    /// message then begins with the number of missing causes: `(3 causes left out)`.
    package func causes(atMost limit: Int = causeLimit) -> [any Error] {
        Self.shortened(Self.causeList(from: underlyingError), to: limit)
    }

    /// Returns `cause` with at most ``causeLimit`` errors, including itself. The others are left out.
    static func withLimitedCauses(_ cause: (any Error)?) -> (any Error)? {
        guard let cause else { return nil }
        let all = causeListWithNestedErrors(cause)
        guard all.count > causeLimit else { return cause }
        var keptErrors = shortened(all, to: causeLimit)
        var below = keptErrors.popLast()
        while let next = keptErrors.popLast() {
            var error = next as? LoadError ?? LoadError(.unknown, message: String(describing: type(of: next)))
            error.underlyingError = below
            below = error
        }
        return below
    }

    /// Does what ``causeList(from:)`` does, and also lists the errors inside errors of other types.
    private static func causeListWithNestedErrors(_ first: any Error) -> [any Error] {
        var all: [any Error] = []
        var next = Optional(first)
        while let error = next {
            all.append(error)
            if let error = error as? LoadError { next = error.underlyingError } else { next = nestedError(of: error) }
            // A list of errors of other types can have any length. The rest is replaced by the name of the type,
            // because a description of the error would contain the rest.
            guard all.count < maximumListLength else {
                all.append(LoadError(.unknown, message: String(describing: type(of: error))))
                break
            }
        }
        return all
    }

    /// The maximum number of listed errors.
    private static let maximumListLength = 1000

    /// Returns the first error in a property, or in an associated value, of another error.
    private static func nestedError(of error: any Error) -> (any Error)? {
        for child in Mirror(reflecting: error).children {
            if let nested = child.value as? any Error { return nested }
            let values = Mirror(reflecting: child.value)
            guard values.displayStyle == .tuple else { continue }
            for value in values.children {
                if let nested = value.value as? any Error { return nested }
            }
        }
        return nil
    }

    private static func causeList(from first: (any Error)?) -> [any Error] {
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
        // The message of the last error can already state a number of causes that were left out.
        var root = last as? LoadError ?? LoadError(.unknown, message: String(describing: last))
        root.message = OmittedCauses.adding(all.count - limit, to: root.message)
        return nearest + [root]
    }
}

/// The text in an error's message that states how many causes above the error are left out. It is in the message
/// because messages cross the plugin boundary.
package enum OmittedCauses {
    /// Returns `message` with `count` added to the number of causes that it states as left out.
    package static func adding(_ count: Int, to message: String) -> String {
        guard count > 0 else { return message }
        let (omittedCount, text) = parse(message)
        let (sum, overflows) = omittedCount.addingReportingOverflow(count)
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
