// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A duration on the command line: a number of seconds, with or without a fraction. As with curl, 0 means no limit.
struct Seconds {
    /// `nil` for 0, which has the same effect as no option.
    let duration: Duration?

    /// - Throws: ``ValidationError`` if the value is not a number, is negative, or is more than a century. A century is
    ///   well within the range of `Duration`.
    init(parsing argument: String) throws {
        guard let seconds = Double(argument), seconds >= 0, seconds <= 3.2e9 else {
            throw ValidationError("write a number of seconds, 0 or more")
        }
        duration = seconds == 0 ? nil : .seconds(seconds)
    }
}
