// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A length of time on the command line, in seconds with a fraction; 0 is as good as none, as with curl.
struct Seconds {
    /// `nil`: what holds without the option.
    let duration: Duration?

    /// - Throws: unless it is no more than a century, well within what a Duration holds.
    init(parsing argument: String) throws {
        guard let seconds = Double(argument), seconds >= 0, seconds <= 3.2e9 else {
            throw ValidationError("write a number of seconds, 0 or more")
        }
        duration = seconds == 0 ? nil : .seconds(seconds)
    }
}
