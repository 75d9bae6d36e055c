// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCore
    import PortolanTestSupport
    import PortolanURL
    import Testing

    @testable import PortolanBackground

    @Suite struct RetryDecisionTests {
        private func decision(
            _ code: LoadError.Code, status: Int? = nil, retryAfter: String? = nil, domain: String? = nil, isRepeatable: Bool = true,
            wasRedirected: Bool = false, failures: Int = 1, random: Double = 1
        ) throws -> RetryDecision {
            var response: Response?
            if let status {
                var fields = HTTPFields()
                fields[.retryAfter] = retryAfter
                response = Response(url: try URLRecord(parsing: "http://h/"), status: .init(code: status), fields: fields)
            }
            return RetryDecision(
                LoadError(code, domain: domain, message: ""), response, isRepeatable: isRepeatable, wasRedirected: wasRedirected,
                failures: failures, delay: .seconds(1), now: 1000, random: random)
        }

        @Test(arguments: [
            LoadError.Code.timedOut, .nameNotFound, .proxyNotFound, .cannotConnect, .connectionLost, .emptyResponse, .truncated,
            .noResources,
        ]) func temporaryErrorsAreTriedAgain(code: LoadError.Code) throws {
            #expect(try decision(code) == .retry(at: 1001))
            #expect(try decision(code, domain: "org.example") == .fail)
        }

        @Test(arguments: [LoadError.Code.notFound, .ioFailed, .badURL, .certificateNotTrusted, .badResponse, .accessDenied])
        func otherErrorsAreNot(code: LoadError.Code) throws {
            #expect(try decision(code) == .fail)
        }

        @Test(arguments: [408, 429, 500, 502, 503, 504]) func temporaryStatusesAreTriedAgain(status: Int) throws {
            #expect(try decision(.badResponse, status: status) == .retry(at: 1001))
            #expect(try decision(.badResponse, status: status, retryAfter: "120") == .retry(at: 1120))
            #expect(try decision(.badResponse, status: status, retryAfter: "999999999") == .retry(at: 1000 + 86_400))
            #expect(try decision(.badResponse, status: status, isRepeatable: false) == .fail)
        }

        @Test func requestThatWasNotSentIsTriedAgainWithAnyMethod() throws {
            #expect(try decision(.cannotConnect, isRepeatable: false) == .retry(at: 1001))
            #expect(try decision(.connectionLost, isRepeatable: false) == .fail)
            // The request was sent, and only that of the redirect was not.
            #expect(try decision(.cannotConnect, isRepeatable: false, wasRedirected: true) == .fail)
            #expect(try decision(.cannotConnect, wasRedirected: true) == .retry(at: 1001))
        }

        @Test(arguments: [(1, 1.0), (2, 2), (3, 4), (10, 512), (11, 600), (1_000_000, 600), (.max, 600)])
        func waitDoublesUpToALimit(failures: Int, seconds: Double) throws {
            #expect(try decision(.timedOut, failures: failures) == .retry(at: 1000 + seconds))
            #expect(try decision(.timedOut, failures: failures, random: 0) == .retry(at: 1000 + seconds / 2))
        }
    }

    @Suite struct PowerSourceTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        private func add(_ name: String, _ files: [String: String]) throws {
            for (file, text) in files { try folder.write(Array("\(text)\n".utf8), to: "\(name)/\(file)") }
        }

        @Test func machineWithoutBatteryHasMains() {
            #expect(!PowerSource.isBattery(in: folder.path))
            #expect(!PowerSource.isBattery(in: folder.path(of: "missing")))
        }

        @Test func dischargingBatteryWithoutMainsCounts() throws {
            try add("BAT0", ["type": "Battery", "status": "Discharging", "scope": "System"])
            #expect(PowerSource.isBattery(in: folder.path))
            try add("AC", ["type": "Mains", "online": "0"])
            #expect(PowerSource.isBattery(in: folder.path))
            try add("AC", ["type": "Mains", "online": "1"])
            #expect(!PowerSource.isBattery(in: folder.path))
        }

        @Test func batteryOfADeviceDoesNotCount() throws {
            try add("mouse", ["type": "Battery", "status": "Discharging", "scope": "Device"])
            try add("BAT0", ["type": "Battery", "status": "Charging"])
            #expect(!PowerSource.isBattery(in: folder.path))
        }
    }
#endif
