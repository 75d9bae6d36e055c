// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanCookies
import PortolanCore
import PortolanJSON

/// A request to the cookie storage of `stdio`. It stores the cookies of a response, or returns the `Cookie` field for a
/// request.
struct StdioCookieRequest: Sendable {
    /// `nil` if the URL has no host and therefore no cookies.
    let context: CookieContext?
    /// The values of the `Set-Cookie` fields to store; `nil` if the request reads the cookies.
    let setCookieFields: [[UInt8]]?

    /// - Parameter isSetting: whether the request stores cookies.
    init(_ json: JSONValue, isSetting: Bool) throws(LoadError) {
        guard let text = try json.string("url") else { throw LoadError(.badRequest, message: "the member 'url' is missing") }
        let url = try Request(text).url
        var context = CookieContext(url, document: try Self.document(json), now: try Self.now(json))
        context?.isHTTPAPI = try Self.isHTTPAPI(json)
        self.context = context
        setCookieFields = isSetting ? try Self.fields(json["headers"]) : nil
    }

    /// Returns the document on whose behalf the request is made. `topLevelSite` is a URL, or a host (of `https:`) with
    /// or without a port. A URL without a host belongs to no site.
    private static func document(_ json: JSONValue) throws(LoadError) -> URLRecord? {
        guard let site = try json.string("topLevelSite") else { return nil }
        let url = try? URLRecord(parsing: site)
        if let url, url.host?.isEmpty == false { return url }
        if !site.contains("/"), let host = try? URLRecord(parsing: "https://\(site)/") { return host }
        if let url { return url }
        throw LoadError(.badRequest, message: "the member 'topLevelSite' is neither a URL nor a domain")
    }

    private static func now(_ json: JSONValue) throws(LoadError) -> Date {
        switch json["now"] {
        case nil, .null: return Date()
        case .number(let text):
            guard let seconds = Double(text), abs(seconds) < 1e12 else { fallthrough }
            return Date(timeIntervalSince1970: seconds)
        default: throw LoadError(.badRequest, message: "the member 'now' has to be a number of seconds since 1970")
        }
    }

    private static func isHTTPAPI(_ json: JSONValue) throws(LoadError) -> Bool {
        switch json["isHTTPAPI"] {
        case nil, .null: return true
        case .bool(let isHTTPAPI): return isHTTPAPI
        default: throw LoadError(.badRequest, message: "the member 'isHTTPAPI' has to be true or false")
        }
    }

    private static func fields(_ json: JSONValue?) throws(LoadError) -> [[UInt8]] {
        guard case .array(let values)? = json else { throw LoadError(.badRequest, message: "the member 'headers' has to be an array") }
        var fields: [[UInt8]] = []
        for value in values {
            guard case .string(let text) = value else { throw LoadError(.badRequest, message: "each of 'headers' has to be a string") }
            fields.append(Array(text.utf8))
        }
        return fields
    }

    /// Stores or reads the cookies, and returns the response line.
    func respond(id: JSONValue, _ storage: CookieStorage) -> JSONValue {
        guard let setCookieFields else {
            let header = context.flatMap { storage.header(for: $0) } ?? []
            // A server can set any bytes.
            guard let text = String(validating: header, as: UTF8.self) else {
                return ["id": id, "cookie": .null, "cookieBase64": .string(Data(header).base64EncodedString())]
            }
            return ["id": id, "cookie": .string(text)]
        }
        return ["id": id, "results": .array(setCookieFields.map { result(of: $0, storage) })]
    }

    private func result(of field: [UInt8], _ storage: CookieStorage) -> JSONValue {
        guard let context else { return ["stored": .bool(false), "reason": "the URL has no host"] }
        do throws(CookieRejection) {
            try storage.receive(field.span, in: context)
            return ["stored": .bool(true)]
        } catch {
            return ["stored": .bool(false), "reason": .string(error.rawValue)]
        }
    }
}
