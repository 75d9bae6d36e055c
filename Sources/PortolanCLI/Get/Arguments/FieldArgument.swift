// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan

/// An argument of `-H`: a field to send, or a default field to leave out.
enum FieldArgument: Equatable {
    case field(HTTPField)
    case omission(HTTPField.Name)

    /// Parses curl's syntax: `Name: value`; `Name:` for an omission; `Name;` for a field without a value.
    ///
    /// - Returns: `nil` for any other text. ``problem(with:)`` describes what is wrong with it if it has a colon.
    init?(_ text: String) {
        if text.hasSuffix(";"), !text.contains(":"), let name = HTTPField.Name(String(text.dropLast())) {
            self = .field(HTTPField(name: name, value: ""))
            return
        }
        guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else { return nil }
        let value = text[text.index(after: colon)...].trimmingSpace
        guard HTTPField.isValidValue(value) else { return nil }
        self = value.isEmpty ? .omission(name) : .field(HTTPField(name: name, value: value))
    }

    var name: HTTPField.Name {
        switch self {
        case .field(let field): field.name
        case .omission(let name): name
        }
    }

    /// Describes the error in an argument. The description contains only the field's name, because the value can be
    /// secret.
    static func problem(with header: String) -> String {
        let name = header.prefix { $0 != ":" }
        guard HTTPField.Name(String(name)) != nil else { return "-H: '\(name)' is not a field name; write 'Name: value'" }
        return "-H: the value of '\(name)' contains a character that no field may contain, such as a line break"
    }
}

extension HTTPField {
    /// The field without what concerns only the connection, which the program manages itself; `nil` if nothing is left.
    ///
    /// `PortolanHTTP` refuses such fields, because a caller would believe that they were sent. RFC 9110 §7.6.1
    var withoutConnectionOptions: HTTPField? {
        switch name.canonicalName {
        case "keep-alive", "proxy-connection", "upgrade", "http2-settings", "trailer": return nil
        case "te": return value.lowercased() == "trailers" ? self : nil
        case "connection":
            let options = value.split(separator: ",").map { $0.trimmingSpace }
            let kept = options.filter { ["close", "keep-alive", "te"].contains($0.lowercased()) }
            return kept == options ? self : kept.isEmpty ? nil : HTTPField(name: name, value: kept.joined(separator: ", "))
        default: return self
        }
    }
}

extension HTTPConfiguration {
    /// Stops sending this field, which requests have by default.
    mutating func omit(_ name: HTTPField.Name) {
        switch name {
        case .userAgent: userAgent = nil
        case .accept: accept = nil
        case .acceptEncoding: sendsAcceptEncoding = false
        case .expect: expectContinue.bodySizeThreshold = nil
        default: break
        }
    }
}

extension Substring {
    /// The text without blanks and tabs at its ends, which are not part of a field's value.
    var trimmingSpace: String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        var rest = drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return String(rest)
    }
}
