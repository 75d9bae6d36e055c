// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Functions of this module for the fuzzers of cookies. Not a part of the API.
@_spi(Fuzzing) public enum CookieFuzzing {
    /// The seconds since 1970 of a date in `Expires`; `nil` if the text is no date.
    public static func seconds(inDate text: [UInt8]) -> Int64? { CookieDate.seconds(in: text.span) }

    /// Reads a Netscape cookie file.
    ///
    /// - Returns: the cookies, the oldest first, and the numbers of the lines that are no cookies.
    public static func readFile(_ bytes: [UInt8], now: Date) -> (cookies: [Cookie], problems: [Int]) {
        let (cookies, problems) = NetscapeCookieFile.parse(bytes, now: now)
        return (cookies, problems.map(\.line))
    }

    /// The bytes of a cookie's name and value, which need not be UTF-8.
    public static func nameAndValue(of cookie: Cookie) -> (name: [UInt8], value: [UInt8]) { (cookie.nameBytes, cookie.valueBytes) }

    public static func file(of cookies: [Cookie]) -> [UInt8] { NetscapeCookieFile.bytes(of: cookies) }
}
