// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCore
import Testing

@testable import PortolanCLI

/// What the options mean for ``RetryPolicy``. Its own tests are in PortolanCoreTests.
@Suite struct RetryOptionsTests {
    private func waits(_ arguments: [String], after failure: RetryableFailure = .error(.timedOut)) throws -> [Double] {
        var schedule = try RetryOptions.parse(arguments).schedule
        var (waits, elapsed) = ([Double](), Duration.zero)
        while waits.count < 50, case .wait(let wait) = schedule.decide(after: failure, elapsed: elapsed) {
            waits.append(wait / .seconds(1))
            elapsed += wait
            schedule.countRetry()
        }
        return waits
    }

    @Test(
        arguments: [
            ("", []), ("--retry 12", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]),
            ("--retry 3 --retry-delay 0.25", [0.25, 0.25, 0.25]), ("--retry 2 --retry-delay 1000", [1000, 1000]),
            ("--retry 3 --retry-delay 0 --retry-max-time 0", [1, 2, 4]), ("--retry 9 --retry-max-time 7", [1, 2, 4]),
            ("--retry 9 --retry-max-time 6.999", [1, 2]),
        ] as [(String, [Double])])
    func waitsFollowTheOptions(options: String, expected: [Double]) throws {
        #expect(try waits(options.split(separator: " ").map(String.init)) == expected)
    }

    @Test func temporaryErrorsOfCurlAreRetryable() {
        for (code, _) in LoadError.Code.published {
            let isTemporary = [.timedOut, .nameNotFound, .proxyNotFound].contains(code)
            let failure = RetryableFailure(LoadError(code, message: ""))
            #expect(failure == (isTemporary || code == .cannotConnect ? .error(code) : nil))
        }
    }

    @Test func refusedConnectionIsRetriedOnRequest() throws {
        #expect(try waits(["--retry", "2"], after: .error(.cannotConnect)).isEmpty)
        #expect(try waits(["--retry", "2", "--retry-connrefused"], after: .error(.cannotConnect)) == [1, 2])
    }

    @Test(
        arguments: [
            ("--retry 1", 3600, "the server asks for a wait of 3600 s (Retry-After), and a retry waits at most 600 s"),
            ("--retry 1 --retry-max-time 10", 9, "the next attempt would start in 9 s, after the end of --retry-max-time 10"),
            ("", 1, nil),
        ] as [(String, Int, String?)])
    func reasonNamesTheOption(options: String, wait: Int, reason: String?) throws {
        let schedule = try RetryOptions.parse(options.split(separator: " ").map(String.init)).schedule
        #expect(schedule.decide(after: .status(503, wait: .seconds(wait)), elapsed: .seconds(2)) == .giveUp(reason: reason))
    }
}
