// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for retries after a temporary failure.
struct RetryOptions: ParsableArguments {
    @Option(
        name: .customLong("retry"),
        help: ArgumentHelp(
            "Try so many times more after a time-out, a name that was not found, or a status of 408, 429, 500, 502, 503 or 504.",
            valueName: "n"))
    var limit = 0

    @Option(
        name: .customLong("retry-delay"),
        help: ArgumentHelp(
            "Wait so long before each further try, instead of 1 second, then 2, 4 and so on, as with 0.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var delay: Seconds?

    @Option(
        name: .customLong("retry-max-time"),
        help: ArgumentHelp("Begin no further try when so much time has passed since the first began; 0 is no limit.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var timeLimit: Seconds?

    @Flag(name: .customLong("retry-connrefused"), help: "Try again, too, where no connection could be made.")
    var includesRefused = false

    func validate() throws {
        if limit < 0 { throw ValidationError("--retry: a count is 0 or more") }
    }

    var schedule: RetrySchedule {
        RetrySchedule(limit: limit, delay: delay?.duration, timeLimit: timeLimit?.duration, includesRefused: includesRefused)
    }
}
