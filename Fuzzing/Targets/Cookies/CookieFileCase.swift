// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
@_spi(Fuzzing) import PortolanCookies

/// Reads a Netscape cookie file. A storage must accept the cookies, and they must stay the same when they are written
/// and read again.
enum CookieFileCase {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let (cookies, problems) = CookieFuzzing.readFile(input, now: now)
        let lineCount = input.count { $0 == UInt8(ascii: "\n") } + 1
        try require(cookies.count + problems.count <= lineCount, "\(cookies.count) cookies in \(lineCount) lines")
        try require(problems.allSatisfy { (1...lineCount).contains($0) }, "a problem names a line that is not in the file")
        let storage = CookieStorage()
        for cookie in cookies {
            do throws(CookieError) { try storage.set(cookie) } catch { throw FuzzFinding("\(cookie) was read, but \(error)") }
        }
        let file = CookieFuzzing.file(of: cookies)
        let (rereadCookies, rereadProblems) = CookieFuzzing.readFile(file, now: now)
        let writableCookies = cookies.filter { cookie in
            let (name, value) = CookieFuzzing.nameAndValue(of: cookie)
            return !name.isEmpty && !(name + value).contains(0x09) && !cookie.path.contains("\t")
        }
        try require(rereadProblems.isEmpty, "line \(rereadProblems.first ?? 0) of the written file can't be read")
        try require(
            rereadCookies.map(rounded) == writableCookies.map(rounded), "\(writableCookies) was written and read as \(rereadCookies)")
        try require(CookieFuzzing.file(of: rereadCookies) == file, "a file that is read and written again is different")
    }

    /// The cookie with its expiry rounded up to whole seconds, as a file contains it.
    private static func rounded(_ cookie: Cookie) -> Cookie {
        var cookie = cookie
        cookie.expiry = cookie.expiry.flatMap { expiry in
            let seconds = max(expiry.timeIntervalSince1970.rounded(.up), 0)
            return seconds == 0 ? nil : Date(timeIntervalSince1970: seconds)
        }
        return cookie
    }
}
