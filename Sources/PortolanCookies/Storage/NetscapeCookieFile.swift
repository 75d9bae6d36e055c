// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Cookies in the file format of Netscape, curl and wget: one line each, with seven fields between tabs.
///
///     domain  TRUE  /path  FALSE  1798761600  name  value
///
/// The second field says whether the cookie is sent to hosts below the domain, and the fourth whether it is secure. The
/// fifth is its expiry in seconds since 1970, or 0 for the end of the session. `#HttpOnly_` before the domain marks a
/// cookie for HTTP only; other lines that begin with `#` are comments. The format has no `SameSite` and no partitions.
/// The newest cookie comes first, as in a file of curl. Among cookies of equally long paths, curl sends the cookie of
/// the last line first. If two lines are for the same cookie, the last line counts.
package enum NetscapeCookieFile {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 64 << 20

    /// A problem of a line that is no cookie. It does not contain the text of the line, which can be a secret.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let description: String
    }

    /// The end of the year 9999, in seconds since 1970. A later expiry is reduced to this time.
    private static let latestExpiry = 253_402_300_799.0

    private static let httpOnlyPrefix = Array("#HttpOnly_".utf8)

    /// Reads cookies, the oldest first, and reports the lines that are not cookies.
    package static func parse(_ bytes: [UInt8], now: Date) -> (cookies: [Cookie], problems: [Problem]) {
        var (cookies, problems): ([Cookie], [Problem]) = ([], [])
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            var line = line.last == 0x0D ? line.dropLast() : line
            let isHTTPOnly = line.starts(with: httpOnlyPrefix)
            if isHTTPOnly { line = line.dropFirst(httpOnlyPrefix.count) }
            if line.first == UInt8(ascii: "#") || line.allSatisfy(\.isBlank) { continue }
            do throws(Problem) {
                var cookie = try self.cookie(line, index + 1, now)
                cookie.isHTTPOnly = isHTTPOnly
                cookies.append(cookie)
            } catch {
                problems.append(error)
            }
        }
        var identities: Set<Cookie.Identity> = []
        return (cookies.reversed().filter { identities.insert($0.identity).inserted }, problems)
    }

    /// Returns the values of the lines that are `Set-Cookie` fields. curl reads files with the header of a
    /// response, too.
    package static func setCookieValues(in bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: 0x0A).compactMap { line in
            let name: StaticString = "set-cookie:"
            guard line.count > name.utf8CodeUnitCount, line.span.hasPrefix(ignoringCase: name) else { return nil }
            let value = line.dropFirst(name.utf8CodeUnitCount).drop(while: \.isBlank)
            return Array(value.last == 0x0D ? value.dropLast() : value)
        }
    }

    private static func cookie(_ line: ArraySlice<UInt8>, _ number: Int, _ now: Date) throws(Problem) -> Cookie {
        let fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
        // An empty value may come without its tab. A tab in a value would be an eighth field, which curl refuses, too.
        guard (6...7).contains(fields.count) else {
            throw Problem(line: number, description: "line \(number) has \(fields.count) fields and not 7, separated by tabs")
        }
        guard let hasSubdomains = flag(fields[1]), let isSecure = flag(fields[3]) else {
            throw Problem(line: number, description: "line \(number): the second and the fourth field have to be TRUE or FALSE")
        }
        // Some programs write fractions.
        guard let expirySeconds = Double(text(fields[4])), expirySeconds.isFinite else {
            throw Problem(line: number, description: "line \(number): the fifth field has to be a number of seconds")
        }
        let domain = text(fields[0].first == UInt8(ascii: ".") ? fields[0].dropFirst() : fields[0]).lowercased()
        // When the cookie is written to a file again, a reader of that file would remove the second dot, too.
        guard domain.utf8.first != UInt8(ascii: ".") else {
            throw Problem(line: number, description: "line \(number): the host begins with two dots")
        }
        var cookie = Cookie(name: "", value: "", domain: domain, path: path(fields[2]), now: now)
        cookie.nameBytes = Array(fields[5])
        cookie.valueBytes = fields.count > 6 ? Array(fields[6]) : []
        // A public suffix may have cookies for itself, as in a response (RFC 6265bis §5.7).
        cookie.isHostOnly = !hasSubdomains || PublicSuffixList.isPublicSuffix(domain)
        cookie.isSecure = isSecure
        cookie.expiry = expirySeconds == 0 ? nil : Date(timeIntervalSince1970: min(max(expirySeconds, -1), latestExpiry))
        do throws(CookieError) { try cookie.check() } catch {
            throw Problem(line: number, description: "line \(number): \(error)")
        }
        return cookie
    }

    /// A path as curl reads it: without quotation marks, and the root if it does not begin with a slash.
    private static func path(_ field: ArraySlice<UInt8>) -> String {
        var path = text(field)[...]
        if path.first == "\"" { path = path.dropFirst() }
        if path.last == "\"" { path = path.dropLast() }
        return path.first == "/" ? String(path) : "/"
    }

    private static func flag(_ field: ArraySlice<UInt8>) -> Bool? {
        switch text(field).uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Whether the format can express the cookie. A dot at the start of a host would mean that subdomains
    /// receive the cookie.
    package static func canHold(_ cookie: Cookie) -> Bool {
        cookie.partition == nil && !cookie.nameBytes.isEmpty && !cookie.nameBytes.contains(0x09) && !cookie.valueBytes.contains(0x09)
            && !cookie.path.contains("\t") && cookie.domain.utf8.first != UInt8(ascii: ".")
    }

    /// Returns the contents of a file with the cookies. Leaves out partitioned cookies, which other programs would send
    /// everywhere, and cookies with a tab or without a name, which the format can't express.
    ///
    /// - Parameter cookies: the oldest first.
    package static func bytes(of cookies: [Cookie]) -> [UInt8] {
        var file = Array("# Netscape HTTP Cookie File\n# Written by Portolan. Lines below may be edited.\n\n".utf8)
        for cookie in cookies.reversed() where canHold(cookie) {
            let expirySeconds = cookie.expiry.map { Int64(min(max($0.timeIntervalSince1970.rounded(.up), 0), latestExpiry)) } ?? 0
            // An address has no hosts below it.
            let isHostOnly = cookie.isHostOnly || PublicSuffixList.isAddress(cookie.domain)
            let head =
                "\(cookie.isHTTPOnly ? "#HttpOnly_" : "")\(isHostOnly ? "" : ".")\(cookie.domain)\t\(isHostOnly ? "FALSE" : "TRUE")"
                + "\t\(cookie.path)\t\(cookie.isSecure ? "TRUE" : "FALSE")\t\(expirySeconds)\t"
            file += head.utf8
            file += cookie.nameBytes + [0x09] + cookie.valueBytes + [0x0A]
        }
        return file
    }
}
