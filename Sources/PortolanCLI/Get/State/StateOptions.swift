// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCookies

/// Options for what is remembered between loads, as in curl.
struct StateOptions: ParsableArguments {
    @Option(
        name: [.customShort("b"), .customLong("cookie")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send these cookies, 'name=value; name2=value2', to the URL's server; or, without '=', send the cookies of this file, as curl "
                + "writes it, to their hosts. May be repeated.", valueName: "cookies|file"))
    var cookies: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send the cookies of this file, and write it with those that responses set, in the format of curl.", valueName: "file"),
        completion: .file())
    var jar: String?

    @Flag(
        name: [.customShort("j"), .customLong("junk-session-cookies")],
        help: "Leave out the cookies of files that end with a session.")
    var ignoresSessionCookies = false

    @Option(
        name: .customLong("hsts"), parsing: .unconditional,
        help: ArgumentHelp(
            "Load hosts of this file over https only, and write it with the hosts whose responses ask for that, in the format of curl.",
            valueName: "file"),
        completion: .file())
    var strictHosts: String?

    func validate() throws {
        for text in texts where HTTPField.isValidValue(text) == false {
            throw ValidationError("-b: the cookies contain a character that no header may contain")
        }
        if jar?.isEmpty == true { throw ValidationError("-c: the name of the file is empty") }
        if strictHosts?.isEmpty == true { throw ValidationError("--hsts: the name of the file is empty") }
    }

    /// The cookies that were given as text.
    private var texts: [String] { cookies.filter { $0.contains("=") } }

    /// The first option that names a file, if there is one.
    var fileOption: String? {
        if jar != nil { return "-c" }
        if strictHosts != nil { return "--hsts" }
        return cookies.contains { !$0.contains("=") } ? "-b FILE" : nil
    }

    /// Adds the cookies that were given as text, behind those of `-H`.
    func addCookies(to request: inout Request) {
        guard !texts.isEmpty else { return }
        let all = request.fields[values: .cookie] + texts
        request.fields[.cookie] = all.joined(separator: "; ")
    }

    /// The stored cookies of all loads; `nil` if no option names a file.
    func cookieFile() throws(Failure) -> CookieFile? {
        let sources = cookies.filter { !$0.contains("=") }
        guard !sources.isEmpty || jar != nil else { return nil }
        // '-b ""' stores cookies without a file.
        return try CookieFile(reading: sources.filter { !$0.isEmpty }, jar: jar, keepsSessionCookies: !ignoresSessionCookies)
    }
}
