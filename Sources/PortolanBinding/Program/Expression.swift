// SPDX-License-Identifier: Apache-2.0

/// Where a value comes from when a load runs.
indirect enum Source: Hashable, Sendable {
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
        /// All after the scheme's colon.
        case rest = "url.rest"
    }

    /// Decoded: without its percent-encoding.
    case url(URLPart, isDecoded: Bool)
    case method
    case field(String)
    case property(String)
    case setting(String)
    case body
    case variable(Int)
    /// How many bytes a text or bytes have.
    case length(of: Source)
    /// What the call that is being judged gave.
    case result
}

/// A value of a program: a constant, or made of what is there when a load runs.
indirect enum Expression: Hashable, Sendable {
    case null
    case truth(Bool)
    case integer(Int128)
    case real(Double)
    case text(String)
    /// `fallback`: what stands for one that is absent.
    case source(Source, fallback: Fallback?)
    /// Texts one after the other.
    case joined([Expression])

    enum Fallback: Hashable, Sendable {
        case text(String)
        case integer(Int128)
    }

    /// The integer that it is, or that stands for one that is absent.
    var constantInteger: Int128? {
        switch self {
        case .integer(let integer), .source(_, fallback: .integer(let integer)?): integer
        case .null, .truth, .real, .text, .source, .joined: nil
        }
    }

    /// Those whose values it is made of.
    var variables: [Int] {
        switch self {
        case .source(.variable(let index), _), .source(.length(of: .variable(let index)), _): [index]
        case .joined(let parts): parts.flatMap(\.variables)
        case .null, .truth, .integer, .real, .text, .source: []
        }
    }
}

/// What is known of a value before a load runs.
struct ValueType: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case null, integer, real, truth, text, bytes
        case pointer(String?)
        /// A scalar whose kind is known when the load runs.
        case scalar
    }

    var kind: Kind
    var isOptional = false

    var words: String {
        let name =
            switch kind {
            case .null: "null"
            case .integer: "an integer"
            case .real: "a number"
            case .truth: "true or false"
            case .text: "text"
            case .bytes: "bytes"
            case .pointer(let name): name.map { "a handle \($0)" } ?? "a pointer"
            case .scalar: "a property"
            }
        return isOptional ? "\(name) that may be absent" : name
    }

    init(_ kind: Kind, isOptional: Bool = false) {
        self.kind = kind
        self.isOptional = isOptional
    }

    init(_ type: CType) {
        switch type {
        case .scalar(.bool): self.init(.truth)
        case .scalar(.float), .scalar(.double): self.init(.real)
        case .scalar: self.init(.integer)
        case .text(let isOptional): self.init(.text, isOptional: isOptional)
        case .pointer(let name, let isOptional): self.init(.pointer(name), isOptional: isOptional)
        }
    }
}
