// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCookies

/// Options for cookies and HSTS hosts, which all loads share and which are stored in files, as in curl.
struct StateOptions: ParsableArguments {
    @Option(
        name: [.customShort("b", allowingJoined: true), .customLong("cookie")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send these cookies, 'name=value; name2=value2', to the URL's server, unless -H sends a Cookie field. If the value has no '=', it is "
                + "a cookie file in curl's (Netscape) format, or the header of a response; - is standard input. Can be repeated.",
            valueName: "cookies|file"))
    var cookies: [String] = []

    @Option(
        name: [.customShort("c", allowingJoined: true), .customLong("cookie-jar")], parsing: .unconditional,
        help: ArgumentHelp(
            "Read cookies from this file, and save all cookies to it at the end (curl's format); - is standard output.", valueName: "file"),
        completion: .file())
    var jar: OutputPlace?

    @Flag(
        name: [.customShort("j"), .customLong("junk-session-cookies")],
        help: "Ignore the session cookies in cookie files.")
    var ignoresSessionCookies = false

    @Option(
        name: .customLong("hsts"), parsing: .unconditional,
        help: ArgumentHelp(
            "Use this HSTS file (curl's format): read its hosts, and add hosts that send Strict-Transport-Security. '' keeps the hosts in memory.",
            valueName: "file"),
        completion: .file())
    var hstsFile: OutputPlace?

    func validate() throws {
        for text in cookieTexts where HTTPField.isValidValue(text) == false {
            throw ValidationError("-b: the cookies contain a character that no header may contain")
        }
        if jar?.path.isEmpty == true { throw ValidationError("-c: the name of the file is empty") }
    }

    /// The values of `-b` that are cookies and not files.
    private var cookieTexts: [String] {
        cookies.filter { $0.contains("=") }.map { text in
            let start = text.drop { $0 == " " || $0 == "\t" }
            return String(start[..<(start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:)) ?? start.startIndex)])
        }
    }

    /// The first option that names a file, if there is one.
    var fileOption: String? {
        if jar != nil { return "-c" }
        if hstsFile != nil { return "--hsts" }
        return cookieFiles.isEmpty ? nil : "-b FILE"
    }

    /// The values of `-b` that are files.
    var cookieFiles: [String] { cookies.filter { !$0.contains("=") } }

    /// Adds the cookies of `-b` to the request, unless `-H` adds a `Cookie` field.
    func addCookies(to request: inout Request) {
        guard !cookieTexts.isEmpty, !request.fields.contains(.cookie) else { return }
        // As in curl, without a blank.
        request.fields[.cookie] = cookieTexts.joined(separator: ";")
    }

    /// The stored cookies of all loads; `nil` without `-c`, and without a `-b` that names a file or is empty.
    ///
    /// - Parameter timeLimit: how long input other than a regular file can take to arrive; `nil` for no limit.
    func cookieFile(within timeLimit: Duration?) throws(Failure) -> CookieFile? {
        let sources = cookieFiles
        guard !sources.isEmpty || jar != nil else { return nil }
        // '-b ""' stores cookies without a file.
        let jar = jar?.path == "-" ? OutputPlace(argument: "/dev/stdout") : jar
        return try CookieFile(
            reading: sources.filter { !$0.isEmpty }, jar: jar, keepsSessionCookies: !ignoresSessionCookies, within: timeLimit)
    }
}
