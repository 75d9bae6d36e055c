// SPDX-License-Identifier: Apache-2.0

/// What is asked for, copied from what the host lends.
struct Request: Sendable {
    let method: String
    let scheme: String
    let host: String?
    let port: Int?
    /// Percent-encoded, as are ``query`` and ``fragment``. Of `echo:text?…` it is `text`.
    let path: String
    let query: String?
    let fragment: String?
    let fields: [Field]
    let properties: [Property]
    /// How many bytes the body has; `nil` where that is not known. Without a body: 0.
    let bodyLength: Int64?

    /// The URL without its user information, and with another query where one is given.
    func url(query other: String? = nil) -> String {
        var url = scheme + ":"
        if let host { url += "//" + host + (port.map { ":\($0)" } ?? "") } else if path.hasPrefix("//") { url += "/." }
        url += path
        if let query = other ?? query { url += "?" + query }
        if let fragment { url += "#" + fragment }
        return url
    }

    /// The value of the first field of that name, in lower case.
    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name }.map { $0.value }
    }
}

/// A header field, or a trailer.
struct Field: Equatable, Sendable {
    let name: String
    /// One character for each byte (ISO-8859-1), so that any value survives.
    let value: String
}

/// A named, typed value: a parameter of a protocol on a request, or a setting.
struct Property: Sendable {
    enum Value: Sendable {
        case text(String)
        case bytes([UInt8])
        case integer(Int64)
        case real(Double)
        case truth(Bool)
        /// Of a kind that is newer than this plugin.
        case other
    }

    let name: String
    let value: Value
}
