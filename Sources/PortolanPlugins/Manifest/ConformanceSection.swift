// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

/// URLs with the expected results of their loads, which `portolan check` compares.
public struct ConformanceSection: Hashable, Sendable {
    public var loads: [ConformanceLoad]

    /// Parses a separate conformance section, in JSON5.
    ///
    /// - Parameters:
    ///   - bytes: the document.
    ///   - path: the file's path, for errors.
    public init(parsing bytes: [UInt8], path: String) throws(PluginProblem) {
        self = try ManifestProblem.parse(bytes, path: path, nil) { value throws(ManifestProblem) in try Self(value) }
    }
}

/// One URL and the expected result of its load.
public struct ConformanceLoad: Hashable, Sendable {
    /// A property of a URL. Each check uses the URLs with the tags that it needs.
    public enum Tag: String, Hashable, Sendable, CaseIterable {
        case small, large, empty, fails, redirects, challenges, cancelsChallenge, uploads, nested, hangs
    }

    public struct Credential: Hashable, Sendable {
        public let username, password: String
    }

    public let url: String
    public let status: Int?
    /// The media type, without parameters.
    public let mime: String?
    public let length: Int64?
    /// SHA-256 of the body, in lower-case hexadecimal.
    public let sha256: String?
    public let tags: Set<Tag>
    /// The published name of the error code, or `domain:number` for a code that the plugin defines.
    public let error: String?
    /// The credential for a challenge.
    public let credential: Credential?
    /// Requirements of the load, for example `server: argv that serves it on a free port`.
    public let needs: [String]
}

extension ConformanceSection {
    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["loads"])
        loads = try object.required("loads") { value throws(ManifestProblem) in
            try value.list(1...1024) { value throws(ManifestProblem) in try ConformanceLoad(value) }
        }
    }
}

extension ConformanceLoad {
    private static let names = ["url", "status", "mime", "length", "sha256", "tags", "error", "credential", "needs"]

    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: Self.names)
        url = try object.required("url") { value throws(ManifestProblem) in
            try value.text("which is not an absolute URL") { URLRecord.isParsable($0) }
        }
        status = try object.optional("status") { value throws(ManifestProblem) in Int(try value.integer(100...599)) }
        mime = try object.optional("mime") { value throws(ManifestProblem) in
            try value.text("which is not a MIME type without parameters") { MIMEType(parsing: $0)?.essence == $0 }
        }
        length = try object.optional("length") { value throws(ManifestProblem) in try value.integer(0...Int64.max) }
        sha256 = try object.optional("sha256") { value throws(ManifestProblem) in try value.sha256() }
        tags = Set(
            try object.optional("tags") { value throws(ManifestProblem) in
                try value.list(0...Tag.allCases.count) { value throws(ManifestProblem) in try Tag(value) }
            } ?? [])
        error = try object.optional("error") { value throws(ManifestProblem) in
            try value.text("which is neither a published code nor domain:number") { Self.isErrorName($0) }
        }
        credential = try object.optional("credential") { value throws(ManifestProblem) in try Credential(value) }
        needs =
            try object.optional("needs") { value throws(ManifestProblem) in
                try value.list(0...16) { value throws(ManifestProblem) in try value.line() }
            } ?? []
    }

    private static func isErrorName(_ text: String) -> Bool {
        if LoadError.Code.published.contains(where: { $0.name == text }) { return true }
        guard let colon = text.lastIndex(of: ":") else { return false }
        return Text.isReverseDNS(String(text[..<colon])) && Int32(text[text.index(after: colon)...]) != nil
    }
}

extension ConformanceLoad.Tag {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        guard let tag = Self(rawValue: try value.text()) else {
            throw ManifestProblem("has to be one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = tag
    }
}

extension ConformanceLoad.Credential {
    fileprivate init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["username", "password"])
        username = try object.required("username") { value throws(ManifestProblem) in try value.text() }
        password = try object.required("password") { value throws(ManifestProblem) in try value.text() }
    }
}

extension URLRecord {
    fileprivate static func isParsable(_ text: String) -> Bool {
        // `try?` because only the success matters.
        (try? URLRecord(parsing: text)) != nil
    }
}

extension JSONValue {
    /// Checks that the value is 64 hexadecimal digits, and returns them in lower case.
    func sha256() throws(ManifestProblem) -> String {
        try text("where 64 hexadecimal digits are needed") {
            $0.utf8.count == 64 && $0.utf8.allSatisfy(Text.isHexDigit)
        }
        .lowercased()
    }
}
