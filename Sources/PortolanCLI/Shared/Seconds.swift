// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A length of time on the command line, in seconds with a fraction.
enum Seconds {
    /// - Throws: unless it is above 0 and no more than a century, well within what a Duration holds.
    static func parse(_ argument: String) throws -> Duration {
        guard let seconds = Double(argument), seconds > 0, seconds <= 3.2e9 else {
            throw ValidationError("write a number of seconds above 0")
        }
        return .seconds(seconds)
    }
}
