// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanJSON

/// A request to `portolan stdio`: one line of its standard input.
enum StdioRequest {
    case load(StdioLoadRequest)
    case capabilities
    case parseMIMEType(String)
    /// `nil` if the text or its base URL is not a valid URL.
    case parseURL(URLRecord?)
    case reset(Set<StdioStore>)
    case cookies(StdioCookieRequest)
    /// The bytes of a cookie date (RFC 6265bis §5.1.1).
    case parseCookieDate([UInt8])

    /// The operations, by their names in `op`.
    static let operations = [
        "capabilities", "cookieHeader", "load", "parseCookieDate", "parseMimeType", "parseURL", "reset", "setCookies",
    ]

    /// - Throws: ``LoadError/Code/badRequest`` for a malformed request, ``LoadError/Code/notOffered`` for an unknown
    ///   operation.
    init(_ json: JSONValue) throws(LoadError) {
        guard case .object = json else { throw LoadError(.badRequest, message: "a request has to be a JSON object") }
        switch try json.string("op") ?? "load" {
        case "load": self = .load(try StdioLoadRequest(json))
        case "capabilities": self = .capabilities
        case "parseMimeType":
            self = .parseMIMEType(try Self.value(json))
        case "parseURL": self = .parseURL(try Self.url(json))
        case "setCookies": self = .cookies(try StdioCookieRequest(json, isSetting: true))
        case "cookieHeader": self = .cookies(try StdioCookieRequest(json, isSetting: false))
        case "parseCookieDate": self = .parseCookieDate(Array(try Self.value(json).utf8))
        case "reset": self = .reset(try Self.stores(json["what"]))
        case let operation:
            throw LoadError(
                .notOffered,
                message: "there is no operation \(QuotedText(operation)); the operations are: \(Self.operations.joined(separator: ", "))")
        }
    }

    private static func value(_ json: JSONValue) throws(LoadError) -> String {
        guard let value = try json.string("value") else { throw LoadError(.badRequest, message: "the member 'value' is missing") }
        return value
    }

    /// Parses `value`, relative to `base` if there is one, as the constructor of the URL Standard's API does.
    ///
    /// An invalid URL is a result of this operation and not an error, so the syntax error is dropped.
    ///
    /// WHATWG URL §6.1
    private static func url(_ json: JSONValue) throws(LoadError) -> URLRecord? {
        let value = try value(json)
        guard let base = try json.string("base") else { return try? URLRecord(parsing: value) }
        return (try? URLRecord(parsing: base)).flatMap { try? URLRecord(parsing: value, relativeTo: $0) }
    }

    private static func stores(_ json: JSONValue?) throws(LoadError) -> Set<StdioStore> {
        guard case .array(let names)? = json else { throw LoadError(.badRequest, message: "the member 'what' has to be an array of names") }
        var stores: Set<StdioStore> = []
        for name in names {
            guard case .string(let text) = name, let store = StdioStore(rawValue: text) else {
                let all = StdioStore.allCases.map(\.rawValue).joined(separator: ", ")
                throw LoadError(.badRequest, message: "a name in 'what' is not one of \(all)")
            }
            stores.insert(store)
        }
        return stores
    }

    /// Whether `json` asks for a load. If so, the response line has a load's members, even if the request is malformed.
    static func isLoad(_ json: JSONValue) -> Bool {
        switch json["op"] {
        case nil, .null, .string("load"): true
        default: false
        }
    }
}

/// The kinds of state that `reset` can remove.
enum StdioStore: String, CaseIterable {
    case cookies, cache, credentials, hsts, connections
}

extension JSONValue {
    /// The string under `name`; `nil` if it is missing or null.
    func string(_ name: String) throws(LoadError) -> String? {
        switch self[name] {
        case nil, .null: return nil
        case .string(let text): return text
        default: throw LoadError(.badRequest, message: "the member '\(name)' has to be a string")
        }
    }
}
