// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan

/// What is asked for, and how.
struct RequestOptions: ParsableArguments {
    @Option(name: [.customShort("X"), .customLong("request")], help: ArgumentHelp("Use this method.", valueName: "method"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this field, 'Name: value'; may be given several times.", valueName: "field"))
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send these data, or with @ the bytes of a file (@- is standard input); the method is POST unless -X says otherwise.",
            valueName: "data|@file"))
    var data: String?

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Ask for the head only, and print it.")
    var asksHeadOnly = false

    @Option(
        name: [.customShort("u"), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp("Answer the URL's host with these when it asks for a user name and password.", valueName: "user:password"))
    var user: String?

    @Option(name: .customLong("max-redirects"), help: ArgumentHelp("Follow at most this many redirects.", valueName: "n"))
    var redirectLimit = 20

    @Option(name: .customLong("max-time"), help: ArgumentHelp("Give up when a URL takes longer than this in all.", valueName: "seconds"))
    var timeLimit: Double?

    /// As curl has it; redirects are followed anyway.
    @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
    var followsRedirects = false

    func validate() throws {
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("-X: '\(method)' is no method") }
        for header in headers where Self.field(header) == nil {
            throw ValidationError(Self.complaint(about: header))
        }
        if asksHeadOnly, data != nil { throw ValidationError("-I and -d exclude each other") }
        if let user, !user.contains(":") { throw ValidationError("-u: write user:password") }
        if redirectLimit < 0 { throw ValidationError("--max-redirects: a count is 0 or more") }
        // A century, well within what a Duration holds.
        if let timeLimit, !(timeLimit > 0 && timeLimit <= 3.2e9) { throw ValidationError("--max-time: give a number of seconds above 0") }
    }

    var timeout: Duration? { timeLimit.map { .seconds($0) } }

    func request(for url: String) throws(Failure) -> Request {
        var request = try Request(argument: url)
        if asksHeadOnly { request.method = .head }
        if let data {
            request.body = try UploadBody.make(from: data)
            request.method = .post
        }
        if let method = method.flatMap({ HTTPRequest.Method($0) }) { request.method = method }
        for field in headers.compactMap(Self.field) { request.fields.append(field) }
        request.timeouts.total = timeout
        return request
    }

    func passwords(for url: URLRecord) -> PasswordAnswer? {
        guard let user, let colon = user.firstIndex(of: ":") else { return nil }
        return PasswordAnswer(user: String(user[..<colon]), password: String(user[user.index(after: colon)...]), for: url)
    }

    /// Names the field alone, for the value may be secret.
    private static func complaint(about header: String) -> String {
        guard let colon = header.firstIndex(of: ":") else { return "-H: this is no field; write 'Name: value'" }
        let name = header[..<colon]
        guard HTTPField.Name(String(name)) != nil else { return "-H: '\(name)' is no field's name; write 'Name: value'" }
        return "-H: the value of '\(name)' holds what no field's value may, such as a line break"
    }

    private static func field(_ text: String) -> HTTPField? {
        guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else { return nil }
        let value = text[text.index(after: colon)...].trimmingSpace
        return HTTPField.isValidValue(value) ? HTTPField(name: name, value: value) : nil
    }
}

extension Substring {
    fileprivate var trimmingSpace: String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        var rest = drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return String(rest)
    }
}
