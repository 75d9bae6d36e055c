// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanCore

/// Options for the data that a request sends, in its body or in the query of its URL.
struct DataOptions: ParsableArguments {
    @Option(
        name: [.customShort("d", allowingJoined: true), .customLong("data"), .customLong("data-ascii")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this data in a POST request, as application/x-www-form-urlencoded. @FILE sends the text of a file, without its line breaks; @- is "
                + "standard input. Can be repeated; the parts are joined with &.",
            valueName: "data|@file"))
    var data: [String] = []

    @Option(
        name: .customLong("data-binary"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -d, but send the bytes of a file unchanged.", valueName: "data|@file"))
    var binaryData: [String] = []

    @Option(
        name: .customLong("data-raw"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -d, but @ has no meaning.", valueName: "data"))
    var rawData: [String] = []

    @Option(
        name: .customLong("data-urlencode"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Like -d, but percent-encode the data. With 'name=data' or 'name@file', only what follows the mark; '=data' and '@file' have no name.",
            valueName: "data"))
    var encodedData: [String] = []

    @Option(
        name: .customLong("json"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this JSON in a POST request, and accept JSON. @FILE sends a file; @- is standard input. The parts of several options are joined.",
            valueName: "data|@file"))
    var json: [String] = []

    /// The values of the options above in their order. See ``GetArguments``.
    @Option(name: .customLong("ordered-data"), parsing: .unconditionalSingleValue, help: .hidden)
    var orderedData: [OrderedArgument] = []

    @Flag(
        name: [.customShort("G"), .customLong("get")],
        help: "Add the data of -d and similar options to the query of the URL, and send a GET request.")
    var addsDataToQuery = false

    @Option(
        name: .customLong("url-query"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Add this to the query of the URL, percent-encoded as by --data-urlencode. With + at the start, add the rest unchanged.",
            valueName: "data"))
    var queryParts: [String] = []

    private var arguments: [DataArgument] {
        orderedData.compactMap(DataArgument.init) + data.map { DataArgument(.data, $0) } + binaryData.map { DataArgument(.binary, $0) }
            + rawData.map { DataArgument(.raw, $0) } + encodedData.map { DataArgument(.urlencode, $0) }
            + json.map { DataArgument(.json, $0) }
    }

    /// Whether the request has a body.
    var sendsBody: Bool { !addsDataToQuery && !arguments.isEmpty }

    /// - Returns: `nil` if the request has no body.
    func body(within limit: Duration?) throws(Failure) -> Body? {
        sendsBody ? try UploadBody.form(of: arguments, within: limit) : nil
    }

    /// The fields for the body, unless `-H` gives them.
    var fields: [HTTPField] {
        if arguments.contains(where: { $0.kind == .json }) {
            return [HTTPField(name: .contentType, value: "application/json"), HTTPField(name: .accept, value: "application/json")]
        }
        return [HTTPField(name: .contentType, value: "application/x-www-form-urlencoded")]
    }

    /// Adds the data of `-G` and `--url-query` to the query of the URL.
    func addingQuery(to url: URLRecord, within limit: Duration?) throws(Failure) -> URLRecord {
        var parts = queryParts.map { $0.hasPrefix("+") ? DataArgument(.raw, String($0.dropFirst())) : DataArgument(.urlencode, $0) }
        if addsDataToQuery { parts += arguments }
        guard !parts.isEmpty else { return url }
        let query = [url.query.map(String.init) ?? "", try UploadBody.query(of: parts, within: limit)].filter { !$0.isEmpty }
            .joined(separator: "&")
        let fragment = url.fragment.map { "#\($0)" } ?? ""
        let start = url.string.prefix { $0 != "?" && $0 != "#" }
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: "\(start)?\(query.replacing("#", with: "%23"))\(fragment)")
        } catch {
            throw Failure(.badURL, "the data cannot be part of the URL: \(error); percent-encode it with --data-urlencode")
        }
    }
}
