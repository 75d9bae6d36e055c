// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A length of time on the command line, in seconds with a fraction.
struct Seconds: ExpressibleByArgument, Equatable {
    let duration: Duration

    /// - Returns: `nil` unless it is above 0 and no more than a century, well within what a Duration holds.
    init?(argument: String) {
        guard let seconds = Double(argument), seconds > 0, seconds <= 3.2e9 else { return nil }
        duration = .seconds(seconds)
    }
}
