// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCore

/// Options for retries after a temporary failure.
struct RetryOptions: ParsableArguments {
    @Option(
        name: .customLong("retry"),
        help: ArgumentHelp(
            "Retry this many times after a timeout, a failed DNS lookup, or a response with status 408, 429, 500, 502, 503 or 504.",
            valueName: "n"))
    var limit = 0

    @Option(
        name: .customLong("retry-delay"), parsing: .unconditional,
        help: ArgumentHelp(
            "Wait this long before each retry. Without it, the delay doubles: 1, 2, 4 … seconds.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var delay: Seconds?

    @Option(
        name: .customLong("retry-max-time"), parsing: .unconditional,
        help: ArgumentHelp("Start no retry later than this after the start of the first attempt; 0 means no limit.", valueName: "seconds"),
        transform: Seconds.init(parsing:))
    var timeLimit: Seconds?

    @Flag(name: .customLong("retry-connrefused"), help: "Retry also if the connection was refused or could not be made.")
    var includesRefusedConnections = false

    func validate() throws {
        if limit < 0 { throw ValidationError("--retry: write a number, 0 or more") }
    }

    var schedule: RetrySchedule { RetrySchedule(policy) }

    /// The policy of the retries. The command makes the attempts itself, because it retries also after a part of the
    /// body was written to a file. As with curl, requests with every method are tried again.
    var policy: RetryPolicy {
        var policy = Self.defaultPolicy
        policy.limit = limit
        if includesRefusedConnections { policy.errors.insert(.cannotConnect) }
        policy.timeLimit = timeLimit?.duration
        if let delay = delay?.duration {
            (policy.initialDelay, policy.backoffFactor) = (delay, 1)
            policy.maximumDelay = max(policy.maximumDelay, delay)
        }
        return policy
    }

    /// The policy without options.
    static let defaultPolicy: RetryPolicy = {
        var policy = RetryPolicy(limit: 0)
        policy.maximumDelay = .seconds(600)
        policy.jitter = 0
        policy.errors = [.timedOut, .nameNotFound, .proxyNotFound]
        policy.includesNonIdempotentMethods = true
        return policy
    }()
}
