// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
@_spi(Fuzzing) import PortolanCookies

/// Reads a Netscape cookie file. The cookies must be ones that a storage accepts, and stay the same when they are
/// written and read again.
enum CookieFileCase {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let (cookies, problems) = CookieFuzzing.readFile(input, now: now)
        let lineCount = input.count { $0 == UInt8(ascii: "\n") } + 1
        try require(cookies.count + problems.count <= lineCount, "\(cookies.count) cookies in \(lineCount) lines")
        try require(problems.allSatisfy { (1...lineCount).contains($0) }, "a problem is outside of the file")
        let storage = CookieStorage()
        for cookie in cookies {
            do throws(CookieError) { try storage.set(cookie) } catch { throw FuzzFinding("\(cookie) was read, but \(error)") }
        }
        let file = CookieFuzzing.file(of: cookies)
        let (again, wrong) = CookieFuzzing.readFile(file, now: now)
        let written = cookies.filter { !$0.nameBytes.isEmpty && !($0.nameBytes + $0.valueBytes).contains(0x09) && !$0.path.contains("\t") }
        try require(wrong.isEmpty, "line \(wrong.first ?? 0) of the written file can't be read")
        try require(again.map(rounded) == written.map(rounded), "\(written) was written and read as \(again)")
        try require(CookieFuzzing.file(of: again) == file, "a file that is read and written again is different")
    }

    /// The cookie with its end as a file has it, in whole seconds.
    private static func rounded(_ cookie: Cookie) -> Cookie {
        var cookie = cookie
        cookie.expiry = cookie.expiry.flatMap { expiry in
            let seconds = max(expiry.timeIntervalSince1970.rounded(.up), 0)
            return seconds == 0 ? nil : Date(timeIntervalSince1970: seconds)
        }
        return cookie
    }
}
