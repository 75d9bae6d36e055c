// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Portolan
import PortolanContent
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
            "Like -d, but percent-encode the data. With 'name=data' or 'name@file', encode only what follows '=' or '@'; '=data' and '@file' have no name.",
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
    var orderedData: [TaggedArgument] = []

    @Option(
        name: [.customShort("F", allowingJoined: true), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send this part of a form (multipart/form-data) in a POST request: 'name=text', 'name=@file', or 'name=<file' for the text of a file. "
                + "';type=…', ';filename=…', ';headers=…' and ';encoder=…' can follow. 'name=(' begins a multipart part, which contains the parts after it up to '=)'. "
                + "Can be repeated.",
            valueName: "name=content"))
    var form: [String] = []

    @Option(
        name: .customLong("form-string"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -F, but @, < and ; have no meaning.", valueName: "name=text"))
    var literalForm: [String] = []

    /// The values of the two options above in their order. See ``GetArguments``.
    @Option(name: .customLong("ordered-form"), parsing: .unconditionalSingleValue, help: .hidden)
    var orderedForm: [TaggedArgument] = []

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

    func validate() throws {
        for text in orderedForm.map(\.value) + form + literalForm where !text.contains("=") {
            throw ValidationError("-F: write 'name=text', 'name=@file' or 'name=<file'")
        }
        for text in form + orderedForm.filter({ $0.kind == "form" }).map(\.value) where FormArgument(text) == nil {
            throw ValidationError(
                "-F: after the file or the text in quotation marks, write ';type=…', ';filename=…', ';headers=…' or ';encoder=…'; "
                    + "for a text with '\"' or ';', use --form-string")
        }
        var depth = 0
        for part in formParts {
            if part.source == .multipart { depth += 1 }
            if part.source == .multipartEnd { depth -= 1 }
            if depth < 0 { throw ValidationError("-F: '=)' ends no part; begin one with 'name=('") }
            if depth > Self.depthLimit { throw ValidationError("-F: parts are nested more than \(Self.depthLimit) deep; nest fewer") }
            if let encoder = part.encoder, TransferEncoding(rawValue: encoder) == nil {
                throw ValidationError("-F: the encoder '\(encoder)' is not known; the encoders are \(TransferEncoding.names)")
            }
        }
        if hasForm, !arguments.isEmpty { throw ValidationError("-F and -d cannot be combined") }
    }

    /// How deep parts can be nested.
    private static let depthLimit = 100

    private var hasForm: Bool { !form.isEmpty || !literalForm.isEmpty || !orderedForm.isEmpty }

    /// The parts of the form, in their order.
    private var formParts: [FormArgument.Part] {
        let arguments =
            orderedForm.map { $0.kind == "string" ? FormArgument(literal: $0.value) : FormArgument($0.value) }
            + form.map { FormArgument($0) }
            + literalForm.map { FormArgument(literal: $0) }
        return arguments.compactMap(\.self).flatMap(\.parts)
    }

    /// Whether the request has a body.
    var sendsBody: Bool { hasForm || !addsDataToQuery && !arguments.isEmpty }

    /// - Parameter formDisposition: the disposition of the parts of a form.
    /// - Returns: `nil` if the request has no body.
    func body(formDisposition: MultipartForm.Disposition = .formData, within limit: Duration?) throws(Failure) -> RequestBody? {
        if hasForm {
            let form = try UploadBody.multipartForm(of: formParts, formDisposition, within: limit)
            return RequestBody(
                body: form.body, fields: [HTTPField(name: .contentType, value: form.contentType)], boundary: form.boundary)
        }
        return sendsBody ? RequestBody(body: try UploadBody.form(of: arguments, within: limit), fields: fields) : nil
    }

    /// The fields for the data, unless `-H` gives them.
    private var fields: [HTTPField] {
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
