// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Hosts in the file format of curl: one line each, with the name and the expiry in UTC, or `unlimited`. A dot before
/// the name means that the hosts below it are included.
///
///     .example.com "20271125 20:00:00"
///
/// Lines that begin with `#` are comments.
package enum HSTSFile {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 64 << 20

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// Reads hosts, and returns the numbers of the malformed lines.
    package static func parse(_ bytes: [UInt8]) -> (hosts: [HSTSStorage.Host], problems: [Int]) {
        var (hosts, problems): ([HSTSStorage.Host], [Int]) = ([], [])
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            if text.hasPrefix("#") || text.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
            if let host = host(text) { hosts.append(host) } else { problems.append(index + 1) }
        }
        return (hosts, problems)
    }

    private static func host(_ line: String) -> HSTSStorage.Host? {
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2 else { return nil }
        let end = parts[1].filter { $0 != "\"" }
        let includesSubdomains = parts[0].hasPrefix(".")
        let name = String(includesSubdomains ? parts[0].dropFirst() : parts[0])
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        if end == "unlimited" { return .init(name: name, includesSubdomains: includesSubdomains) }
        guard let expiry = date(end) else { return nil }
        return .init(name: name, includesSubdomains: includesSubdomains, expiry: expiry)
    }

    /// `20271125 20:00:00`
    private static func date(_ text: String) -> Date? {
        let digits = text.filter { $0 != " " && $0 != ":" }.utf8.map { $0 &- 0x30 }
        guard text.utf8.count == 17, digits.count == 14, digits.allSatisfy({ $0 < 10 }) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + Int($1) } }
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (number(0..<4), number(4..<6), number(6..<8))
        (parts.hour, parts.minute, parts.second) = (number(8..<10), number(10..<12), number(12..<14))
        guard (1...12).contains(number(4..<6)), (1...31).contains(number(6..<8)) else { return nil }
        return calendar.date(from: parts)
    }

    package static func bytes(of hosts: [HSTSStorage.Host]) -> [UInt8] {
        var text = "# Hosts with HTTP Strict Transport Security. Written by Portolan.\n"
        for host in hosts {
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(host.expiry.map(Self.text) ?? "unlimited")\"\n"
        }
        return Array(text.utf8)
    }

    private static func text(_ date: Date) -> String {
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func digits(_ number: Int?, _ width: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2) + " "
            + [parts.hour, parts.minute, parts.second].map { digits($0, 2) }.joined(separator: ":")
    }
}
