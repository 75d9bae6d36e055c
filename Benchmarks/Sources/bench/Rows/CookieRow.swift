// SPDX-License-Identifier: Apache-2.0

import CTally
import FoundationEssentials
import Portolan
import PortolanCookies

/// Measures the `Cookie` field of a request among 10,000 cookies of 1,000 domains.
enum CookieRow {
    private static let times = 100_000
    private static let domains = 1000

    static func make(_ fixture: Fixture) throws -> Row {
        let storage = CookieStorage()
        let urls = try (0..<domains).map { try Request("https://www.site\($0).example/account/orders?page=2").url }
        for number in 0..<10 * domains {
            guard let context = CookieContext(urls[number % domains], now: Date()) else { throw MeasurementError("a URL has no host") }
            // Half of the cookies are for all hosts of the domain.
            let domain = number / domains % 2 == 0 ? "" : "; Domain=site\(number % domains).example"
            try storage.receive(Array("name\(number / domains)=0123456789abcdef; Path=/\(domain)".utf8).span, in: context)
        }
        let hosts = urls.map { String($0[.host]) }
        let table = Dictionary(uniqueKeysWithValues: hosts.map { ($0, [UInt8](repeating: 0, count: 238)) })
        return Row(
            unit: .nanoseconds,
            subject: Competitor("portolan", amount: times) {
                for index in 0..<times {
                    let context = CookieContext(urls[index % domains], now: Date())
                    guard let header = context.flatMap({ storage.header(for: $0) }), header.count == 10 * 22 + 9 * 2 else {
                        throw MeasurementError("a request has no cookies")
                    }
                }
                return bench_tally()
            },
            peers: [
                // The raw loop: one access to a dictionary of finished fields.
                Competitor("dictionary", amount: times) {
                    for index in 0..<times where table[hosts[index % domains]]?.isEmpty != false {
                        throw MeasurementError("the dictionary has no entry")
                    }
                    return bench_tally()
                }
            ],
            budget: .atMost(2000, .nanoseconds))
    }
}
