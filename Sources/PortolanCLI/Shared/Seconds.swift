// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A duration on the command line, in seconds with a fraction. As with curl, 0 means no limit.
struct Seconds {
    /// `nil`: the default without the option.
    let duration: Duration?

    /// - Throws: ``ValidationError`` if the value is negative, no number, or above a century, which is well within the
    ///   range of `Duration`.
    init(parsing argument: String) throws {
        guard let seconds = Double(argument), seconds >= 0, seconds <= 3.2e9 else {
            throw ValidationError("write a number of seconds, 0 or more")
        }
        duration = seconds == 0 ? nil : .seconds(seconds)
    }
}
