// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanJSON
import PortolanTrace

/// The response lines of `stdio`, as JSON.
enum StdioResponse {
    static func capabilities(id: JSONValue, schemes: [String]) -> JSONValue {
        [
            "id": id, "ops": .array(StdioRequest.operations.map(JSONValue.string)),
            "schemes": .array(schemes.map(JSONValue.string)),
        ]
    }

    static func mimeType(id: JSONValue, _ type: MIMEType?) -> JSONValue {
        ["id": id, "mime": .text(type?.description)]
    }

    static func url(id: JSONValue, _ url: URLRecord?) -> JSONValue {
        ["id": id, "url": url.map(members) ?? .null]
    }

    /// The values of the getters in the URL Standard's API (WHATWG URL §6.1).
    private static func members(of url: URLRecord) -> JSONValue {
        [
            "href": .string(url.string),
            "protocol": .string("\(url.scheme):"),
            "username": .string(String(url.username)),
            "password": .string(String(url.password)),
            "hostname": .string(String(url[.host])),
            "port": .string(url.port.map(String.init) ?? ""),
            "pathname": .string(String(url.path)),
            "search": .string(url[.query].isEmpty ? "" : "?\(url[.query])"),
            "hash": .string(url[.fragment].isEmpty ? "" : "#\(url[.fragment])"),
        ]
    }

    static func cookieDate(id: JSONValue, _ seconds: Int64?) -> JSONValue {
        ["id": id, "time": .count(seconds)]
    }

    static func reset(id: JSONValue, _ stores: Set<StdioStore>) -> JSONValue {
        ["id": id, "reset": .array(StdioStore.allCases.filter(stores.contains).map { .string($0.rawValue) })]
    }

    static func failure(id: JSONValue, _ error: LoadError) -> JSONValue {
        ["id": id, "error": Self.error(error)]
    }

    /// The response line of a load. After an error it has no body, and has the head only if one arrived.
    static func load(id: JSONValue, _ outcome: StdioOutcome) -> JSONValue {
        let response = outcome.response
        let (text, base64) = outcome.error == nil ? body(outcome.body) : (.null, .null)
        let parts: [(String, JSONValue)] = outcome.allParts.isEmpty ? [] : [("parts", .array(outcome.allParts.map(part)))]
        let members: [(String, JSONValue)] = [
            ("id", id),
            ("status", .count(response?.status?.code)),
            ("headers", response.map { fields(of: $0).json } ?? []),
            ("body", text),
            ("bodyBase64", base64),
            ("url", .text(response.map { $0.url.withoutCredentials.description })),
            ("source", response.map { .string($0.source.rawValue) } ?? .null),
            (
                "interim",
                .array(outcome.interim.map { interim in [.count(interim.status?.code), FieldList(interim.fields).json] })
            ),
            ("trailers", FieldList(outcome.trailers).json),
            ("error", outcome.error.map(error) ?? .null),
        ]
        return .object((members + parts).map { JSONValue.Member(name: $0, value: $1) })
    }

    private static func part(_ part: StdioOutcome.Part) -> JSONValue {
        let (text, base64) = body(part.body)
        return ["headers": fields(of: part.response).json, "body": text, "bodyBase64": base64]
    }

    /// The fields with the length. As in Fetch, a response of `data:` has only `content-type`.
    private static func fields(of response: Response) -> FieldList {
        var fields = FieldList(of: response)
        if response.url.scheme != "data" { fields.addLength(of: response) }
        return fields
    }

    private static func body(_ bytes: [UInt8]) -> (text: JSONValue, base64: JSONValue) {
        if let text = String(validating: bytes, as: UTF8.self) { return (.string(text), .null) }
        return (.null, .string(Data(bytes).base64EncodedString()))
    }

    /// `code` is one of the general codes, which every client knows. A more specific code is in `detail`.
    private static func error(_ error: LoadError) -> JSONValue {
        var general = error
        if error.domain == nil { general.code = error.code.general }
        let detail: [(String, JSONValue)] = general.code == error.code ? [] : [("detail", .string(error.name))]
        let members = [("code", JSONValue.string(general.name)), ("message", .string(error.phrase))] + detail
        return .object(members.map { JSONValue.Member(name: $0, value: $1) })
    }
}

/// The collected results of a load.
struct StdioOutcome: Sendable {
    struct Part: Sendable {
        let response: Response
        let body: [UInt8]
    }

    /// The complete parts of a multipart body, except for the last one.
    var earlierParts: [Part] = []
    /// The number of body bytes in these parts.
    var earlierByteCount = 0
    /// The response; for several parts, that of the last one.
    var response: Response?
    var body: [UInt8] = []
    var interim: [Response] = []
    var trailers: HTTPFields = [:]
    var error: LoadError?

    /// The complete parts of a multipart body; empty for a single response.
    var allParts: [Part] {
        guard !earlierParts.isEmpty, error == nil, let response else { return earlierParts }
        return earlierParts + [Part(response: response, body: body)]
    }
}
