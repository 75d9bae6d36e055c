// SPDX-License-Identifier: Apache-2.0

/// The origin of a value when a load runs.
indirect enum ValueOrigin: Hashable, Sendable {
    enum URLPart: String, Hashable, Sendable, CaseIterable {
        case all = "url"
        case scheme = "url.scheme"
        case username = "url.username"
        case password = "url.password"
        case host = "url.host"
        case port = "url.port"
        case path = "url.path"
        case query = "url.query"
        case fragment = "url.fragment"
        /// Everything after the scheme's colon.
        case rest = "url.rest"
        /// The local path of the `file:` URL in the path, up to the last `!`. Always decoded.
        case file = "url.file"
        /// The part of the path after the last `!`.
        case member = "url.member"
    }

    /// `isDecoded`: whether the percent-encoding is decoded.
    case url(URLPart, isDecoded: Bool)
    case method
    case field(String)
    case property(String)
    case setting(String)
    case body
    case variable(Int)
    /// A field of the struct to which a handle points.
    case structField(of: ValueOrigin, StructField)
    /// The number of bytes of another value.
    case length(of: ValueOrigin)
    /// Another value as a field of CSV, or as a JSON value.
    case encoded(ValueOrigin, TextFormat)
    /// The result of the call whose condition or error is evaluated.
    case result
}

/// A format in which a value can be written.
enum TextFormat: String, Hashable, Sendable, CaseIterable {
    /// RFC 4180. An absent value becomes an empty field, and an empty text becomes `""`.
    case csv
    /// RFC 8259. An absent value is `null`, and so is a number that is not finite.
    case json
}

extension ValueOrigin {
    /// Whether reading the value can end the load: the body can fail, and a field of a struct can be NULL.
    var canFail: Bool {
        switch self {
        case .body, .structField: true
        case .length(let source), .encoded(let source, _): source.canFail
        case .url, .method, .field, .property, .setting, .variable, .result: false
        }
    }

    /// The variable that the value uses.
    var variable: Int? {
        switch self {
        case .variable(let index): index
        case .structField(let source, _), .length(let source), .encoded(let source, _): source.variable
        case .url, .method, .field, .property, .setting, .body, .result: nil
        }
    }
}

/// A value of a program: a constant, or a value that the running load computes.
indirect enum Expression: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int128)
    case real(Double)
    case text(String)
    /// `fallback`: the replacement for a missing value.
    case source(ValueOrigin, fallback: Fallback?)
    /// The concatenation of texts.
    case joined([Expression])

    enum Fallback: Hashable, Sendable {
        case text(String)
        case integer(Int128)
    }

    /// The constant integer, or the integer fallback of a missing value.
    var knownInteger: Int128? {
        switch self {
        case .integer(let integer), .source(_, fallback: .integer(let integer)?): integer
        case .null, .boolean, .real, .text, .source, .joined: nil
        }
    }

    /// The variables that the value uses.
    var variables: [Int] {
        switch self {
        case .source(let source, _): source.variable.map { [$0] } ?? []
        case .joined(let parts): parts.flatMap(\.variables)
        case .null, .boolean, .integer, .real, .text: []
        }
    }
}

/// The type of a value, as far as it is known before a load runs.
struct ValueType: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case null, integer, real, boolean, text, bytes
        case pointer(String?)
        /// A request property, whose type is known only when the load runs.
        case property
    }

    var kind: Kind
    var isOptional = false

    var phrase: String {
        let name =
            switch kind {
            case .null: "null"
            case .integer: "an integer"
            case .real: "a number"
            case .boolean: "true or false"
            case .text: "text"
            case .bytes: "bytes"
            case .pointer(let name): name.map { "a handle \($0)" } ?? "a pointer"
            case .property: "a property"
            }
        return isOptional ? "\(name) that can be absent" : name
    }

    init(_ kind: Kind, isOptional: Bool = false) {
        self.kind = kind
        self.isOptional = isOptional
    }

    init(_ type: CType) {
        switch type {
        case .scalar(.bool): self.init(.boolean)
        case .scalar(.float), .scalar(.double): self.init(.real)
        case .scalar: self.init(.integer)
        case .text(let isOptional): self.init(.text, isOptional: isOptional)
        case .pointer(let name, let isOptional): self.init(.pointer(name), isOptional: isOptional)
        }
    }
}
