// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanJSON

/// URLs with the expected results of their loads, which `portolan check` compares.
public struct ConformanceSection: Hashable, Sendable {
    public var loads: [ConformanceLoad]
    /// The servers that loads need, by name.
    public var services: [String: ConformanceService] = [:]

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

    /// An absolute URL. `{NAME}` stands for the host and the port of a server that the load needs.
    public internal(set) var url: String
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
    /// The names of the servers that must run before the load.
    public internal(set) var needs: [String]
}

/// A server that loads need. `portolan check` starts it before the checks, and ends it after them.
public struct ConformanceService: Hashable, Sendable {
    /// The program and its arguments. `{port}` stands for the number of a free TCP port of 127.0.0.1, and `{folder}`
    /// for the path of an empty folder, which is removed after the checks.
    public let command: [String]
    /// The server is ready when its output contains this text. Without it, the server is ready when it accepts
    /// connections.
    public let readyText: String?
}

extension ConformanceSection {
    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["loads", "services"])
        loads = try object.required("loads") { value throws(ManifestProblem) in
            try value.list(1...1024) { value throws(ManifestProblem) in try ConformanceLoad(value) }
        }
        services =
            try object.optional("services") { value throws(ManifestProblem) in
                let services = try ManifestObject(value, names: nil)
                guard services.members.count <= 16 else { throw ManifestProblem("has more than 16 servers") }
                let entries = try services.map { name, value throws(ManifestProblem) in
                    guard ConformanceService.isName(name) else {
                        throw ManifestProblem("has a name that no server can have; use letters, digits and '-', at most 63 characters")
                    }
                    return (name, try ConformanceService(value))
                }
                return Dictionary(entries) { first, _ in first }
            } ?? [:]
        for load in loads {
            for name in services.keys where load.url.contains("{\(name)}") && !load.needs.contains(name) {
                let url = Text.oneLine(load.url, limit: 120)
                throw ManifestProblem("has the URL '\(url)' with the server {\(name)}, which is not in its 'needs'")
            }
        }
    }

    /// What MANIF-05 requires and the section does not have, one line each.
    package var missingExamples: [String] {
        var lines: [String] = []
        if !loads.contains(where: { $0.error == nil && !$0.tags.contains(.hangs) }) { lines.append("names no URL that succeeds") }
        if !loads.contains(where: { $0.error != nil }) { lines.append("names no URL that fails") }
        return lines
    }
}

extension ConformanceService {
    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: ["command", "ready"])
        command = try object.required("command") { value throws(ManifestProblem) in
            try value.list(1...64) { value throws(ManifestProblem) in
                try value.text("which contains a NUL, or is longer than 4096 bytes") { !$0.utf8.contains(0) && $0.utf8.count <= 4096 }
            }
        }
        readyText = try object.optional("ready") { value throws(ManifestProblem) in try value.line() }
    }

    /// Whether a server can have this name. A load can need other things, too, which only a person can provide.
    package static func isName(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count) && text.utf8.allSatisfy { Text.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
    }
}

extension ConformanceLoad {
    private static let names = ["url", "status", "mime", "length", "sha256", "tags", "error", "credential", "needs"]

    init(_ value: JSONValue) throws(ManifestProblem) {
        let object = try ManifestObject(value, names: Self.names)
        let needs =
            try object.optional("needs") { value throws(ManifestProblem) in
                try value.list(0...16) { value throws(ManifestProblem) in try value.line() }
            } ?? []
        self.needs = needs
        url = try object.required("url") { value throws(ManifestProblem) in
            try value.text("which is not an absolute URL") { text in
                URLRecord.isParsable(Self.url(text, withAddresses: Dictionary(needs.map { ($0, "localhost:1") }) { first, _ in first }))
            }
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
    }

    /// Returns the load without the needs that `addresses` meets, and with these addresses in its URL.
    ///
    /// - Parameter addresses: The host and the port of each running server, by name.
    package func withAddresses(_ addresses: [String: String]) -> Self {
        var load = self
        load.url = Self.url(url, withAddresses: addresses.filter { needs.contains($0.key) })
        load.needs.removeAll { addresses[$0] != nil }
        return load
    }

    private static func url(_ url: String, withAddresses addresses: [String: String]) -> String {
        addresses.reduce(url) { url, server in
            url.split(separator: "{\(server.key)}", omittingEmptySubsequences: false).joined(separator: server.value)
        }
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
